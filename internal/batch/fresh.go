package batch

import (
	"cmp"
	"context"
	"slices"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

func sortByUrgency(desks []*desk) {
	slices.SortStableFunc(desks, func(a, b *desk) int {
		ca, cb := a.Batch.CutoffAt, b.Batch.CutoffAt
		switch {
		case ca.IsZero() != cb.IsZero():
			if ca.IsZero() {
				return 1
			}
			return -1
		case !ca.Equal(cb):
			return ca.Compare(cb)
		default:
			return cmp.Compare(a.Batch.ID, b.Batch.ID)
		}
	})
}

// serveFresh begins the next chunk of lines that nothing happened to.
func (r *Runner) serveFresh(soft, hard context.Context, d *desk) (bool, error) {
	if d.CancelledFrom > 0 {
		return false, nil
	}
	if err := r.fill(soft, d); err != nil || len(d.ahead) == 0 {
		return false, err
	}
	if d.late(r.Now()) {
		return true, r.expire(soft, d)
	}
	if err := r.begin(d); err != nil {
		return false, err
	}
	maximum, kind := r.link.chunkMax(), ratelimit.Fresh
	if r.probing() {
		maximum, kind = min(maximum, probeSize(r.policy, r.link.Profile.Submit.Chunk.Min)), ratelimit.Probe
	}
	lines := d.ahead[:nextSize(len(d.ahead), !d.drained, maximum)]
	x, err := r.prepare(d, freshChunk(d, lines))
	if err != nil {
		return false, err
	}
	x.attempt.Ordinals = ordinals(lines)
	next := lines[len(lines)-1].Ordinal + 1
	opened, err := r.open(soft, hard, x, kind, store.Open{ChangeSeq: d.ChangeSeq, From: d.NextOrdinal, Next: next})
	if opened {
		d.ahead, d.NextOrdinal = d.ahead[len(lines):], next
	}
	return opened, err
}

// fill reads ahead so that the size of the next chunk can be balanced.
func (r *Runner) fill(ctx context.Context, d *desk) error {
	if d.drained || len(d.ahead) >= 2*r.link.chunkMax() {
		return nil
	}
	from := d.NextOrdinal
	if n := len(d.ahead); n > 0 {
		from = d.ahead[n-1].Ordinal + 1
	}
	limit := readAhead(r.link.chunkMax())
	lines, err := r.Store.ReadAhead(ctx, d.Batch.ID, from, limit)
	if err != nil {
		return err
	}
	d.ahead = append(slices.Clip(d.ahead), lines...)
	d.drained = len(lines) < limit
	return nil
}

// begin counts the batch as under way at the gate. A batch of which nothing was
// sent yet does not begin behind a closed gate.
func (r *Runner) begin(d *desk) error {
	if d.end != nil {
		return nil
	}
	gate := r.link.Limits.Gate()
	end, err := gate.BeginBatch(d.NextAttempt > 1 || r.probing())
	if err == nil {
		d.end = end
	}
	return err
}

func (r *Runner) probing() bool {
	return r.link.Limits.Gate().Snapshot().State == ratelimit.Outage
}

// expire gives up the next fresh lines: the cut-off has passed.
func (r *Runner) expire(ctx context.Context, d *desk) error {
	lines := d.ahead[:min(len(d.ahead), r.link.chunkMax())]
	next := lines[len(lines)-1].Ordinal + 1
	_, err := r.apply(ctx, d, store.Work{
		Ordinals: ordinals(lines), From: d.NextOrdinal, Next: next, ChangeSeq: d.ChangeSeq,
		Decide: r.reconsider,
	})
	if err == nil {
		d.ahead, d.NextOrdinal = d.ahead[len(lines):], next
		r.mu.Lock()
		d.cursor.next = next
		r.mu.Unlock()
	}
	return err
}

// reconsider is the decision about lines in no attempt.
func (r *Runner) reconsider(standings []payroll.Standing) []payroll.Change {
	decider := r.decider()
	var changes []payroll.Change
	for _, s := range standings {
		if c, ok := decider.Reconsider(s); ok {
			changes = append(changes, c)
		}
	}
	return changes
}

func freshChunk(d *desk, lines []payroll.Line) vendor.Chunk {
	c := vendor.Chunk{BatchKey: d.Batch.Key(), PayPeriod: d.Batch.PayPeriod, Lines: make([]vendor.ChunkLine, len(lines))}
	for i, l := range lines {
		c.Lines[i] = vendor.ChunkLine{Line: l, Key: d.lineKey(l)}
	}
	return c
}

func (d *desk) lineKey(l payroll.Line) string {
	return payroll.LineKey(d.Batch.Tenant, d.Batch.PayPeriod, l.Key)
}

func ordinals(lines []payroll.Line) []int32 {
	out := make([]int32, len(lines))
	for i, l := range lines {
		out[i] = l.Ordinal
	}
	return out
}
