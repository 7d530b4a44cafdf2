package batch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/retry"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// prepare renders a chunk: what goes into the attempt's row before it is sent.
func (r *Runner) prepare(d *desk, c vendor.Chunk) (*exchange, error) {
	if r.policy.Keys == retry.KeyRequest && c.RequestKey == "" {
		c.RequestKey = payroll.RequestKey(wireKeys(c))
	}
	sent, err := r.link.Profile.Render(c)
	if err != nil {
		return nil, fmt.Errorf("render a chunk of batch %s: %w", d.Batch.Key(), err)
	}
	return &exchange{desk: d, chunk: c, sent: sent, attempt: store.Attempt{
		BatchID: d.Batch.ID, Kind: payroll.Submit, RequestKey: c.RequestKey,
		BodySHA256: sent.SHA256, Revision: r.link.Profile.Revision,
	}}, nil
}

func wireKeys(c vendor.Chunk) []string {
	keys := make([]string, len(c.Lines))
	for i, l := range c.Lines {
		keys[i] = l.Key
	}
	return keys
}

// open takes a request through the order of a send: its turn, a token about to
// be due, the checks that time may have changed, the commit of the attempt. Then
// a sender of its own writes it. It reports whether the attempt was committed.
func (r *Runner) open(soft, hard context.Context, x *exchange, kind ratelimit.Kind, o store.Open) (bool, error) {
	d, began := x.desk, r.Now()
	pass, err := r.link.Limits.Enter(soft, r.flow, kind)
	if err != nil {
		return false, err
	}
	r.Observer.Waited(r.tenure.Unit.Vendor, r.Now().Sub(began))
	now := r.Now()
	if r.lease.Deadline().Before(now) || !r.stillRight(x, now) {
		pass.Leave()
		return false, nil
	}
	x.pass, x.probe = pass, kind == ratelimit.Probe
	x.attempt.No, x.attempt.Epoch = d.NextAttempt, r.tenure.Epoch
	x.attempt.SentAt, x.attempt.SendBefore = now, x.sendBefore(now)
	o.Attempt = x.attempt
	if err := r.commit(hard, x, o); err != nil {
		pass.Leave()
		return false, err
	}
	r.senders.Go(func() error { return r.send(hard, x) })
	return true, r.show(hard, d, shown{state: store.InProgress})
}

// stillRight reports whether a request may go out now as it was planned: the
// wait for the limits may have outlasted a cut-off or the vendor's memory.
func (r *Runner) stillRight(x *exchange, now time.Time) bool {
	switch {
	case x.attempt.Kind != payroll.Submit:
		return true
	case x.due == nil:
		return !x.desk.late(now)
	default:
		return r.sendable(x.desk, x.due)
	}
}

// sendBefore bounds when a request is written: the fence, or the earliest
// cut-off of its lines.
func (x *exchange) sendBefore(now time.Time) time.Time {
	before := now.Add(fence)
	if x.attempt.Kind != payroll.Submit {
		return before
	}
	cutoffs := []time.Time{x.desk.Batch.CutoffAt}
	if x.due != nil {
		cutoffs = cutoffs[:0]
	}
	for _, l := range x.due {
		cutoffs = append(cutoffs, x.desk.cutoff(l.Trouble))
	}
	for _, c := range cutoffs {
		if !c.IsZero() && c.Before(before) {
			before = c
		}
	}
	return before
}

// commit records the attempt. It counts as waited for before it exists, so that
// the sweeper cannot take it for an orphan, and no longer when it is not known
// whether it exists: then the sweeper has to find out.
func (r *Runner) commit(ctx context.Context, x *exchange, o store.Open) error {
	d, id := x.desk, attemptID{x.attempt.BatchID, x.attempt.No}
	r.await(id, true)
	r.at("before_attempt_commit")
	if err := r.Store.Open(ctx, o); err != nil {
		r.await(id, false)
		return err
	}
	r.at("after_attempt_commit")
	d.NextAttempt++
	if o.Next > 0 {
		r.mu.Lock()
		d.cursor.next = o.Next
		d.cursor.flying[x.attempt.No] = x.attempt.Ordinals[0]
		r.mu.Unlock()
	}
	return nil
}

func (r *Runner) await(id attemptID, yes bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if yes {
		r.waiting[id] = true
	} else {
		delete(r.waiting, id)
	}
}

// send writes one request, reads its answer and records what it means. Its
// error is only ever that the unit has a newer owner.
func (r *Runner) send(ctx context.Context, x *exchange) error {
	defer r.nudge()
	defer x.pass.Leave()
	defer r.await(attemptID{x.attempt.BatchID, x.attempt.No}, false)
	answer := r.transmit(ctx, x)
	r.at("after_answer")
	j := r.judge(x, answer)
	r.steerGate(ctx, x, answer, j)
	if answer.Status == http.StatusRequestEntityTooLarge {
		r.link.tooLarge(len(x.chunk.Lines))
	}
	return r.record(ctx, x, answer, j)
}

// transmit takes the token and writes the request, unless it is too late.
func (r *Runner) transmit(ctx context.Context, x *exchange) vendor.Exchange {
	if err := x.pass.Take(ctx); err != nil {
		return vendor.Exchange{Sent: vendor.NothingSent, Err: errors.Join(vendor.ErrFence, err)}
	}
	before := x.attempt.SendBefore
	if lease := r.lease.Deadline(); lease.Before(before) {
		before = lease
	}
	r.at("before_write")
	return r.link.Sender.Send(ctx, x.sent, before)
}

// judge reads the answer. A request of which no byte was written because it was
// too late is not the vendor's doing at all.
func (r *Runner) judge(x *exchange, answer vendor.Exchange) vendor.Judgement {
	if answer.Sent == vendor.NothingSent && errors.Is(answer.Err, vendor.ErrFence) {
		return notSent(len(x.chunk.Lines))
	}
	var j vendor.Judgement
	if x.attempt.Kind == payroll.LookUp {
		j = r.link.Profile.JudgeLookUp(x.chunk.Lines[0], answer)
	} else {
		j = r.link.Profile.Judge(x.chunk, answer)
	}
	r.Observer.Answered(r.tenure.Unit.Vendor, x.attempt.Kind, answer.Status)
	if x.probe && j.Failed {
		for i := range j.Lines {
			j.Lines[i].Class = payroll.ClassNone // an outage burns no budget
		}
	}
	return j
}

func notSent(n int) vendor.Judgement {
	j := vendor.Judgement{Request: payroll.VerdictNotSent, Detail: "not written in time", Lines: make([]payroll.Reading, n)}
	for i := range j.Lines {
		j.Lines[i] = payroll.Reading{Verdict: payroll.VerdictNotSent, Class: payroll.ClassNone, Detail: j.Detail}
	}
	return j
}

// record writes the answer down, as long as it takes: nothing else knows it. A
// worker that was taken over meanwhile leaves it on the attempt for its
// successor.
func (r *Runner) record(ctx context.Context, x *exchange, answer vendor.Exchange, j vendor.Judgement) error {
	w := r.work(x, answer, j)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		r.at("before_results_commit")
		done, err := r.apply(ctx, x.desk, w)
		switch {
		case err == nil:
			r.countFamily(ctx, x, answer, done.Changes)
			r.at("after_results_commit")
			return nil
		case errors.Is(err, store.ErrAnswered):
			r.at("after_results_commit")
			return nil
		case errors.Is(err, store.ErrFenced):
			r.leaveAnswer(ctx, x, answer)
			return err
		case !errors.Is(err, store.ErrUnavailable):
			return err
		}
		if !pause(ctx, wait) {
			return nil // given up: the successor resolves the attempt
		}
	}
}

// pause waits; false: ctx ended before the time was over.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// work turns a judgement into the write that records it.
func (r *Runner) work(x *exchange, answer vendor.Exchange, j vendor.Judgement) store.Work {
	w := store.Work{
		AttemptNo: x.attempt.No,
		Answer:    store.Answer{HTTPStatus: answer.Status, Verdict: j.Request, Detail: j.Detail},
	}
	_, fresh := r.freshAttempt(x)
	readings := make(map[int32]payroll.Reading, len(j.Lines))
	for i, reading := range j.Lines {
		o := x.attempt.Ordinals[i]
		if fresh && reading.Verdict == payroll.VerdictSettled && !reading.Conflict {
			w.Clean = append(w.Clean, settled(x.chunk.Lines[i].Line, reading))
			continue
		}
		w.Ordinals = append(w.Ordinals, o)
		readings[o] = reading
	}
	if len(w.Ordinals) > 0 {
		w.Decide = r.decideBy(x, answer, readings)
	}
	return w
}

func settled(l payroll.Line, r payroll.Reading) store.SettledLine {
	return store.SettledLine{
		Ordinal: l.Ordinal, Amount: l.Amount, Currency: l.Currency, As: r.As, Status: r.Status, Reference: r.Reference,
	}
}

func (r *Runner) freshAttempt(x *exchange) (int32, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, fresh := x.desk.cursor.flying[x.attempt.No]
	return o, fresh
}

// decideBy is the decision about the lines of an answered attempt.
func (r *Runner) decideBy(x *exchange, answer vendor.Exchange, readings map[int32]payroll.Reading) func([]payroll.Standing) []payroll.Change {
	at := retry.Attempt{
		Kind: x.attempt.Kind, SentAt: x.attempt.SentAt, SendBefore: x.attempt.SendBefore, WrittenAt: answer.WrittenAt,
	}
	return func(standings []payroll.Standing) []payroll.Change {
		decider := r.decider()
		changes := make([]payroll.Change, 0, len(standings))
		for _, s := range standings {
			c := decider.Decide(s, at, readings[s.Line.Ordinal])
			r.mark(x, answer, &c)
			changes = append(changes, c)
		}
		return changes
	}
}

// mark notes on an unknown or halved line which request it belongs to.
func (r *Runner) mark(x *exchange, answer vendor.Exchange, c *payroll.Change) {
	if c.Trouble == nil || x.attempt.Kind != payroll.Submit {
		return
	}
	if c.Trouble.Ambiguous && r.policy.Keys == retry.KeyRequest {
		c.Trouble.FrozenWith = x.attempt.No
	}
	if halves(answer.Status) && len(x.chunk.Lines) > 1 && c.Trouble.Family == 0 {
		c.Trouble.Family = x.attempt.No
	}
}

// leaveAnswer notes an answer that came too late for its worker.
func (r *Runner) leaveAnswer(ctx context.Context, x *exchange, answer vendor.Exchange) {
	note, err := encodeLate(answer)
	if err == nil {
		err = r.Store.NoteAnswer(ctx, x.attempt.BatchID, x.attempt.No, note)
	}
	if err != nil {
		r.log(x.desk).Warn("a late answer could not be kept", "attempt", x.attempt.No, "error", err)
	}
}
