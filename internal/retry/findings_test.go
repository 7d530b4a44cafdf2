package retry_test

import (
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// The protocol was explored exhaustively before it was built. Each test here
// is the trace of one finding (F1, F2, …): what went wrong in a draft.

// stays fails unless the change leaves the line's fate unknown.
func stays(t *testing.T, what string, c payroll.Change) {
	t.Helper()
	if c.Event != payroll.Lost && c.Event != 0 || c.Trouble == nil || !c.Trouble.Ambiguous {
		t.Errorf("%s: %s, trouble %+v, death %+v", what, c.Event, c.Trouble, c.Death)
	}
}

// F1: the vendor paid and the answer was lost; a "no" to the resend sent the
// line back, and a cancel, a new version, the cut-off or the end of the budget
// then said "not paid" of it.
func TestF1ANoToAResendErasesNoOpenAttempt(t *testing.T) {
	t.Parallel()
	people := map[string]func(*payroll.Standing){
		"nobody":    func(*payroll.Standing) {},
		"cancel":    func(s *payroll.Standing) { s.Cancelled = true },
		"version 2": func(s *payroll.Standing) { s.Superseded = true },
		"cut-off":   func(s *payroll.Standing) { s.CutoffAt = now },
		"no budget": func(s *payroll.Standing) {
			for class := range s.Trouble.Used {
				s.Trouble.Used[class] = 20
			}
		},
	}
	for who, act := range people {
		for _, answer := range []payroll.Reading{throttled, limited, failing, rejected, refused, notSent} {
			s := again(now.Add(time.Minute))
			act(&s)
			stays(t, who+", "+answer.Verdict.String(), decider(keyed()).Decide(s, submit(), answer))
		}
	}
}

// F1: judging when the answer is read is still wrong: the older request slips
// in between the write and the answer.
func TestF1QuietIsJudgedWhenTheRequestWasWritten(t *testing.T) {
	t.Parallel()
	a := submit()
	for quiet, closes := range map[time.Time]bool{
		a.WrittenAt.Add(-time.Nanosecond): true,
		a.WrittenAt:                       true,
		a.WrittenAt.Add(time.Nanosecond):  false,
		now:                               false,
	} {
		c := decider(keyed()).Decide(again(quiet), a, rejected)
		if died := c.Event == payroll.Given && c.Death.Reason == payroll.VendorRejected; died != closes {
			t.Errorf("quiet %v after the write: %s", quiet.Sub(a.WrittenAt), c.Event)
		}
	}
	a.WrittenAt = time.Time{}
	stays(t, "written nobody knows when", decider(keyed()).Decide(again(now.Add(-time.Hour)), a, rejected))
}

// F1: an answer of the edge (a proxy, a limiter) has not read the key.
func TestF1OnlyTheVendorsOwnReadingOfTheKeyIsDecisive(t *testing.T) {
	t.Parallel()
	edge := rejected
	edge.Decisive = false
	s := again(now.Add(-time.Hour))
	c := decider(keyed()).Decide(s, submit(), edge)
	stays(t, "an edge's no", c)
	if c.Trouble.Used != s.Trouble.Used {
		t.Error("a no that decides nothing spent a retry")
	}
}

// F1: the key was forgotten meanwhile; the vendor reads it as a new one, and
// its "no" says nothing about the payment it made under it long ago.
func TestF1ANoUnderAForgottenKeyDecidesNothing(t *testing.T) {
	t.Parallel()
	s := again(now.Add(-time.Hour))
	s.Trouble.FirstSentAt = now.Add(-retention)
	c := decider(keyed()).Decide(s, submit(), rejected)
	if c.Event != payroll.Given || c.Death.Reason != payroll.OutcomeUnknown {
		t.Errorf("a rejection after the key was forgotten: %s %+v", c.Event, c.Death)
	}
}

// F2: a blind vendor paid and answered 503; "back untouched" paid it twice.
func TestF2UnknownAtABlindVendorIsParkedWhenQuiet(t *testing.T) {
	t.Parallel()
	for _, hint := range []time.Duration{0, 18 * time.Hour} {
		d, r := decider(blind()), noAnswer
		r.Hint = hint
		c := d.Decide(fresh(), submit(), r)
		stays(t, "no answer", c)
		s := after(fresh(), c)
		d.Now = s.Trouble.DueAt
		c, ok := d.Reconsider(s)
		if !ok || c.Event != payroll.Given || c.Death.Reason != payroll.OutcomeUnknown || d.Now.Before(s.Trouble.QuietAt) {
			t.Errorf("when its time comes: %v %+v", ok, c)
		}
	}
}

// F2: a Retry-After longer than the vendor's memory made the resend a payment.
func TestF2AHintBeyondRetentionIsNotResent(t *testing.T) {
	t.Parallel()
	d, r := decider(keyed()), noAnswer
	r.Hint = 23 * time.Hour // within retention, not within its margin
	s := fresh()
	s = after(s, d.Decide(s, submit(), r))
	for step := 0; s.State == payroll.Unknown; step++ {
		d.Now = s.Trouble.DueAt
		c, ok := d.Reconsider(s)
		if !ok || step > 2 {
			t.Fatalf("sent %v after its first send", d.Now.Sub(s.Trouble.FirstSentAt))
		}
		s = after(s, c)
	}
	if s.Reason != payroll.OutcomeUnknown {
		t.Errorf("ended as %s", s.Reason)
	}
}

// F3: paid, answer lost, "absent" because the look-up lags or the request was
// still under way; resent at once, paid twice.
func TestF3AbsentCountsOnlyAfterQuietAndLag(t *testing.T) {
	t.Parallel()
	a := lookUp()
	for quiet, counts := range map[time.Time]bool{
		now.Add(time.Minute):                        false,
		a.WrittenAt:                                 false,
		a.WrittenAt.Add(-lag + time.Nanosecond):     false,
		a.WrittenAt.Add(-lag):                       true,
		a.WrittenAt.Add(-lag).Add(-time.Hour):       true,
		a.WrittenAt.Add(-lag + 500*time.Nanosecond): false,
	} {
		c := decider(lookUpOnly()).Decide(unknown(quiet), a, absent)
		if went := c.Event == payroll.Untouched; went != counts {
			t.Errorf("quiet %v before the look-up: %s", a.WrittenAt.Sub(quiet), c.Event)
		}
		if !counts && c.Trouble.DueAt.Before(quiet.Add(lag)) {
			t.Errorf("asked again %v too soon", quiet.Add(lag).Sub(c.Trouble.DueAt))
		}
	}
}

// F3: a second key generation after "absent" is what a late request of the
// first is not deduplicated against.
func TestF3AbsentGoesOnUnderTheSameKey(t *testing.T) {
	t.Parallel()
	for _, p := range []retry.Policy{keyed(), lookUpOnly()} {
		p.LookUp, p.Retention = true, 0
		c := decider(p).Decide(unknown(now.Add(-time.Hour)), lookUp(), absent)
		if c.Event != payroll.Untouched || c.Trouble.Generation != 1 || c.Trouble.Ambiguous {
			t.Errorf("after absent: %s %+v", c.Event, c.Trouble)
		}
	}
}

// F3: with several generations sent, each of them is asked for.
func TestF3AbsentIsAskedOfEveryGeneration(t *testing.T) {
	t.Parallel()
	p := keyed()
	p.LookUp, p.StoresAll = true, true
	s := unknown(now.Add(-time.Hour))
	s.Trouble.Generation = 3
	for asked := 1; ; asked++ {
		c := decider(p).Decide(s, lookUp(), absent)
		if c.Event == payroll.Untouched {
			if asked != 3 {
				t.Errorf("absent counted after %d of 3 generations", asked)
			}
			return
		}
		stays(t, "asked", c)
		if s = after(s, c); asked > 3 {
			t.Fatal("asked for ever")
		}
	}
}

// F5: a 409 that means "in progress" settled a line that the vendor refused.
func TestF5AConflictIsNoPaymentWhileAnotherAttemptMayArrive(t *testing.T) {
	t.Parallel()
	s := again(now.Add(time.Minute))
	c := decider(keyed()).Decide(s, submit(), conflict)
	stays(t, "409 while an older attempt is not quiet", c)
	if c.Trouble.DueAt.Before(c.Trouble.QuietAt) {
		t.Error("asked again before its attempts are quiet: the next 409 says no more than this one")
	}
	a := attemptAt(payroll.Submit, c.Trouble.DueAt)
	c = decider(keyed()).Decide(taken(after(s, c), a.SentAt), a, conflict)
	if c.Event != payroll.Paid || c.Settled.As != payroll.Duplicate {
		t.Errorf("409 when all is quiet: %s", c.Event)
	}
}

// F5: only a profile that says "409 means done" settles by it.
func TestF5AConflictSettlesOnlyWhereTheProfileSaysSo(t *testing.T) {
	t.Parallel()
	for mode, settles := range map[retry.Conflict]bool{retry.ConflictDone: true, retry.ConflictInProgress: false, retry.ConflictUnknown: false, "": false} {
		p := keyed()
		p.Conflict = mode
		if c := decider(p).Decide(fresh(), submit(), conflict); (c.Event == payroll.Paid) != settles {
			t.Errorf("conflict: %q gives %s", mode, c.Event)
		}
	}
}

// F5: look-up first where there is one; its "absent" does not overrule the
// vendor's 409, it contradicts it.
func TestF5ALookUpDecidesAConflict(t *testing.T) {
	t.Parallel()
	p := keyed()
	p.LookUp = true
	d := decider(p)
	c := d.Decide(fresh(), submit(), conflict)
	stays(t, "409 with a look-up at hand", c)
	if !c.Trouble.LookUpNext {
		t.Fatal("not looked up")
	}
	s := after(fresh(), c)
	if got := d.Decide(s, lookUp(), paid); got.Event != payroll.Paid {
		t.Errorf("found: %s", got.Event)
	}
	late := attemptAt(payroll.LookUp, s.Trouble.QuietAt.Add(lag))
	if got := d.Decide(s, late, absent); got.Event != payroll.Given || got.Death.Reason != payroll.OutcomeUnknown || got.Alert == "" {
		t.Errorf("absent: %+v", got)
	}
}

// F6: no request of a version leaves once a higher one exists.
func TestF6AnOpenLowerVersionIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	s := again(now.Add(-time.Hour))
	s.State, s.Superseded = payroll.Unknown, true
	c, ok := decider(keyed()).Reconsider(s)
	if !ok || c.Event != payroll.Given || c.Death.Reason != payroll.OutcomeUnknown {
		t.Errorf("without a look-up: %v %+v", ok, c)
	}
	p := keyed()
	p.LookUp = true
	if c, ok := decider(p).Reconsider(s); !ok || !c.Trouble.LookUpNext {
		t.Errorf("with a look-up: %v %+v", ok, c)
	}
}

// F9: halved on the answer to a resend, while the whole chunk's first request
// was under way under its own key: paid once by the half, once by the whole.
func TestF9ARequestKeyIsNotHalvedWhileOpen(t *testing.T) {
	t.Parallel()
	p := keyed()
	p.Keys, p.Atomic = retry.KeyRequest, true
	halve := payroll.Reading{Verdict: payroll.VerdictReturned, Class: payroll.ClassNone, Status: 422, MaxChunk: 125, Decisive: true}
	s := again(now.Add(time.Minute))
	s.Trouble.MaxChunk, s.Trouble.FrozenWith = 250, 4
	c := decider(p).Decide(s, submit(), halve)
	stays(t, "422 to a resend", c)
	if c.Trouble.MaxChunk != 250 || c.Trouble.FrozenWith != 4 {
		t.Errorf("halved while its first request may arrive: %+v", c.Trouble)
	}
	if c.Trouble.DueAt.Before(s.Trouble.QuietAt) {
		t.Error("the same chunk goes again before the first request is quiet")
	}
	s.Trouble.QuietAt = now.Add(-time.Hour)
	c = decider(p).Decide(s, submit(), halve)
	if c.Event != payroll.Untouched || c.Trouble.MaxChunk != 125 || c.Trouble.FrozenWith != 0 {
		t.Errorf("when all is quiet: %s %+v", c.Event, c.Trouble)
	}
}

func TestHalvingOnlyEverNarrows(t *testing.T) {
	t.Parallel()
	s := fresh()
	s.Trouble = &payroll.Trouble{Sends: 1, FirstSentAt: now, MaxChunk: 2}
	r := throttled
	r.MaxChunk = 125
	if c := decider(keyed()).Decide(s, submit(), r); c.Trouble.MaxChunk != 2 {
		t.Errorf("a line that travelled in two goes on in %d", c.Trouble.MaxChunk)
	}
}
