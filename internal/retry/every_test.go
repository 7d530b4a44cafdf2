package retry_test

import (
	"slices"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// The dimensions of a decision. TestEveryDecision walks their whole product.
var (
	pasts = []past{
		{name: "first send"},
		{name: "sent before, closed", sends: 2},
		{name: "older open, not quiet", sends: 2, open: true, quiet: settle},
		{name: "older open, quiet after the write", sends: 2, open: true, quiet: -time.Second},
		{name: "older open, quiet at the write, lag not over", sends: 2, open: true, quiet: -2 * time.Second},
		{name: "older open, quiet, lag over", sends: 2, open: true, quiet: -time.Minute},
		{name: "49 sends", sends: retry.MaxSends - 1, open: true, quiet: -time.Minute},
		{name: "50 sends", sends: retry.MaxSends},
	}
	memories = []memory{
		{retry.KeyNone, 0, false},
		{retry.KeyNone, retention, false}, // a figure without keys means nothing
		{retry.KeyLine, 0, false},
		{retry.KeyLine, 9*time.Minute + 20*time.Second, false}, // all but forgotten
		{retry.KeyLine, retention, false},
		{retry.KeyRequest, retention, false}, // forgets mixed answers
		{retry.KeyRequest, retention, true},
	}
	cutoffs = []time.Duration{0, time.Millisecond, 24 * time.Hour, -time.Second}
)

type past struct {
	name  string
	sends int
	open  bool
	quiet time.Duration // of its open attempts, from now
}

type memory struct {
	keys      retry.KeyScope
	retention time.Duration
	partial   bool
}

func (m memory) honoured() bool {
	return m.keys == retry.KeyLine || m.keys == retry.KeyRequest && m.partial
}

// answers are the readings of every verdict, class and flag that decide.
func answers(yield func(payroll.Reading, retry.Conflict) bool) {
	for _, v := range payroll.Verdicts {
		for _, class := range []payroll.RetryClass{payroll.ClassNone, payroll.ClassVendorError, payroll.ClassNetwork} {
			for _, decisive := range []bool{false, true} {
				r := payroll.Reading{Verdict: v, Class: class, Status: 1, As: payroll.Created, Decisive: decisive}
				if class == payroll.ClassVendorError {
					r.Hint = 10 * time.Minute
				}
				if v == payroll.VerdictUnknown {
					r.Finished = decisive
				}
				if !yield(r, retry.ConflictDone) {
					return
				}
			}
		}
	}
	for _, mode := range []retry.Conflict{retry.ConflictDone, retry.ConflictInProgress, retry.ConflictUnknown} {
		if !yield(conflict, mode) {
			return
		}
	}
}

// scenario is one point of the product.
type scenario struct {
	kind   payroll.AttemptKind
	past   past
	memory memory
	cutoff time.Duration
	policy retry.Policy
	s      payroll.Standing
	a      retry.Attempt
	r      payroll.Reading
	broke  bool // nothing is left of the budgets
}

func newScenario(kind payroll.AttemptKind, p past, m memory, cutoff time.Duration, r payroll.Reading, mode retry.Conflict, bits int) scenario {
	sc := scenario{kind: kind, past: p, memory: m, cutoff: cutoff, r: r, policy: keyed(), broke: bits&16 > 0}
	sc.policy.Keys, sc.policy.Retention, sc.policy.Partial, sc.policy.Conflict = m.keys, m.retention, m.partial, mode
	sc.policy.StoresAll, sc.policy.LookUp = bits&1 > 0, bits&2 > 0
	sc.a = submit()
	sc.a.Kind = kind
	sc.s = sc.standing(bits&4 > 0, bits&8 > 0)
	return sc
}

func (sc scenario) standing(cancelled, superseded bool) payroll.Standing {
	s := fresh()
	s.Cancelled, s.Superseded = cancelled, superseded
	if sc.cutoff != 0 {
		s.CutoffAt = now.Add(sc.cutoff)
	}
	if sc.kind == payroll.LookUp {
		s.State = payroll.Unknown
	}
	if sc.past.sends == 0 {
		return s
	}
	s.Trouble = &payroll.Trouble{Generation: 1, Sends: sc.past.sends, FirstSentAt: now.Add(-8 * time.Minute), AttemptNo: 3}
	if sc.past.open {
		s.Trouble.Ambiguous, s.Trouble.QuietAt = true, now.Add(sc.past.quiet)
		s.Trouble.LookUpNext = sc.kind == payroll.LookUp
	}
	if sc.broke {
		for class, b := range sc.policy.Budgets {
			s.Trouble.Used[class] = b.MaxRetries
		}
	}
	return s
}

// TestEveryDecision holds the protocol's rules against every combination of
// answer, past, vendor, people's acts, cut-off and budget.
func TestEveryDecision(t *testing.T) {
	t.Parallel()
	n := 0
	for r, mode := range answers {
		for _, m := range memories {
			for _, cutoff := range cutoffs {
				for _, p := range pasts {
					for bits := range 32 {
						for _, kind := range []payroll.AttemptKind{payroll.Submit, payroll.LookUp} {
							if kind == payroll.LookUp && !p.open {
								continue // nothing to be looked up
							}
							n++
							check(t, newScenario(kind, p, m, cutoff, r, mode, bits))
							if t.Failed() {
								return
							}
						}
					}
				}
			}
		}
	}
	t.Logf("%d combinations", n)
}

func check(t *testing.T, sc scenario) {
	t.Helper()
	var before payroll.Trouble
	if sc.s.Trouble != nil {
		before = *sc.s.Trouble
	}
	c := decider(sc.policy).Decide(sc.s, sc.a, sc.r)
	fail := func(text string) {
		t.Errorf("%s\nkind %s, %s, %+v, cut-off %v, broke %v\nanswer %+v\nstanding %+v\ntrouble %+v\nchange %+v\ntrouble %+v\ndeath %+v",
			text, sc.kind, sc.past.name, sc.memory, sc.cutoff, sc.broke, sc.r, sc.s, before, c, c.Trouble, c.Death)
	}
	if sc.s.Trouble != nil && *sc.s.Trouble != before {
		fail("the decision changed what it was given")
	}
	if c.Ordinal != 7 || c.Note == nil || c.Note.Status != sc.r.Status {
		fail("the change does not say which line, or what was read")
	}
	if c.Event != 0 {
		if _, ok := payroll.Transition(sc.s.State, c.Event); !ok {
			fail("no such arrow from " + sc.s.State.String())
			return
		}
	}
	for _, rule := range rules {
		if !rule.holds(sc, before, c) {
			fail(rule.name)
			return
		}
	}
	checkNextStep(sc, c, fail)
}

// open is the oracle of ambiguity: whether an attempt of the line may still
// turn out to have paid it.
func (sc scenario) open() bool { return !sc.closed() }

func (sc scenario) closed() bool {
	quietAtWrite := !sc.a.WrittenAt.Before(now.Add(sc.past.quiet))
	lagOver := !sc.a.WrittenAt.Before(now.Add(sc.past.quiet + lag))
	no := slices.Contains([]payroll.Verdict{payroll.VerdictRetry, payroll.VerdictRejected, payroll.VerdictReturned, payroll.VerdictNotSent}, sc.r.Verdict)
	switch {
	case sc.r.Verdict == payroll.VerdictSettled && !sc.r.Conflict:
		return true
	case sc.kind == payroll.LookUp:
		return sc.r.Verdict == payroll.VerdictAbsent && lagOver
	case sc.r.Conflict:
		done := sc.policy.Conflict == retry.ConflictDone && !sc.policy.LookUp
		return done && (!sc.past.open || quietAtWrite)
	case !no:
		return false
	case !sc.past.open:
		return true
	default:
		return sc.r.Decisive && quietAtWrite && sc.memory.honoured() && sc.memory.retention == retention
	}
}

func ends(c payroll.Change) bool {
	return slices.Contains([]payroll.Event{payroll.Paid, payroll.Given, payroll.Withdrawn, payroll.Replaced}, c.Event)
}

// checkNextStep lets the line's time come: what is then sent was allowed to be,
// and what is then decided is again an arrow of the machine.
func checkNextStep(sc scenario, c payroll.Change, fail func(string)) {
	if ends(c) {
		return
	}
	if c.Trouble == nil || c.Trouble.DueAt.Before(now) || c.Trouble.AttemptNo != 0 {
		fail("a line that goes on has no next step")
		return
	}
	s, d := after(sc.s, c), decider(sc.policy)
	d.Now = s.Trouble.DueAt
	next, changed := d.Reconsider(s)
	switch {
	case changed && next.Event != 0:
		if _, ok := payroll.Transition(s.State, next.Event); !ok {
			fail("reconsidered: no arrow from " + s.State.String() + " on " + next.Event.String())
		}
		if s.Trouble.Ambiguous && next.Event != payroll.Given {
			fail("reconsidered: an ambiguous line gets " + next.Event.String())
		}
		if next.Death != nil && s.Trouble.Ambiguous != (next.Death.Reason == payroll.OutcomeUnknown) {
			fail("reconsidered: dead as " + next.Death.Reason.String())
		}
	case changed:
		if s.Trouble.Ambiguous != next.Trouble.Ambiguous || next.Trouble.DueAt.IsZero() {
			fail("reconsidered: ambiguity or due time lost")
		}
	case s.Trouble.LookUpNext:
		if !sc.policy.LookUp || !s.Trouble.Ambiguous {
			fail("a look-up that cannot be, or need not be")
		}
	default:
		checkSend(sc, s, d.Now, fail)
	}
}

func checkSend(sc scenario, s payroll.Standing, at time.Time, fail func(string)) {
	t := *s.Trouble
	switch {
	case !s.CutoffAt.IsZero() && !at.Before(s.CutoffAt):
		fail("sent at or past the cut-off")
	case s.Superseded:
		fail("sent although a higher version exists")
	case s.Cancelled && (!t.Ambiguous || sc.policy.LookUp):
		fail("sent although its batch is cancelled")
	case at.Before(now.Add(sc.r.Hint)) && sc.kind == payroll.Submit:
		fail("sent before the hint")
	case t.Sends >= retry.MaxSends:
		fail("sent a fifty-first time")
	}
	for class, used := range t.Used {
		if used > sc.policy.Budgets[class].MaxRetries {
			fail("sent beyond its budget")
		}
	}
	if !t.Ambiguous {
		return
	}
	forgotten := t.FirstSentAt.Add(sc.memory.retention - max(2*timeout, settle, sc.memory.retention/20))
	switch {
	case !sc.memory.honoured():
		fail("an ambiguous line is sent again at a vendor without keys")
	case sc.memory.retention == 0:
		fail("an ambiguous line is sent again, and nobody knows whether the vendor remembers")
	case at.Add(timeout).After(forgotten):
		fail("an ambiguous line is sent again when the vendor may have forgotten its key")
	case sc.policy.StoresAll && sc.policy.LookUp:
		fail("an ambiguous line is sent again where a stored failure would answer for ever")
	}
}
