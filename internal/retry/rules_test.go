package retry_test

import (
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

type rule struct {
	name  string
	holds func(sc scenario, before payroll.Trouble, c payroll.Change) bool
}

// rules are the sentences of the protocol that speak of one decision.
var rules = []rule{
	{"settled only by evidence, and by evidence always", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		evidence := sc.r.Verdict == payroll.VerdictSettled && (!sc.r.Conflict || sc.kind == payroll.Submit && !sc.open())
		return (c.Event == payroll.Paid) == evidence
	}},
	{"a settled line says what settled it", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		want := payroll.SettledAs(0)
		if c.Event == payroll.Paid {
			want = sc.r.As
		}
		return c.Settled.As == want
	}},
	{"an open attempt leaves the line in flight, unknown or parked", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		if !sc.open() {
			return true
		}
		return c.Event == 0 || c.Event == payroll.Lost || c.Event == payroll.Given && c.Death.Reason == payroll.OutcomeUnknown
	}},
	{"ambiguity sticks exactly while an attempt is open", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		return c.Event == payroll.Paid || c.Trouble.Ambiguous == (sc.open() || conflictStands(sc, c))
	}},
	{"an ambiguous line keeps its key, and its quiet time never comes sooner", func(sc scenario, before payroll.Trouble, c payroll.Change) bool {
		if !sc.open() {
			return true
		}
		return c.Trouble.Generation == max(1, before.Generation) && !c.Trouble.QuietAt.Before(before.QuietAt)
	}},
	{"an attempt without a known fate is quiet a settle time after its fence", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		lost := sc.kind == payroll.Submit && sc.open() && (sc.r.Verdict == payroll.VerdictUnknown || sc.r.Conflict)
		return !lost || sc.r.Finished || !c.Trouble.QuietAt.Before(sc.a.SendBefore.Add(settle))
	}},
	{"a request that the vendor has done with counts until its answer was read", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		lost := sc.kind == payroll.Submit && sc.r.Verdict == payroll.VerdictUnknown
		return !lost || !sc.r.Finished || !c.Trouble.QuietAt.Before(now)
	}},
	{"a new key only over a stored failure, one at a time, counted from nothing", func(sc scenario, before payroll.Trouble, c payroll.Change) bool {
		if c.Trouble == nil || c.Trouble.Generation == max(1, before.Generation) {
			return true
		}
		stores := sc.policy.StoresAll || sc.memory.keys == retry.KeyRequest
		return stores && sc.memory.keys != retry.KeyNone && !sc.open() && c.Trouble.Generation == max(1, before.Generation)+1 &&
			c.Trouble.Sends == 0 && c.Trouble.FirstSentAt.IsZero()
	}},
	{"nothing is parked before a late answer could have come", func(sc scenario, before payroll.Trouble, c payroll.Change) bool {
		parked := c.Event == payroll.Given && c.Death.Reason == payroll.OutcomeUnknown
		return !parked || sc.r.Verdict == payroll.VerdictMismatch || !now.Before(c.Trouble.QuietAt)
	}},
	{"outcome_unknown is the reason of ambiguous lines and of no other", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		return c.Death == nil || (c.Death.Reason == payroll.OutcomeUnknown) == c.Trouble.Ambiguous
	}},
	{"a death has a stage, a sentence, and its event", func(_ scenario, _ payroll.Trouble, c payroll.Change) bool {
		return (c.Event == payroll.Given) == (c.Death != nil) && (c.Death == nil || c.Death.Stage != 0 && c.Death.Error != "")
	}},
	{"one answer spends one retry at most; untouched and permanent ones spend none", func(sc scenario, before payroll.Trouble, c payroll.Change) bool {
		if c.Trouble == nil {
			return true
		}
		spent := 0
		for class, used := range c.Trouble.Used {
			spent += used - before.Used[class]
		}
		free := sc.r.Verdict == payroll.VerdictNotSent || sc.r.Verdict == payroll.VerdictRejected && sc.kind == payroll.Submit ||
			sc.r.Verdict == payroll.VerdictReturned && sc.r.Class == payroll.ClassNone
		return spent == 0 || spent == 1 && !free
	}},
	{"a non-decisive no spends nothing", func(sc scenario, before payroll.Trouble, c payroll.Change) bool {
		no := sc.r.Verdict == payroll.VerdictRetry || sc.r.Verdict == payroll.VerdictReturned
		return sc.kind == payroll.LookUp || !no || !sc.open() || c.Trouble.Used == before.Used
	}},
	{"a refused line with nothing left is retry_budget_exhausted", func(sc scenario, before payroll.Trouble, c payroll.Change) bool {
		retried := sc.kind == payroll.Submit && sc.r.Verdict == payroll.VerdictRetry && sc.r.Class != payroll.ClassNone && !sc.open()
		left := !sc.broke || sc.past.sends == 0
		wanted := !sc.s.Cancelled && !sc.s.Superseded && sc.cutoff >= 0
		return !retried || left || !wanted || c.Death != nil && c.Death.Reason == payroll.RetryBudgetExhausted
	}},
	{"a closed line of a replaced payment is superseded", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		return sc.open() || !sc.s.Superseded || c.Event == payroll.Replaced || c.Event == payroll.Paid || conflictStands(sc, c)
	}},
	{"a closed line of a cancelled batch is cancelled, or was rejected", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		if sc.open() || !sc.s.Cancelled || sc.s.Superseded || conflictStands(sc, c) {
			return true
		}
		return c.Event == payroll.Withdrawn || c.Event == payroll.Paid ||
			sc.r.Verdict == payroll.VerdictRejected && c.Death != nil && c.Death.Reason == payroll.VendorRejected
	}},
	{"withdrawn and replaced lines are closed ones that people took back", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		return (c.Event != payroll.Withdrawn || sc.s.Cancelled && !sc.open()) && (c.Event != payroll.Replaced || sc.s.Superseded && !sc.open())
	}},
	{"cutoff_passed only of closed lines whose next send would be too late", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		return c.Death == nil || c.Death.Reason != payroll.CutoffPassed || sc.cutoff != 0 && !sc.open()
	}},
	{"a void attempt is not counted", func(sc scenario, before payroll.Trouble, c payroll.Change) bool {
		void := sc.kind == payroll.Submit && sc.r.Verdict == payroll.VerdictNotSent
		return !void || c.Trouble.Sends == max(0, before.Sends-1)
	}},
	{"a first send is remembered with its time", func(sc scenario, before payroll.Trouble, c payroll.Change) bool {
		if before.Sends != 0 || c.Trouble == nil || !sc.open() {
			return true
		}
		return c.Trouble.Sends == 1 && c.Trouble.FirstSentAt.Equal(sc.a.SentAt)
	}},
	{"a look-up's mismatch raises an alarm", func(sc scenario, _ payroll.Trouble, c payroll.Change) bool {
		return sc.kind != payroll.LookUp || sc.r.Verdict != payroll.VerdictMismatch || c.Alert != "" && c.Event == payroll.Given
	}},
}

// conflictStands: a look-up's "absent" against the vendor's own 409.
func conflictStands(sc scenario, c payroll.Change) bool {
	return sc.s.Trouble != nil && sc.s.Trouble.Conflicted && c.Alert != ""
}
