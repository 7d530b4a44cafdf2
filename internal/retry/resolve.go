package retry

import (
	"time"

	"payrollgateway/internal/payroll"
)

// resolve chooses how the fate of an ambiguous line is learned: the same key
// again while the vendor surely remembers it and the line is still wanted,
// else a look-up, else a person. The class names the budget that another send
// spends; ClassNone spends none.
func (l *line) resolve(class payroll.RetryClass) payroll.Change {
	due, granted := l.Now, true
	if class != payroll.ClassNone {
		budget, n := l.Policy.Budgets[class], l.t.Used[class]
		granted = n < budget.MaxRetries
		due = due.Add(budget.Wait(n, l.r.Hint, l.Rand))
	}
	if !granted {
		l.t.Used[class]++ // beyond the budget: stays refused when its time comes
		return l.withoutResend("every permitted retry left its fate unknown")
	}
	c := l.resolveAt(due)
	if class != payroll.ClassNone && c.Trouble != nil && c.Event != payroll.Given && !c.Trouble.LookUpNext {
		c.Trouble.Used[class]++
	}
	return c
}

// resolveAt is resolve for a send at a given time, without a budget.
func (l *line) resolveAt(due time.Time) payroll.Change {
	unwanted := l.s.Cancelled || l.s.Superseded
	lookFirst := l.Policy.LookUp && (unwanted || l.Policy.StoresAll || l.t.Conflicted)
	if lookFirst {
		return l.lookUpAt(due)
	}
	if l.late(due) {
		return l.withoutResend("the cut-off came while its fate was unknown")
	}
	if !l.Policy.MayResend(l.t, due) {
		return l.withoutResend("the vendor may no longer know its key")
	}
	return l.wait(due, false)
}

// withoutResend looks up, or parks where the vendor cannot be asked. Nothing is
// parked while a late answer to one of its attempts may still come.
func (l *line) withoutResend(text string) payroll.Change {
	switch {
	case l.Policy.LookUp:
		return l.lookUpAt(l.Now)
	case l.Now.Before(l.t.QuietAt):
		return l.wait(l.t.QuietAt, false)
	default:
		return l.park(l.explain(text), "")
	}
}

func (l *line) lookUpAt(due time.Time) payroll.Change {
	return l.wait(due, true)
}

func (l *line) wait(due time.Time, lookUp bool) payroll.Change {
	l.t.DueAt, l.t.LookUpNext = due, lookUp
	event := payroll.Lost
	if l.s.State == payroll.Unknown {
		event = 0
	}
	return payroll.Change{Ordinal: l.s.Line.Ordinal, Event: event, Trouble: &l.t, Note: l.note()}
}

// lookUpAgain: the look-up gave no answer. Look-ups have a budget of their own.
func (l *line) lookUpAgain() payroll.Change {
	if l.r.Verdict == payroll.VerdictNotSent || l.r.Verdict == payroll.VerdictReturned && l.r.Class == payroll.ClassNone {
		return l.lookUpAt(l.Now)
	}
	budget, n := l.Policy.Budgets[payroll.ClassLookUp], l.t.Used[payroll.ClassLookUp]
	if n >= budget.MaxRetries {
		return l.park("every permitted look-up went unanswered", "")
	}
	l.t.Used[payroll.ClassLookUp]++
	return l.lookUpAt(l.Now.Add(budget.Wait(n, l.r.Hint, l.Rand)))
}

// absent: the vendor knows no such payment. That counts only when the look-up
// was written after every open attempt was quiet and the vendor's look-up lag
// had passed; then all attempts are closed and the line goes on under its key.
func (l *line) absent(a Attempt) payroll.Change {
	counts := l.t.QuietAt.Add(l.Policy.LookUpLag)
	if a.WrittenAt.Before(counts) {
		return l.lookUpAt(later(l.Now, counts))
	}
	l.close()
	if l.Policy.StoresAll {
		l.renewKey()
	}
	return l.goOn(payroll.Untouched, l.Now)
}
