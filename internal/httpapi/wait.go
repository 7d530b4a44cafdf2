package httpapi

import (
	"context"
	"fmt"
	"time"

	"payrollgateway/internal/store"
)

// sight is a batch as a caller who follows it gets to see it.
type sight struct {
	token     store.Token
	unchanged bool    // since the version that the caller knows
	applied   *string // the preference that was honoured; nil = none
}

// follow reads a batch, and where the caller prefers so waits until it has news:
// a version other than the known one, or without one, rest. A wait ends when the
// time is over, the request ends or the process stops, and does not begin where
// too many wait already; the batch is then answered as it is.
func (s *server) follow(ctx context.Context, tenant, batchKey, known string, wait time.Duration) (sight, error) {
	read := func() (sight, bool, error) {
		t, err := s.Reader.Batch(ctx, tenant, batchKey)
		unchanged := known != "" && matches(known, t.Version)
		news := known != "" && !unchanged || known == "" && atRest(t.State)
		return sight{token: t, unchanged: unchanged}, news, err
	}
	now, news, err := read()
	if err != nil || wait <= 0 {
		return now, err
	}
	applied := fmt.Sprintf("wait=%d", wait/time.Second)
	if news {
		now.applied = &applied
		return now, nil
	}
	select {
	case s.waiters <- struct{}{}:
		defer func() { <-s.waiters }()
	default:
		return now, nil
	}
	return s.await(ctx, now, applied, wait, read)
}

// await looks again and again until there is news.
func (s *server) await(ctx context.Context, now sight, applied string, wait time.Duration, read func() (sight, bool, error)) (sight, error) {
	over, look := time.NewTimer(wait), time.NewTicker(s.Poll)
	defer over.Stop()
	defer look.Stop()
	for news := false; !news; {
		select {
		case <-ctx.Done():
			return now, ctx.Err()
		case <-over.C:
			news = true
		case <-look.C:
			if s.Draining() {
				return now, nil
			}
			var err error
			if now, news, err = read(); err != nil {
				return now, err
			}
		}
	}
	now.applied = &applied
	return now, nil
}

// atRest reports whether a batch goes no further by itself.
func atRest(s store.BatchState) bool {
	return s == store.Completed || s == store.CancelledBatch || s == store.Suspended
}
