package retry_test

import (
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// now is the moment of every decision in these tests.
var now = time.Date(2026, 7, 6, 12, 0, 0, 0, time.UTC)

const (
	timeout   = 30 * time.Second
	settle    = time.Minute
	lag       = 20 * time.Second
	retention = 24 * time.Hour
)

// half is the middle of every draw.
func half() float64 { return 0.5 }

func keyed() retry.Policy {
	return retry.Policy{
		Budgets: retry.DefaultBudgets(), Timeout: timeout, Settle: settle, LookUpLag: lag,
		Keys: retry.KeyLine, Retention: retention, Conflict: retry.ConflictDone,
	}
}

func blind() retry.Policy {
	p := keyed()
	p.Keys, p.Retention = retry.KeyNone, 0
	return p
}

func lookUpOnly() retry.Policy {
	p := blind()
	p.LookUp = true
	return p
}

func decider(p retry.Policy) retry.Decider {
	return retry.Decider{Policy: p, Now: now, Rand: half}
}

// fresh is a line in its first attempt: nothing is remembered of it.
func fresh() payroll.Standing {
	return payroll.Standing{Line: payroll.Line{Ordinal: 7}, Live: true, State: payroll.InFlight}
}

// again is a line in a further attempt; its older attempts have no known fate
// and are quiet at the given time.
func again(quiet time.Time) payroll.Standing {
	s := fresh()
	s.Trouble = &payroll.Trouble{
		Generation: 1, Sends: 2, FirstSentAt: now.Add(-10 * time.Minute), Ambiguous: true, QuietAt: quiet, AttemptNo: 9,
	}
	s.Trouble.Used[payroll.ClassVendorError] = 1
	return s
}

// unknown is a line that waits for a look-up's answer.
func unknown(quiet time.Time) payroll.Standing {
	s := again(quiet)
	s.State, s.Trouble.Sends, s.Trouble.LookUpNext = payroll.Unknown, 1, true
	return s
}

// submit is an attempt that was written two seconds ago.
func submit() retry.Attempt {
	return retry.Attempt{
		Kind: payroll.Submit, SentAt: now.Add(-3 * time.Second),
		SendBefore: now.Add(-3 * time.Second).Add(retry.Fence), WrittenAt: now.Add(-2 * time.Second),
	}
}

func lookUp() retry.Attempt {
	a := submit()
	a.Kind = payroll.LookUp
	return a
}

// The readings that most answers come to.
var (
	noAnswer  = payroll.Reading{Verdict: payroll.VerdictUnknown, Class: payroll.ClassVendorError}
	paid      = payroll.Reading{Verdict: payroll.VerdictSettled, Class: payroll.ClassNone, As: payroll.Created, Status: 200}
	conflict  = payroll.Reading{Verdict: payroll.VerdictSettled, Class: payroll.ClassNone, As: payroll.Duplicate, Status: 409, Conflict: true}
	rejected  = payroll.Reading{Verdict: payroll.VerdictRejected, Class: payroll.ClassNone, Status: 422, Decisive: true}
	limited   = payroll.Reading{Verdict: payroll.VerdictRetry, Class: payroll.ClassRateLimited, Status: 429}
	failing   = payroll.Reading{Verdict: payroll.VerdictRetry, Class: payroll.ClassVendorError, Status: 503}
	throttled = payroll.Reading{Verdict: payroll.VerdictReturned, Class: payroll.ClassNone, Status: 429}
	refused   = payroll.Reading{Verdict: payroll.VerdictReturned, Class: payroll.ClassNetwork}
	absent    = payroll.Reading{Verdict: payroll.VerdictAbsent, Class: payroll.ClassNone, Status: 404}
	mismatch  = payroll.Reading{Verdict: payroll.VerdictMismatch, Class: payroll.ClassNone, Status: 200}
	notSent   = payroll.Reading{Verdict: payroll.VerdictNotSent, Class: payroll.ClassNone}
)

// after is the standing that a change leaves behind.
func after(s payroll.Standing, c payroll.Change) payroll.Standing {
	if c.Event != 0 {
		to, ok := payroll.Transition(s.State, c.Event)
		if !ok {
			panic("no arrow from " + s.State.String() + " on " + c.Event.String())
		}
		s.State = to
	}
	s.Trouble = c.Trouble
	if c.Death != nil {
		s.Reason = c.Death.Reason
	}
	return s
}

// taken is the standing of a line that the store has put into a new attempt.
func taken(s payroll.Standing, at time.Time) payroll.Standing {
	s.State = payroll.InFlight
	if s.Trouble == nil {
		return s
	}
	t := *s.Trouble
	t.Sends++
	t.AttemptNo++
	if t.FirstSentAt.IsZero() {
		t.FirstSentAt = at
	}
	s.Trouble = &t
	return s
}
