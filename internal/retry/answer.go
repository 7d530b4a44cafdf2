package retry

import (
	"time"

	"payrollgateway/internal/payroll"
)

// afterwards: the line is in an end state. A late proof of payment settles a
// dead letter; behind any end state that said "not paid" it is an alarm.
func (l *line) afterwards() payroll.Change {
	const alarm = "payment_after_end"
	switch {
	case l.r.Verdict != payroll.VerdictSettled || l.r.Conflict || l.s.State == payroll.Settled:
		return l.unchanged("")
	case l.s.State != payroll.DeadLettered:
		return l.unchanged(alarm)
	}
	c := l.paid(l.r.As)
	if !l.t.Ambiguous || l.s.LetterClosed != "" {
		c.Alert = alarm
	}
	return c
}

// conflict reads an item's 409. Where the profile says that it means "done
// already" and no other attempt can be what it is about, it settles the line;
// otherwise the line is unknown, and asked again when its attempts are quiet.
func (l *line) conflict(a Attempt) payroll.Change {
	alone := !l.t.Ambiguous || !a.WrittenAt.Before(l.t.QuietAt)
	if alone && l.Policy.Conflict == ConflictDone && !l.Policy.LookUp {
		return l.paid(payroll.Duplicate)
	}
	l.t.Conflicted = alone && l.Policy.Conflict != ConflictInProgress && l.Policy.LookUp
	l.r.Verdict = payroll.VerdictUnknown
	l.open(a)
	return l.resolve(payroll.ClassVendorError, l.t.QuietAt)
}

// lost: the attempt has no known fate and stays open.
func (l *line) lost(a Attempt) payroll.Change {
	l.open(a)
	return l.resolve(l.r.Class, l.Now)
}

// open: nothing of a request that the vendor has done with can arrive later,
// but what it did may have happened until now.
func (l *line) open(a Attempt) {
	quiet := a.SendBefore.Add(l.Policy.Settle)
	if l.r.Finished {
		quiet = l.Now
	}
	l.t.Ambiguous, l.t.QuietAt, l.t.LookedUp = true, later(l.t.QuietAt, quiet), 0
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

// closesOlder: a vendor that has forgotten the key reads it as a new one, and
// then its "no" says nothing about the older attempts.
func (l *line) closesOlder(a Attempt) bool {
	return l.r.Decisive && !a.WrittenAt.Before(l.t.QuietAt) && l.Policy.Remembers(l.t, a.WrittenAt)
}

// unsend takes back what opening an attempt counted: no byte of it left.
func (l *line) unsend() {
	l.t.Sends = max(0, l.t.Sends-1)
	if l.t.Sends == 0 {
		l.t.FirstSentAt = time.Time{}
	}
}

// stillAmbiguous asks again: at once when the answer was not about the line,
// else when the older attempts are quiet. No budget is spent.
func (l *line) stillAmbiguous() payroll.Change {
	untouched := l.r.Verdict == payroll.VerdictReturned || l.r.Verdict == payroll.VerdictNotSent
	halving := l.r.MaxChunk > 0 && l.Policy.Keys == KeyRequest // a request key goes out whole or not at all
	if untouched && !halving && l.r.Class == payroll.ClassNone {
		return l.resolveAt(l.hinted())
	}
	wait := l.Policy.Budgets[payroll.ClassVendorError].Wait(l.t.Sends-1, l.r.Hint, l.Rand)
	return l.resolveAt(later(l.Now.Add(wait), l.t.QuietAt))
}

func (l *line) rejected() payroll.Change {
	if l.s.Superseded {
		return l.change(payroll.Replaced)
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
		return l.goOn(event, l.hinted())
	}
	budget, n := l.Policy.Budgets[l.r.Class], l.t.Used[l.r.Class]
	if n >= budget.MaxRetries || l.t.Sends >= MaxSends {
		return l.give(payroll.RetryBudgetExhausted, payroll.StageResponse, l.explain("every permitted retry was refused"))
	}
	l.t.Used[l.r.Class]++
	if l.r.Verdict == payroll.VerdictRetry {
		l.t = l.Policy.Renew(l.t) // the vendor may have stored this failure
	}
	return l.goOn(event, l.Now.Add(budget.Wait(n, l.r.Hint, l.Rand)))
}
