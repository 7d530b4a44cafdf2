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
	SeenAt     time.Time // when a successor of its worker first saw it; zero = now
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
// version), the cut-off, and the budget of the failure's class. A line at rest
// is moved by proof of its payment alone.
func (d Decider) Decide(s payroll.Standing, a Attempt, r payroll.Reading) payroll.Change {
	l := d.begin(s, r)
	switch {
	case s.State.AtRest():
		return l.afterwards()
	case r.Verdict == payroll.VerdictSettled && !r.Conflict:
		return l.paid(r.As)
	case a.Kind == payroll.LookUp:
		return l.lookedUp(a)
	}
	l.opened(a)
	switch r.Verdict {
	case payroll.VerdictSettled:
		return l.conflict(a)
	case payroll.VerdictRetry, payroll.VerdictRejected, payroll.VerdictReturned, payroll.VerdictNotSent:
		return l.no(a)
	default:
		return l.lost(a)
	}
}

// Reconsider says what follows for a line that is in no attempt when its time
// has come or a person has acted: the step that was planned (ok is false and
// nothing changes), or another. An ambiguous line whose key the vendor may
// have forgotten is looked up or parked; one that was cancelled, replaced or
// caught by the cut-off ends.
func (d Decider) Reconsider(s payroll.Standing) (c payroll.Change, ok bool) {
	l := d.begin(s, payroll.Reading{})
	switch {
	case s.State.AtRest() || l.t.Ambiguous && l.asPlanned():
		return c, false
	case l.t.Ambiguous:
		return l.resolveAt(d.Now), true
	case l.ended():
		return l.goOn(payroll.Untouched, d.Now), true
	case l.exhausted():
		return l.give(payroll.RetryBudgetExhausted, payroll.StageSend, "its retries are more than are permitted now"), true
	default:
		return c, false
	}
}

// Abandoned says what follows for a line of an attempt that nobody waits for:
// its worker died, or went on without knowing that the attempt was committed.
// The attempt becomes quiet only a settle time after it was first seen, or
// after send_before where that is later; a key that the vendor remembers is sent
// again at once.
func (d Decider) Abandoned(s payroll.Standing, a Attempt) payroll.Change {
	if a.SeenAt.IsZero() {
		a.SeenAt = d.Now
	}
	a.SendBefore = later(a.SeenAt, a.SendBefore)
	r := payroll.Reading{Verdict: payroll.VerdictUnknown, Class: payroll.ClassNone, Detail: "its worker was gone before the answer"}
	return d.Decide(s, a, r)
}
