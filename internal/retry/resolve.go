package retry

import (
	"time"

	"payrollgateway/internal/payroll"
)

// resolve chooses how the fate of an ambiguous line is learned, not before the
// given time: the same key again while the vendor surely remembers it and the
// line is still wanted, else a look-up, else a person. The class names the
// budget that another send spends; ClassNone spends none. One retry above its
// budget stays counted, so that the line is still refused when its time comes.
func (l *line) resolve(class payroll.RetryClass, earliest time.Time) payroll.Change {
	if class == payroll.ClassNone {
		return l.resolveAt(later(l.hinted(), earliest))
	}
	wait := l.Policy.Budgets[class].Wait(l.t.Used[class], l.r.Hint, l.Rand)
	l.t.Used[class]++
	return l.resolveAt(later(l.Now.Add(wait), earliest))
}

// resolveAt is resolve for a send at a given time, without a budget.
func (l *line) resolveAt(due time.Time) payroll.Change {
	if obstacle := l.obstacle(due); obstacle != "" {
		return l.withoutResend(obstacle)
	}
	return l.wait(due, false)
}

// obstacle says why an ambiguous line may not go out again under its key at
// the given time; "" = it may.
func (l *line) obstacle(at time.Time) string {
	switch {
	case l.exhausted():
		return "every permitted retry left its fate unknown"
	case l.late(at):
		return "the cut-off came while its fate was unknown"
	case l.s.Superseded:
		return "a newer version came while its fate was unknown"
	case !l.Policy.HonoursKeys():
		return "the vendor has no key under which a repetition is safe"
	case !l.Policy.MayResend(l.t, at):
		return "the vendor may no longer know its key"
	case l.Policy.LookUp && (l.s.Cancelled || l.Policy.StoresAll || l.t.Conflicted):
		return "a look-up says more than the same key again"
	default:
		return ""
	}
}

// asPlanned reports whether the planned step of an ambiguous line still is the
// right one.
func (l *line) asPlanned() bool {
	if l.t.LookUpNext {
		return l.Policy.LookUp
	}
	return l.obstacle(l.Now) == ""
}

// withoutResend looks up, or parks where the vendor cannot be asked.
func (l *line) withoutResend(text string) payroll.Change {
	if l.Policy.LookUp {
		return l.wait(l.hinted(), true)
	}
	return l.parkQuiet(text)
}

// parkQuiet gives the line to a person, but not while a late answer to one of
// its attempts may still come: until then it waits.
func (l *line) parkQuiet(text string) payroll.Change {
	due := l.t.QuietAt
	if l.obstacle(due) == "" {
		due = later(due, l.hinted()) // it could go out after all, though not before its hint
	}
	if l.Now.Before(due) {
		return l.wait(due, l.Policy.LookUp)
	}
	return l.park(l.explain(text), "")
}

// lookedUp reads a look-up that did not find the payment as it should be.
func (l *line) lookedUp(a Attempt) payroll.Change {
	switch {
	case l.r.Verdict == payroll.VerdictMismatch:
		l.t.Ambiguous = true // the vendor did something under this key
		return l.park("the vendor holds this payment with another amount or version", "look_up_mismatch")
	case !l.t.Ambiguous:
		return l.unchanged("") // its fate was learned meanwhile
	case l.r.Verdict == payroll.VerdictAbsent:
		return l.absent(a)
	default:
		return l.lookUpAgain()
	}
}

// lookUpAgain: the look-up gave no answer. Look-ups have a budget of their own.
func (l *line) lookUpAgain() payroll.Change {
	untouched := l.r.Verdict == payroll.VerdictReturned || l.r.Verdict == payroll.VerdictNotSent
	if untouched && l.r.Class == payroll.ClassNone {
		return l.wait(l.hinted(), true)
	}
	budget, n := l.Policy.Budgets[payroll.ClassLookUp], l.t.Used[payroll.ClassLookUp]
	if n >= budget.MaxRetries {
		return l.parkQuiet("every permitted look-up went unanswered")
	}
	l.t.Used[payroll.ClassLookUp]++
	return l.wait(l.Now.Add(budget.Wait(n, l.r.Hint, l.Rand)), true)
}

// absent: the vendor knows no such payment. That counts only when the look-up
// was written after every open attempt was quiet and the vendor's look-up lag
// had passed, for every key generation ever sent; then all attempts are closed
// and the line goes on under its key.
// After a 409 that was about this payment alone it contradicts the vendor's
// own word: a person must find out.
func (l *line) absent(a Attempt) payroll.Change {
	counts := l.t.QuietAt.Add(l.Policy.LookUpLag)
	switch {
	case a.WrittenAt.Before(counts):
		return l.wait(later(l.Now, counts), true)
	case l.t.Conflicted:
		return l.park("the vendor holds the line's key and knows no payment under it", "look_up_mismatch")
	}
	if l.t.LookedUp++; l.t.LookedUp < l.t.Generation {
		return l.wait(l.Now, true)
	}
	l.close()
	if l.exhausted() && !l.ended() {
		return l.give(payroll.RetryBudgetExhausted, payroll.StageResolve, "every permitted retry was lost")
	}
	if l.Policy.StoresAll {
		l.t = l.Policy.Renew(l.t)
	}
	return l.goOn(payroll.Untouched, l.Now)
}

// Unrepeatable says what follows for an ambiguous line whose request cannot be
// sent again as it was: it is looked up, else parked.
func (d Decider) Unrepeatable(s payroll.Standing) payroll.Change {
	return d.begin(s, payroll.Reading{}).withoutResend("its request cannot be repeated whole")
}
