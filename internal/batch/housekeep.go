package batch

import (
	"context"
	"errors"
	"slices"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// pageSize bounds what housekeeping reads and writes at a time.
const pageSize = 500

// housekeep looks after what nobody tells the runner, at once and then every
// poll: attempts that nobody waits for, lines behind an older version, items
// that follow another batch's.
func (r *Runner) housekeep(soft context.Context) error {
	for {
		for _, d := range r.table() {
			err := r.tidy(soft, d)
			switch {
			case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrAnswered), errors.Is(err, store.ErrChanged):
				r.markStale()
			case err != nil:
				return err
			}
		}
		if !pause(soft, r.poll()) {
			return context.Cause(soft)
		}
	}
}

// table is the unfinished batches as they are now.
func (r *Runner) table() []*desk {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.desks)
}

func (r *Runner) tidy(ctx context.Context, d *desk) error {
	if err := r.sweep(ctx, d); err != nil {
		return err
	}
	if err := r.unblock(ctx, d); err != nil {
		return err
	}
	if err := r.mirror(ctx, d); err != nil {
		return err
	}
	r.mu.Lock()
	r.stale = r.stale || d.cursor.floor > 0
	r.mu.Unlock()
	return nil
}

// sweep resolves open attempts that no worker of this process waits for: their
// worker died, or went on without knowing that they were committed.
func (r *Runner) sweep(ctx context.Context, d *desk) error {
	open, err := r.Store.OpenAttempts(ctx, d.Batch.ID)
	if err != nil {
		return err
	}
	for _, a := range open {
		if r.isAwaited(a) || r.mayBeAnswered(a) {
			continue
		}
		r.log(d).Warn("an attempt was found open that nobody waits for", "attempt", a.No, "lines", len(a.Ordinals), "epoch", a.Epoch)
		if err := r.adopt(ctx, d, a); err != nil && !errors.Is(err, store.ErrAnswered) {
			return err
		}
	}
	return nil
}

func (r *Runner) isAwaited(a store.Attempt) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting[attemptID{a.BatchID, a.No}]
}

// mayBeAnswered reports whether an abandoned attempt is left open a while
// longer: where only its answer can tell what became of it, and its worker may
// be alive, taken over, and about to note it. Elsewhere the vendor is asked again
// at once.
func (r *Runner) mayBeAnswered(a store.Attempt) bool {
	id := attemptID{a.BatchID, a.No}
	seen, known := r.orphans[id]
	if !known {
		seen = r.Now()
		r.orphans[id] = seen
	}
	if r.policy.Resolves() || a.Epoch == r.tenure.Epoch || len(a.Answer.Late) > 0 {
		return false
	}
	return r.Now().Before(r.policy.QuietAt(a.SendBefore, seen))
}

// adopt decides about an abandoned attempt: by the answer that its worker left,
// if it left one, else as an attempt without a known fate.
func (r *Runner) adopt(ctx context.Context, d *desk, a store.Attempt) error {
	x := &exchange{desk: d, attempt: a}
	if len(a.Answer.Late) > 0 {
		answer, err := decodeLate(a.Answer.Late)
		if err == nil {
			return r.adoptAnswer(ctx, x, answer)
		}
		r.log(d).Warn("a late answer cannot be read", "attempt", a.No, "error", err)
	}
	at := retry.Attempt{Kind: a.Kind, SentAt: a.SentAt, SendBefore: a.SendBefore, SeenAt: r.orphans[attemptID{a.BatchID, a.No}]}
	_, err := r.apply(ctx, d, store.Work{
		AttemptNo: a.No, Ordinals: a.Ordinals, Answer: store.Answer{Verdict: payroll.VerdictUnknown, Detail: "its worker was gone before the answer"},
		Decide: func(standings []payroll.Standing) []payroll.Change {
			decider := r.decider()
			changes := make([]payroll.Change, len(standings))
			for i, s := range standings {
				changes[i] = decider.Abandoned(s, at)
				r.mark(x, vendor.Exchange{}, &changes[i])
			}
			return changes
		},
	})
	r.nudge()
	return err
}

// adoptAnswer judges the answer that a worker left behind.
func (r *Runner) adoptAnswer(ctx context.Context, x *exchange, answer vendor.Exchange) error {
	_, lines, err := r.Store.Chunk(ctx, x.attempt.BatchID, x.attempt.No)
	if err != nil {
		return err
	}
	x.chunk = dueChunk(x.desk, lines)
	if x.attempt.Kind == payroll.LookUp {
		x.chunk.Lines[0].Key = payroll.WireKey(x.desk.lineKey(lines[0].Line), x.attempt.Generation)
	}
	_, err = r.apply(ctx, x.desk, r.work(x, answer, r.judge(x, answer)))
	r.nudge()
	return err
}

// unblock lets lines go on whose older version's fate is known now, and gives
// up those whose cut-off has come while they waited.
func (r *Runner) unblock(ctx context.Context, d *desk) error {
	for after := int32(0); ; {
		blocked, err := r.Store.Blocked(ctx, d.Batch.ID, after, pageSize)
		if err != nil || len(blocked) == 0 {
			return err
		}
		after = blocked[len(blocked)-1].Ordinal
		if err := r.release(ctx, d, blocked); err != nil {
			return err
		}
	}
}

func (r *Runner) release(ctx context.Context, d *desk, blocked []store.Blocked) error {
	older := make(map[int32]payroll.Older, len(blocked))
	var known []int32
	for _, b := range blocked {
		precedence := payroll.Succeed(b.Older)
		waits := precedence == payroll.PrecedesWaits || precedence == payroll.PrecedesReplaces
		if waits && !d.late(r.Now()) {
			continue
		}
		if precedence == payroll.PrecedesCorrects {
			if err := r.Store.Correct(ctx, d.Batch.ID, b.Ordinal, b.Older.Ref); err != nil {
				return err
			}
		}
		older[b.Ordinal] = b.Older
		known = append(known, b.Ordinal)
	}
	if len(known) == 0 {
		return nil
	}
	_, err := r.apply(ctx, d, store.Work{Ordinals: known, Decide: func(standings []payroll.Standing) []payroll.Change {
		changes := make([]payroll.Change, 0, len(standings))
		for _, s := range standings {
			if c, ok := r.succeed(s, older[s.Line.Ordinal]); ok {
				changes = append(changes, c)
			}
		}
		return changes
	}})
	r.nudge()
	return err
}

// succeed decides about a line that waited for an older version.
func (r *Runner) succeed(s payroll.Standing, o payroll.Older) (payroll.Change, bool) {
	if s.Trouble == nil || s.Trouble.BlockedBy.IsZero() {
		return payroll.Change{}, false
	}
	if c, decided := r.decider().Reconsider(s); decided {
		return c, true // cut-off, cancelled or replaced meanwhile
	}
	t := *s.Trouble
	c := payroll.Change{Ordinal: s.Line.Ordinal, Trouble: &t}
	switch payroll.Succeed(o) {
	case payroll.PrecedesWaits, payroll.PrecedesReplaces:
		return c, false
	case payroll.PrecedesNothing, payroll.PrecedesCloses:
	case payroll.PrecedesCorrects:
		if !r.link.Profile.Corrections.Sendable(r.tenure.Unit.Vendor, o) {
			c.Event = payroll.Given
			c.Death = &payroll.Death{Reason: payroll.CorrectionRefused, Stage: payroll.StageResolve, Error: "it corrects a version that was paid, and the vendor takes no corrections"}
		}
	}
	t.BlockedBy, t.DueAt = payroll.LineRef{}, r.Now()
	return c, true
}

// mirror gives followers the end state of what they follow.
func (r *Runner) mirror(ctx context.Context, d *desk) error {
	for {
		n, err := r.Store.Mirror(ctx, d.Batch.ID, r.tenure.Epoch, r.Now(), pageSize)
		if err != nil {
			return err
		}
		if n > 0 {
			r.noteDue(d, time.Time{})
			r.Wake()
		}
		if n < pageSize {
			return nil
		}
	}
}
