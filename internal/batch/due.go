package batch

import (
	"context"
	"math"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// agenda remembers when a batch's troubles are to be looked at, so that a batch
// without trouble costs no query per chunk. Senders note earlier times while
// the planning loop reads; seq tells whether one did.
type agenda struct {
	at  time.Time // zero: now
	seq int
}

var never = time.Unix(math.MaxInt32*100, 0)

func (r *Runner) noteDue(d *desk, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.agenda.seq++
	if at.Before(d.agenda.at) {
		d.agenda.at = at
	}
}

func (r *Runner) agendaOf(d *desk) agenda {
	r.mu.Lock()
	defer r.mu.Unlock()
	return d.agenda
}

// postpone sets when to look again, unless something was noted since.
func (r *Runner) postpone(d *desk, was agenda, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.agenda.seq == was.seq {
		d.agenda.at = at
	}
}

// serveDue begins the next request for lines in trouble whose time has come:
// what cannot be sent any more is decided first, then look-ups, then sends.
func (r *Runner) serveDue(soft, hard context.Context, d *desk) (began bool, again time.Time, err error) {
	was, now := r.agendaOf(d), r.Now()
	if now.Before(was.at) {
		return false, was.at, nil
	}
	due, err := r.Store.Due(soft, d.Batch.ID, now, readAhead(r.link.chunkMax()))
	if err != nil {
		return false, again, err
	}
	if len(due) == 0 {
		return r.nothingDue(soft, d, was)
	}
	overdue, lookUps, sends := r.triage(d, due)
	switch {
	case len(overdue) > 0:
		_, err = r.apply(soft, d, store.Work{Ordinals: overdue, Decide: r.reconsider})
		return err == nil, again, err
	case len(lookUps) > 0:
		began, err = r.beginLookUp(soft, hard, d, lookUps[0])
		return began, again, err
	}
	chosen, again := pickDue(sends, r.minimum(), r.link.chunkMax(), now)
	if len(chosen) == 0 {
		r.postpone(d, was, again)
		return false, again, nil
	}
	began, err = r.resend(soft, hard, d, chosen)
	return began, again, err
}

func (r *Runner) nothingDue(ctx context.Context, d *desk, was agenda) (bool, time.Time, error) {
	next, err := r.Store.NextDue(ctx, d.Batch.ID)
	if err != nil {
		return false, time.Time{}, err
	}
	if next.IsZero() {
		r.postpone(d, was, never)
		return false, time.Time{}, nil
	}
	r.postpone(d, was, next)
	return false, next, nil
}

// triage sorts due lines by what their next step is. The reading here is only
// for planning: what cannot be sent any more is decided again under the lock.
func (r *Runner) triage(d *desk, due []store.Due) (overdue []int32, lookUps, sends []store.Due) {
	decider := r.decider()
	for _, x := range due {
		s := payroll.Standing{
			Line: x.Line, Live: true, State: x.State, Trouble: &x.Trouble, CutoffAt: d.cutoff(x.Trouble),
			Cancelled: d.CancelledFrom > 0, Superseded: x.Superseded,
		}
		_, decided := decider.Reconsider(s)
		switch {
		case decided:
			overdue = append(overdue, x.Line.Ordinal)
		case !x.Trouble.LookUpNext:
			sends = append(sends, x)
		default:
			lookUps = append(lookUps, x)
		}
	}
	return overdue, lookUps, sends
}

// sendable reports whether all of the lines may be sent again.
func (r *Runner) sendable(d *desk, lines []store.Due) bool {
	_, _, sends := r.triage(d, lines)
	return len(sends) == len(lines)
}

func (d *desk) cutoff(t payroll.Trouble) time.Time {
	if !t.CutoffAt.IsZero() {
		return t.CutoffAt
	}
	return d.Batch.CutoffAt
}

func (d *desk) late(now time.Time) bool {
	return !d.Batch.CutoffAt.IsZero() && !now.Before(d.Batch.CutoffAt)
}

func (r *Runner) minimum() int { return r.link.Profile.Submit.Chunk.Min }

// kind is how a request that is not for fresh lines passes the limits.
func (r *Runner) kind() ratelimit.Kind {
	if r.probing() {
		return ratelimit.Probe
	}
	return ratelimit.Retry
}

// resend begins a request with lines that were sent before, or came back.
func (r *Runner) resend(soft, hard context.Context, d *desk, chosen []store.Due) (bool, error) {
	if n := chosen[0].Trouble.FrozenWith; n > 0 {
		return r.repeat(soft, hard, d, n)
	}
	kind := r.kind()
	if kind == ratelimit.Probe {
		chosen = chosen[:min(len(chosen), probeSize(r.policy, r.minimum()))]
	}
	if err := r.begin(d); err != nil {
		return false, err
	}
	x, err := r.prepare(d, dueChunk(d, chosen))
	if err != nil {
		return false, err
	}
	x.attempt.Ordinals, x.due, x.family = dueOrdinals(chosen), chosen, families(chosen)
	return r.open(soft, hard, x, kind, store.Open{ChangeSeq: d.ChangeSeq})
}

// repeat sends a request-scoped chunk again byte for byte under its key, if
// that can be done: every line of it still belongs to it and may be sent again,
// and it still renders to the same bytes. Otherwise its lines are looked up or
// parked.
func (r *Runner) repeat(soft, hard context.Context, d *desk, no int32) (bool, error) {
	attempt, lines, err := r.Store.Chunk(soft, d.Batch.ID, no)
	if err != nil {
		return false, err
	}
	chunk := dueChunk(d, lines)
	chunk.RequestKey = attempt.RequestKey
	x, err := r.prepare(d, chunk)
	if err != nil {
		return false, err
	}
	if x.sent.SHA256 != attempt.BodySHA256 || !allFrozen(lines, no) || !r.sendable(d, lines) {
		_, err = r.apply(soft, d, store.Work{Ordinals: frozenOrdinals(lines, no), Decide: r.unrepeatable})
		return err == nil, err
	}
	x.attempt.Ordinals, x.due = dueOrdinals(lines), lines
	return r.open(soft, hard, x, r.kind(), store.Open{ChangeSeq: d.ChangeSeq})
}

func (r *Runner) unrepeatable(standings []payroll.Standing) []payroll.Change {
	decider := r.decider()
	changes := make([]payroll.Change, len(standings))
	for i, s := range standings {
		changes[i] = decider.Unrepeatable(s)
	}
	return changes
}

func allFrozen(lines []store.Due, no int32) bool {
	return len(frozenOrdinals(lines, no)) == len(lines)
}

func frozenOrdinals(lines []store.Due, no int32) []int32 {
	var out []int32
	for _, x := range lines {
		if x.State == payroll.Unknown && x.Trouble.FrozenWith == no && x.Trouble.AttemptNo == 0 {
			out = append(out, x.Line.Ordinal)
		}
	}
	return out
}

func dueChunk(d *desk, lines []store.Due) vendor.Chunk {
	c := vendor.Chunk{BatchKey: d.Batch.Key(), PayPeriod: d.Batch.PayPeriod, Lines: make([]vendor.ChunkLine, len(lines))}
	for i, x := range lines {
		c.Lines[i] = vendor.ChunkLine{Line: x.Line, Key: payroll.WireKey(d.lineKey(x.Line), x.Trouble.Generation)}
	}
	return c
}

func families(lines []store.Due) map[int32]int32 {
	out := make(map[int32]int32)
	for _, x := range lines {
		if x.Trouble.Family != 0 {
			out[x.Line.Ordinal] = x.Trouble.Family
		}
	}
	return out
}

func dueOrdinals(lines []store.Due) []int32 {
	out := make([]int32, len(lines))
	for i, x := range lines {
		out[i] = x.Line.Ordinal
	}
	return out
}
