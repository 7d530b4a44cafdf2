package storetest

import (
	"crypto/sha256"
	"slices"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
	"payrollgateway/internal/store"
)

// What a vendor may say about a line.
var (
	paid     = payroll.Reading{Verdict: payroll.VerdictSettled, As: payroll.Created, Status: 201, Reference: "pay-77"}
	refused  = payroll.Reading{Verdict: payroll.VerdictRetry, Class: payroll.ClassVendorError, Status: 503, Detail: "busy"}
	rejected = payroll.Reading{Verdict: payroll.VerdictRejected, Class: payroll.ClassNone, Status: 422, Detail: "no such account", Decisive: true}
	lost     = payroll.Reading{Verdict: payroll.VerdictUnknown, Class: payroll.ClassVendorError, Status: 504, Detail: "timed out"}
	returned = payroll.Reading{Verdict: payroll.VerdictReturned, Class: payroll.ClassNone, Status: 429, Detail: "slow down"}
	found    = payroll.Reading{Verdict: payroll.VerdictSettled, Class: payroll.ClassNone, As: payroll.LookedUp, Status: 200, Reference: "pay-78"}
	absent   = payroll.Reading{Verdict: payroll.VerdictAbsent, Class: payroll.ClassNone, Status: 404}
)

// worker holds a unit.
type worker struct {
	f      *fixture
	tenure store.Tenure
}

// claim takes the fixture's unit over, whoever holds it.
func (f *fixture) claim() *worker {
	f.Helper()
	c := f.claiming()
	c.Force = true
	w, err := f.tryClaim(c)
	f.must(err)
	return w
}

// claiming is a claim of the fixture's unit by an owner of its own.
func (f *fixture) claiming() store.Claim {
	return store.Claim{Unit: f.unit, Owner: f.nextOwner(), Now: f.now, TTL: lockTTL, Settle: f.policy.Settle}
}

func (f *fixture) tryClaim(c store.Claim) (*worker, error) {
	f.Helper()
	t, err := f.store.Claim(f.Context(), c)
	f.mustAddUp()
	return &worker{f: f, tenure: t}, err
}

// flight is an attempt on the wire.
type flight struct {
	w *worker
	b *batch
	o store.Open
}

// planFresh prepares an attempt with the next n fresh lines.
func (w *worker) planFresh(b *batch, n int) store.Open {
	w.f.Helper()
	t, lines := b.token(), b.fresh(n)
	if len(lines) == 0 {
		w.f.Fatalf("there is no fresh line to open")
	}
	ordinals := make([]int32, len(lines))
	for i, l := range lines {
		ordinals[i] = l.Ordinal
	}
	o := w.plan(b, payroll.Submit, ordinals)
	o.From, o.Next = t.NextOrdinal, ordinals[len(ordinals)-1]+1
	return o
}

// plan prepares an attempt with lines that stand in troubles.
func (w *worker) plan(b *batch, kind payroll.AttemptKind, ordinals []int32) store.Open {
	w.f.Helper()
	t := b.token()
	return store.Open{ChangeSeq: t.ChangeSeq, Attempt: store.Attempt{
		BatchID: b.id, No: t.NextAttempt, Epoch: w.tenure.Epoch, Kind: kind, Ordinals: ordinals,
		RequestKey: "rq_0123456789abcdef0123456789abcdef", BodySHA256: sha256.Sum256([]byte(b.key())), Revision: 3,
		SentAt: w.f.now, SendBefore: w.f.now.Add(2 * time.Second),
	}}
}

// openFresh sends the next n fresh lines.
func (w *worker) openFresh(b *batch, n int) *flight {
	w.f.Helper()
	return w.send(b, w.planFresh(b, n))
}

// resend sends lines that stand in troubles again.
func (w *worker) resend(b *batch, ordinals ...int32) *flight {
	w.f.Helper()
	return w.send(b, w.plan(b, payroll.Submit, ordinals))
}

// lookUp asks the vendor about lines.
func (w *worker) lookUp(b *batch, ordinals ...int32) *flight {
	w.f.Helper()
	o := w.plan(b, payroll.LookUp, ordinals)
	o.Attempt.Generation = 1
	return w.send(b, o)
}

func (w *worker) send(b *batch, o store.Open) *flight {
	w.f.Helper()
	w.f.must(w.f.store.Open(w.f.Context(), o))
	w.f.mustAddUp()
	return &flight{w: w, b: b, o: o}
}

// finish pays all that may be sent of a batch now, fresh lines first.
func (w *worker) finish(b *batch) {
	w.f.Helper()
	for len(b.fresh(1)) > 0 {
		w.openFresh(b, 250).answer(paid)
	}
	for _, d := range b.due() {
		w.resend(b, d.Line.Ordinal).answer(paid)
	}
}

// answer applies what the vendor says about each line in the order of the
// request; the last reading holds for the rest. Fresh lines that are paid are
// settled unread, as a worker does it.
func (a *flight) answer(readings ...payroll.Reading) store.Applied {
	a.w.f.Helper()
	applied, err := a.tryAnswer(readings...)
	a.w.f.must(err)
	return applied
}

func (a *flight) tryAnswer(readings ...payroll.Reading) (store.Applied, error) {
	a.w.f.Helper()
	applied, err := a.w.f.store.Apply(a.w.f.Context(), a.work(readings...))
	a.w.f.mustAddUp()
	return applied, err
}

// work is the write that an answer leads to.
func (a *flight) work(readings ...payroll.Reading) store.Work {
	a.w.f.Helper()
	f, w := a.w.f, a.closing()
	said := map[int32]payroll.Reading{}
	left := map[int32]bool{}
	for i, ordinal := range a.o.Attempt.Ordinals {
		r := readings[min(i, len(readings)-1)]
		said[ordinal], left[ordinal] = r, r.Verdict != payroll.VerdictReturned
		if a.isFresh() && r.Verdict == payroll.VerdictSettled {
			w.Clean = append(w.Clean, a.b.settledLine(ordinal, r))
		} else {
			w.Ordinals = append(w.Ordinals, ordinal)
		}
	}
	slices.Sort(w.Ordinals)
	d, sent := f.decider(), retry.Attempt{Kind: a.o.Attempt.Kind, SentAt: a.o.Attempt.SentAt, SendBefore: a.o.Attempt.SendBefore, WrittenAt: a.o.Attempt.SentAt}
	w.Decide = func(standings []payroll.Standing) (changes []payroll.Change) {
		for _, s := range standings {
			changes = append(changes, d.Decide(s, sent, said[s.Line.Ordinal]))
		}
		return changes
	}
	w.Cursor = a.b.cursor(left)
	return w
}

// settledLine is a fresh line that was paid, with its money as it was read.
func (b *batch) settledLine(ordinal int32, r payroll.Reading) store.SettledLine {
	l := b.item(ordinal).Line
	return store.SettledLine{Ordinal: ordinal, Amount: l.Amount, Currency: l.Currency, As: r.As, Status: r.Status, Reference: r.Reference}
}

func (a *flight) isFresh() bool { return a.o.Next > 0 }

// closing is the write that closes the attempt and says nothing about lines yet.
func (a *flight) closing() store.Work {
	return store.Work{
		BatchID: a.b.id, Epoch: a.w.tenure.Epoch, AttemptNo: a.o.Attempt.No, Now: a.w.f.now,
		Answer: store.Answer{HTTPStatus: 207, Detail: "by item"},
	}
}

// cursor is the batch's new cursor when these lines leave pending and in_flight.
func (b *batch) cursor(left map[int32]bool) int32 {
	b.f.Helper()
	cursor := b.token().LastCursor
	for _, v := range b.lines(0) {
		open := v.State == payroll.Pending || v.State == payroll.InFlight
		if v.Line.Ordinal <= cursor || v.Line.Ordinal == cursor+1 && (left[v.Line.Ordinal] || !open) {
			cursor = max(cursor, v.Line.Ordinal)
		}
	}
	return cursor
}

// deciding is a decision about lines in no attempt, one change for each.
func (w *worker) deciding(b *batch, decide func(payroll.Standing) payroll.Change, ordinals ...int32) store.Work {
	return store.Work{BatchID: b.id, Epoch: w.tenure.Epoch, Ordinals: ordinals, Now: w.f.now, Decide: one(decide)}
}

// one makes a decision about many lines of a decision about each.
func one(decide func(payroll.Standing) payroll.Change) func([]payroll.Standing) []payroll.Change {
	return func(standings []payroll.Standing) (changes []payroll.Change) {
		for _, s := range standings {
			changes = append(changes, decide(s))
		}
		return changes
	}
}

// decide makes a worker's decision about lines in no attempt.
func (w *worker) decide(b *batch, decide func(payroll.Standing) payroll.Change, ordinals ...int32) {
	w.f.Helper()
	w.apply(w.deciding(b, decide, ordinals...))
}

func (w *worker) apply(work store.Work) store.Applied {
	w.f.Helper()
	applied, err := w.f.store.Apply(w.f.Context(), work)
	w.f.must(err)
	w.f.mustAddUp()
	return applied
}

// mirror lets a batch's followers take what their live items came to.
func (w *worker) mirror(b *batch) int {
	w.f.Helper()
	n := read[int](w.f)(w.f.store.Mirror(w.f.Context(), b.id, b.token().Epoch, w.f.now, 1000))
	w.f.mustAddUp()
	return n
}

// unblocked is the change that lets a line go on that waited for an older version.
func unblocked(now time.Time) func(payroll.Standing) payroll.Change {
	return func(s payroll.Standing) payroll.Change {
		t := *s.Trouble
		t.BlockedBy, t.DueAt = payroll.LineRef{}, now
		return payroll.Change{Ordinal: s.Line.Ordinal, Trouble: &t}
	}
}

// givenUp is the change that makes a dead letter of a line.
func givenUp(reason payroll.Reason, stage payroll.Stage) func(payroll.Standing) payroll.Change {
	return func(s payroll.Standing) payroll.Change {
		return payroll.Change{
			Ordinal: s.Line.Ordinal, Event: payroll.Given, Trouble: s.Trouble,
			Death: &payroll.Death{Reason: reason, Stage: stage, Status: 504, Error: "given up"},
		}
	}
}
