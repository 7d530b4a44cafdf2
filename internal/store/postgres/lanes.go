package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// lanes let writes of one batch share a commit. Each of them holds the batch's
// token until it is on disk, so that they would wait for one disk after the
// other; those that wait meanwhile are committed together, in one implicit
// transaction. Alone, a write is as quick as it always was.
type lanes struct {
	mu   sync.Mutex
	busy map[int64][]*ride // by batch: who waits while a commit is under way
}

// ride is one statement on its way.
type ride struct {
	sql  string
	args []any
	read func(pgx.Rows) error // may run twice; the last time counts
	lead chan struct{}        // the commit before is over: this ride begins the next
	done chan error
}

const (
	seats     = 16               // statements that share a commit
	rideLimit = 30 * time.Second // for a shared commit: one rider's patience must not end it for the others
)

// ride carries out a write of a batch that is one statement. Its error is the
// statement's own.
func (s *Store) ride(ctx context.Context, batch int64, sql string, args []any, read func(pgx.Rows) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r := &ride{sql: sql, args: args, read: read, lead: make(chan struct{}, 1), done: make(chan error, 1)}
	if s.lanes.board(batch, r) {
		r.lead <- struct{}{}
	}
	select {
	case err := <-r.done:
		return err
	case <-r.lead:
	case <-ctx.Done():
		if s.lanes.leave(batch, r) {
			return context.Cause(ctx)
		}
		select {
		case err := <-r.done:
			return err
		case <-r.lead:
		}
	}
	shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), rideLimit)
	defer cancel()
	riders := s.lanes.depart(batch, r)
	s.carry(shared, riders)
	s.lanes.handOver(batch)
	return <-r.done
}

// board queues a ride and reports whether nothing is under way, so that it leads.
func (l *lanes) board(batch int64, r *ride) (leads bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting, busy := l.busy[batch]
	if l.busy == nil {
		l.busy = map[int64][]*ride{}
	}
	l.busy[batch] = append(waiting, r)
	return !busy
}

// leave takes back a ride that has not departed and does not lead.
func (l *lanes) leave(batch int64, r *ride) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.busy[batch], r)
	if i < 0 || len(r.lead) > 0 {
		return false
	}
	l.busy[batch] = slices.Delete(l.busy[batch], i, i+1)
	return true
}

// depart takes the rides that go together: the one that leads, and those behind.
func (l *lanes) depart(batch int64, leader *ride) []*ride {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.busy[batch]
	first := slices.Index(waiting, leader)
	waiting = slices.Delete(waiting, first, first+1)
	n := min(len(waiting), seats-1)
	riders := append([]*ride{leader}, waiting[:n]...)
	l.busy[batch] = slices.Clone(waiting[n:])
	return riders
}

// handOver lets the next ride lead, or frees the lane.
func (l *lanes) handOver(batch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if waiting := l.busy[batch]; len(waiting) > 0 {
		waiting[0].lead <- struct{}{}
		return
	}
	delete(l.busy, batch)
}

// carry commits rides together. What the server refuses for one of them undoes
// them all: then each goes alone.
func (s *Store) carry(ctx context.Context, riders []*ride) {
	if len(riders) == 1 {
		riders[0].done <- s.alone(ctx, riders[0])
		return
	}
	errs, err := s.together(ctx, riders)
	for i, r := range riders {
		switch {
		case err == nil:
			r.done <- errs[i]
		case refused(err):
			r.done <- s.alone(ctx, r)
		default:
			r.done <- err // nobody knows: each looks for what it left behind
		}
	}
}

func (s *Store) alone(ctx context.Context, r *ride) error {
	rows, err := s.pool.Query(ctx, r.sql, r.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return r.read(rows)
}

// together runs the statements in one implicit transaction, which is on disk
// when Close has no error. What a ride reads for itself, such as that it found
// no row, is no error of the others.
func (s *Store) together(ctx context.Context, riders []*ride) (errs []error, err error) {
	var b pgx.Batch
	for _, r := range riders {
		b.Queue(r.sql, r.args...)
	}
	results := s.pool.SendBatch(ctx, &b)
	errs = make([]error, len(riders))
	for i, r := range riders {
		rows, err := results.Query()
		if err == nil {
			errs[i] = r.read(rows)
			rows.Close()
			err = rows.Err()
		}
		if err != nil {
			return nil, errors.Join(err, results.Close())
		}
	}
	return errs, results.Close()
}
