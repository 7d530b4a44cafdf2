package retry

import (
	"time"

	"payrollgateway/internal/payroll"
)

// Attempt is what a decision needs to know of the request that was answered.
// Times are on the gateway's one clock: store time at start plus monotonic
// time since.
type Attempt struct {
	Kind       payroll.AttemptKind
	SentAt     time.Time // when the attempt was committed
	SendBefore time.Time // after this no byte of it was written
	WrittenAt  time.Time // when its request was written; zero = not known
}

// Decider decides about the lines of one vendor at one moment.
type Decider struct {
	Policy Policy
	Now    time.Time
	Rand   Rand
}

// Decide says what follows for a line from the reading of an answer to one of
// its attempts. It applies, in this order: what the answer proves, whether
// older attempts stay open, what people have decided meanwhile (cancel, newer
// version), the cut-off, and the budget of the failure's class.
func (d Decider) Decide(s payroll.Standing, a Attempt, r payroll.Reading) payroll.Change {
	l := d.begin(s, r)
	if a.Kind == payroll.Submit {
		l.opened(a)
	}
	switch r.Verdict {
	case payroll.VerdictSettled:
		if r.Conflict {
			return l.conflict(a)
		}
		return l.paid(r.As)
	case payroll.VerdictMismatch:
		return l.mismatch()
	case payroll.VerdictAbsent:
		return l.absent(a)
	case payroll.VerdictUnknown:
		if a.Kind == payroll.LookUp {
			return l.lookUpAgain()
		}
		return l.lost(a)
	default:
		if a.Kind == payroll.LookUp {
			return l.lookUpAgain()
		}
		return l.no(a)
	}
}

// Reconsider says what follows for a line that is in no attempt when its time
// has come or a person has acted: still to be sent (ok is false and nothing
// changes), or not. An ambiguous line whose key the vendor may have forgotten
// is looked up or parked; one that was cancelled, replaced or caught by the
// cut-off ends.
func (d Decider) Reconsider(s payroll.Standing) (c payroll.Change, ok bool) {
	l := d.begin(s, payroll.Reading{})
	switch {
	case l.t.Ambiguous && l.t.LookUpNext && d.Policy.LookUp:
		return c, false
	case l.t.Ambiguous && l.exhausted():
		return l.withoutResend("every permitted retry left its fate unknown"), true
	case l.t.Ambiguous:
		if !l.late(d.Now) && d.Policy.MayResend(l.t, d.Now) {
			return c, false
		}
		return l.resolve(payroll.ClassNone), true
	case l.ended():
		return l.goOn(payroll.Untouched, d.Now), true
	case l.exhausted():
		return l.give(payroll.RetryBudgetExhausted, payroll.StageSend, "its retries are more than are permitted now"), true
	default:
		return c, false
	}
}

// exhausted reports whether more retries were granted than today's budgets
// permit: a lowered budget applies to lines that wait already.
func (l *line) exhausted() bool {
	for class, used := range l.t.Used {
		if used > l.Policy.Budgets[class].MaxRetries {
			return true
		}
	}
	return l.t.Sends >= MaxSends
}

// Abandoned says what follows for a line of an attempt that nobody waits for:
// its worker died, or went on without knowing that the attempt was committed.
// The attempt becomes quiet only a settle time after now, when it was first
// seen; a key that the vendor remembers is sent again at once.
func (d Decider) Abandoned(s payroll.Standing, a Attempt) payroll.Change {
	a.SendBefore = d.Now
	r := payroll.Reading{Verdict: payroll.VerdictUnknown, Class: payroll.ClassNone, Detail: "its worker was gone before the answer"}
	return d.Decide(s, a, r)
}

// line is one decision in the making: the line's past, copied, and the answer.
type line struct {
	Decider
	s payroll.Standing
	r payroll.Reading
	t payroll.Trouble
}

func (d Decider) begin(s payroll.Standing, r payroll.Reading) *line {
	l := &line{Decider: d, s: s, r: r, t: payroll.Trouble{Generation: 1}}
	if s.Trouble != nil {
		l.t = *s.Trouble
	}
	l.t.AttemptNo = 0
	if r.MaxChunk > 0 {
		l.t.MaxChunk = r.MaxChunk
	}
	return l
}

// opened accounts for a line that was sent fresh: nothing was remembered of it
// when its attempt was committed.
func (l *line) opened(a Attempt) {
	if l.s.Trouble == nil {
		l.t.Sends, l.t.FirstSentAt = 1, a.SentAt
	}
}

func (l *line) paid(as payroll.SettledAs) payroll.Change {
	return payroll.Change{
		Ordinal: l.s.Line.Ordinal, Event: payroll.Paid, Note: l.note(),
		Settled: payroll.Settlement{As: as, Status: l.r.Status, Reference: l.r.Reference},
	}
}

// conflict reads an item's 409. Alone, and where the profile says that it
// means "done already", it settles the line; otherwise the line is unknown.
func (l *line) conflict(a Attempt) payroll.Change {
	others := l.t.Ambiguous && a.WrittenAt.Before(l.t.QuietAt)
	if l.Policy.Conflict == ConflictDone && !l.Policy.LookUp && !others {
		return l.paid(payroll.Duplicate)
	}
	l.t.Conflicted = l.Policy.Conflict == ConflictDone && l.Policy.LookUp
	l.r.Verdict, l.r.Class = payroll.VerdictUnknown, payroll.ClassVendorError
	return l.lost(a)
}

// mismatch: the vendor holds the key with another amount or version. Nothing
// automatic can follow.
func (l *line) mismatch() payroll.Change {
	return l.park("the vendor holds this payment with another amount or version", "look_up_mismatch")
}

// lost: the attempt has no known fate and stays open.
func (l *line) lost(a Attempt) payroll.Change {
	l.t.Ambiguous = true
	if quiet := a.SendBefore.Add(l.Policy.Settle); !l.r.Finished {
		l.t.QuietAt = later(l.t.QuietAt, quiet)
	}
	return l.resolve(l.r.Class)
}

// no: certainly not applied by this attempt. Older open attempts are closed
// only by the vendor's own reading of the key, asked after they were quiet.
func (l *line) no(a Attempt) payroll.Change {
	if l.r.Verdict == payroll.VerdictNotSent {
		l.unsend()
	}
	if l.t.Ambiguous && !l.closesOlder(a) {
		return l.stillAmbiguous()
	}
	l.close()
	if l.r.Verdict == payroll.VerdictRejected {
		return l.rejected()
	}
	return l.again()
}

func (l *line) closesOlder(a Attempt) bool {
	return l.r.Decisive && l.Policy.HonoursKeys() && !a.WrittenAt.Before(l.t.QuietAt)
}

// unsend takes back what opening an attempt counted: no byte of it left.
func (l *line) unsend() {
	l.t.Sends = max(0, l.t.Sends-1)
	if l.t.Sends == 0 {
		l.t.FirstSentAt = time.Time{}
	}
}

func (l *line) close() {
	l.t.Ambiguous, l.t.QuietAt, l.t.LookUpNext, l.t.Conflicted, l.t.FrozenWith = false, time.Time{}, false, false, 0
}

// stillAmbiguous asks again: at once when the answer was not about the line,
// else when the older attempts are quiet. No budget is spent.
func (l *line) stillAmbiguous() payroll.Change {
	untouched := l.r.Class != payroll.ClassNetwork &&
		(l.r.Verdict == payroll.VerdictReturned || l.r.Verdict == payroll.VerdictNotSent)
	if untouched {
		return l.resolveAt(l.Now)
	}
	wait := l.Policy.Budgets[payroll.ClassVendorError].Wait(l.t.Sends-1, l.r.Hint, l.Rand)
	return l.resolveAt(later(l.Now.Add(wait), l.t.QuietAt))
}

func (l *line) rejected() payroll.Change {
	if l.s.Superseded {
		return l.end(payroll.Replaced)
	}
	return l.give(payroll.VendorRejected, payroll.StageResponse, l.explain("the vendor rejected the line"))
}

// again schedules the next send of a line that is certainly not applied.
func (l *line) again() payroll.Change {
	event := payroll.Untouched
	if l.r.Verdict == payroll.VerdictRetry {
		event = payroll.Refused
	}
	if l.ended() || l.r.Class == payroll.ClassNone {
		return l.goOn(event, l.Now)
	}
	budget := l.Policy.Budgets[l.r.Class]
	n := l.t.Used[l.r.Class]
	if n >= budget.MaxRetries || l.t.Sends >= MaxSends {
		return l.give(payroll.RetryBudgetExhausted, payroll.StageResponse, l.explain("every permitted retry was refused"))
	}
	l.t.Used[l.r.Class]++
	l.renewKey()
	return l.goOn(event, l.Now.Add(budget.Wait(n, l.r.Hint, l.Rand)))
}

// renewKey starts the next key generation where the vendor would answer the
// old key with its stored failure for ever. Only for a line that is not open.
func (l *line) renewKey() {
	stored := l.Policy.StoresAll || l.Policy.Keys == KeyRequest
	if stored && l.Policy.Keys != KeyNone && l.t.Sends > 0 {
		l.t.Generation++
		l.t.Sends, l.t.FirstSentAt = 0, time.Time{}
	}
}

// goOn sends the line again at the given time, unless people or the cut-off
// have decided otherwise. The line is not ambiguous.
func (l *line) goOn(event payroll.Event, due time.Time) payroll.Change {
	switch {
	case l.s.Superseded:
		return l.end(payroll.Replaced)
	case l.s.Cancelled:
		return l.end(payroll.Withdrawn)
	case l.late(due):
		return l.give(payroll.CutoffPassed, payroll.StageSend, "the cut-off came before the next send")
	}
	l.t.DueAt = due
	if l.s.State == payroll.Pending || l.s.State == payroll.Retrying {
		event = 0
	}
	return payroll.Change{Ordinal: l.s.Line.Ordinal, Event: event, Trouble: &l.t, Note: l.note()}
}

func (l *line) ended() bool { return l.s.Cancelled || l.s.Superseded || l.late(l.Now) }

func (l *line) late(at time.Time) bool {
	return !l.s.CutoffAt.IsZero() && !at.Before(l.s.CutoffAt)
}

// end is a line that needs no payment any more; nothing of it stays open.
func (l *line) end(event payroll.Event) payroll.Change {
	return payroll.Change{Ordinal: l.s.Line.Ordinal, Event: event, Trouble: &l.t, Note: l.note()}
}

func (l *line) give(reason payroll.Reason, stage payroll.Stage, text string) payroll.Change {
	return payroll.Change{
		Ordinal: l.s.Line.Ordinal, Event: payroll.Given, Trouble: &l.t, Note: l.note(),
		Death: &payroll.Death{Reason: reason, Stage: stage, Status: l.r.Status, Error: text},
	}
}

// park gives an ambiguous line to a person.
func (l *line) park(text, alert string) payroll.Change {
	c := l.give(payroll.OutcomeUnknown, payroll.StageResolve, text)
	c.Alert = alert
	return c
}

func (l *line) explain(text string) string {
	if l.r.Detail == "" {
		return text
	}
	return text + ": " + l.r.Detail
}

func (l *line) note() *payroll.Note {
	if l.r.Verdict == 0 {
		return nil
	}
	return &payroll.Note{Verdict: l.r.Verdict, Status: l.r.Status, Detail: l.r.Detail}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
