package batch

import (
	"context"
	"log/slog"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// apply writes a decision about lines of a batch and brings the desk up to
// date with what it did.
func (r *Runner) apply(ctx context.Context, d *desk, w store.Work) (store.Applied, error) {
	w.BatchID, w.Epoch, w.Now, w.Cursor = d.Batch.ID, r.tenure.Epoch, r.Now(), r.cursorFor(d, w)
	done, err := r.Store.Apply(ctx, w)
	if err != nil {
		r.markStale() // it may have been written, and what it did was not seen
		return done, err
	}
	r.mu.Lock()
	delete(d.cursor.flying, w.AttemptNo)
	for _, c := range done.Changes {
		if c.Event == payroll.Untouched {
			d.cursor.back[c.Ordinal] = true
		} else {
			delete(d.cursor.back, c.Ordinal)
		}
	}
	d.Counts, d.CompletedAt, d.Version = done.Token.Counts, done.Token.CompletedAt, done.Token.Version
	complete := !d.CompletedAt.IsZero()
	r.stale = r.stale || complete
	r.mu.Unlock()
	for _, c := range done.Changes {
		r.follow(d, c)
	}
	for _, dead := range done.Dead {
		r.Observer.Died(dead)
	}
	if complete {
		r.announce(d, done.Token)
	}
	return done, nil
}

// cursorFor is how far the batch has come with this write. Only where every
// line of the attempt settles is the attempt itself passed already.
func (r *Runner) cursorFor(d *desk, w store.Work) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	low, flying := d.cursor.flying[w.AttemptNo]
	if w.Decide == nil && flying {
		delete(d.cursor.flying, w.AttemptNo)
		defer func() { d.cursor.flying[w.AttemptNo] = low }()
	}
	return d.cursor.position()
}

// follow schedules what a change asks for and raises its alert.
func (r *Runner) follow(d *desk, c payroll.Change) {
	if c.Trouble != nil && c.Event != payroll.Given && !c.Trouble.DueAt.IsZero() {
		r.noteDue(d, c.Trouble.DueAt)
	}
	if c.Alert != "" {
		r.Observer.Alert(c.Alert, slog.String("batch", d.Batch.Key()), slog.Int("ordinal", int(c.Ordinal)))
	}
}

// announce says that a batch is complete, and that people are needed where it
// left dead letters.
func (r *Runner) announce(d *desk, t store.Token) {
	dead := t.Counts.Of(payroll.DeadLettered)
	r.log(d).Info("batch complete", "total", d.Batch.Total, "settled", t.Counts.Of(payroll.Settled), "dead_lettered", dead)
	if dead > 0 {
		r.Observer.Alert("dead_letters", slog.String("batch", d.Batch.Key()), slog.Int64("count", dead))
	}
}
