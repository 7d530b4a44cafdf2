package batch

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"payrollgateway/internal/store"
)

// ReplayStore is what replays by filter need of the ledger.
type ReplayStore interface {
	RunningReplays(ctx context.Context) ([]store.Replay, error)
	UpdateReplay(ctx context.Context, r store.Replay) (store.Replay, error)
	Letters(ctx context.Context, f store.LetterFilter, p store.Page) ([]store.Letter, string, error)
}

// Replayer carries out replays by filter, page by page, at the rate their
// maker asked for. Progress is kept, so that a restart goes on.
type Replayer struct {
	Store  ReplayStore
	Replay func(ctx context.Context, tenant string, id uuid.UUID, o ReplayOrder) (Replayed, error)
	Now    func() time.Time
	Poll   time.Duration
	Log    *slog.Logger
}

// replayPage is how many letters lie between two notes of progress.
const replayPage = 100

// Run works until ctx ends.
func (r *Replayer) Run(ctx context.Context) error {
	for {
		if err := r.runOnce(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("a replay could not go on", "error", err)
		}
		if !pause(ctx, r.Poll) {
			return nil
		}
	}
}

// runOnce works on every running replay until it is done.
func (r *Replayer) runOnce(ctx context.Context) error {
	jobs, err := r.Store.RunningReplays(ctx)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		for j.State == store.ReplayRunning {
			if j, err = r.page(ctx, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// page replays the next letters. Letters younger than the job are not its
// business: they may be lines that it replayed itself.
func (r *Replayer) page(ctx context.Context, j store.Replay) (store.Replay, error) {
	filter := j.Filter
	filter.Tenant, filter.Status = j.Tenant, store.LetterOpen
	letters, next, err := r.Store.Letters(ctx, filter, store.Page{Limit: replayPage, After: j.Cursor})
	if err != nil {
		return j, err
	}
	limit := rate.NewLimiter(rate.Inf, 1)
	if j.RatePerSec > 0 {
		limit = rate.NewLimiter(rate.Limit(j.RatePerSec), 1)
	}
	for _, letter := range letters {
		if letter.DeadLetteredAt.After(j.CreatedAt) {
			continue
		}
		if err := limit.Wait(ctx); err != nil {
			return j, err
		}
		if err := r.one(ctx, &j, letter); err != nil {
			return j, err
		}
		if j.RatePerSec > 0 { // slow: show progress, and notice a cancel, letter by letter
			if j, err = r.Store.UpdateReplay(ctx, j); err != nil || j.State != store.ReplayRunning {
				return j, err
			}
		}
	}
	j.Cursor = next
	if next == "" {
		j.State, j.FinishedAt = store.ReplayDone, r.Now()
	}
	return r.Store.UpdateReplay(ctx, j)
}

func (r *Replayer) one(ctx context.Context, j *store.Replay, letter store.Letter) error {
	_, err := r.Replay(ctx, j.Tenant, letter.ID, ReplayOrder{Actor: j.Actor, CutoffAt: j.CutoffAt, RootCause: j.RootCause})
	switch {
	case err == nil:
		j.Replayed++
	case Refused(err):
		j.Refused++
	default:
		return err
	}
	return nil
}

// Refused reports whether an error is a guard's refusal of one letter, as
// opposed to a failure of the gateway.
func Refused(err error) bool {
	var notQuiet *NotQuietYetError
	for _, refusal := range []error{ErrNotReplayable, ErrAttestationRequired, ErrSuperseded, ErrCutoffPassed, ErrAlreadyClosed, store.ErrNotFound} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return errors.As(err, &notQuiet)
}
