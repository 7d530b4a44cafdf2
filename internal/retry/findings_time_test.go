package retry_test

import (
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// The findings about time, memory and ends: F10 to F19.

// F10: counted from the first send, with a margin: a resend that is committed
// inside the retention must also arrive inside it.
func TestF10RetentionCountsFromTheFirstSendWithAMargin(t *testing.T) {
	t.Parallel()
	p := keyed()
	first := now.Add(-time.Hour)
	last := first.Add(p.Retention).Add(-p.Retention / 20).Add(-p.Timeout)
	line := payroll.Trouble{Sends: 1, FirstSentAt: first, Ambiguous: true}
	if !p.MayResend(line, last) || p.MayResend(line, last.Add(1)) {
		t.Error("with 24 h of memory the margin is 5 % of it")
	}
	p.Retention = 10 * time.Minute
	last = first.Add(p.Retention - 2*timeout - timeout)
	if !p.MayResend(line, last) || p.MayResend(line, last.Add(1)) {
		t.Error("with ten minutes of memory the margin is twice the timeout")
	}
	p.Settle = 5 * time.Minute
	last = first.Add(p.Retention - p.Settle - timeout)
	if !p.MayResend(line, last) || p.MayResend(line, last.Add(1)) {
		t.Error("a request may be on its way for the settle time: the margin is no less")
	}
	p.Timeout, p.Settle = time.Second, time.Second
	last = first.Add(p.Retention - p.Retention/20 - retry.Fence)
	if !p.MayResend(line, last) || p.MayResend(line, last.Add(1)) {
		t.Error("it may be written up to the fence later")
	}
	for name, q := range map[string]func(*retry.Policy){
		"retention unknown": func(p *retry.Policy) { p.Retention = 0 },
		"no keys":           func(p *retry.Policy) { p.Keys = retry.KeyNone },
		"forgets mixed":     func(p *retry.Policy) { p.Keys = retry.KeyRequest },
	} {
		p := keyed()
		q(&p)
		if p.MayResend(line, first) {
			t.Errorf("%s: resent", name)
		}
	}
	if keyed().MayResend(payroll.Trouble{Sends: 1}, now) {
		t.Error("resent although nobody knows since when the vendor remembers")
	}
}

// F10: a successor counts from when it first saw the attempt, whatever the
// clock of its predecessor said; and not before the fence has fallen.
func TestF10AbandonedAttemptsAreQuietLater(t *testing.T) {
	t.Parallel()
	for _, sendBefore := range []time.Time{now.Add(-24 * time.Hour), now, now.Add(retry.Fence)} {
		a := retry.Attempt{Kind: payroll.Submit, SentAt: sendBefore.Add(-retry.Fence), SendBefore: sendBefore}
		c := decider(blind()).Abandoned(fresh(), a)
		stays(t, "abandoned", c)
		seen := now
		if sendBefore.After(now) {
			seen = sendBefore
		}
		if want := seen.Add(settle); !c.Trouble.QuietAt.Equal(want) || !c.Trouble.DueAt.Equal(want) {
			t.Errorf("fence %v from now: quiet at %v, due at %v", sendBefore.Sub(now), c.Trouble.QuietAt.Sub(now), c.Trouble.DueAt.Sub(now))
		}
	}
}

// F13: "cutoff_passed" as soon as the time has passed hid a payment; and a
// resend after it was the first payment after the cut-off.
func TestF13AfterTheCutoffAnOpenLineIsOnlyLookedUp(t *testing.T) {
	t.Parallel()
	s := again(now.Add(-time.Hour))
	s.State, s.CutoffAt = payroll.Unknown, now
	p := keyed()
	if c, ok := decider(p).Reconsider(s); !ok || c.Death == nil || c.Death.Reason != payroll.OutcomeUnknown {
		t.Errorf("without a look-up: %v %+v", ok, c)
	}
	p.LookUp = true
	c, ok := decider(p).Reconsider(s)
	if !ok || !c.Trouble.LookUpNext {
		t.Fatalf("with a look-up: %v %+v", ok, c)
	}
	c = decider(p).Decide(after(s, c), lookUp(), absent)
	if c.Death == nil || c.Death.Reason != payroll.CutoffPassed {
		t.Errorf("absent after the cut-off: %+v", c)
	}
}

func TestF13NothingIsScheduledAtOrPastTheCutoff(t *testing.T) {
	t.Parallel()
	for wait, dies := range map[time.Duration]bool{999 * time.Millisecond: true, time.Second: true, 1001 * time.Millisecond: false} {
		s := fresh()
		s.CutoffAt = now.Add(wait) // the first retry is drawn for one second from now
		c := decider(keyed()).Decide(s, submit(), failing)
		if died := c.Death != nil && c.Death.Reason == payroll.CutoffPassed; died != dies {
			t.Errorf("cut-off in %v, retry in 1 s: %s", wait, c.Event)
		}
	}
}

// F14: HR cancels, and a line in flight comes back: taken again it was the
// first payment of a cancelled batch, left alone it was stuck.
func TestF14WhatComesBackToACancelledBatchIsCancelled(t *testing.T) {
	t.Parallel()
	for _, answer := range []payroll.Reading{failing, limited, throttled, refused, notSent} {
		s := fresh()
		s.Cancelled = true
		if c := decider(keyed()).Decide(s, submit(), answer); c.Event != payroll.Withdrawn {
			t.Errorf("%s: %s", answer.Verdict, c.Event)
		}
		s.Superseded = true
		if c := decider(keyed()).Decide(s, submit(), answer); c.Event != payroll.Replaced {
			t.Errorf("%s with a higher version: %s", answer.Verdict, c.Event)
		}
	}
	s := unknown(now.Add(-time.Hour))
	s.Cancelled = true
	if c := decider(lookUpOnly()).Decide(s, lookUp(), absent); c.Event != payroll.Withdrawn {
		t.Errorf("absent: %s", c.Event)
	}
}

// F14: a worker that was paused writes nothing; a budget must not pay for it.
func TestF14VoidAttemptsSpendNothing(t *testing.T) {
	t.Parallel()
	s := again(now.Add(time.Minute))
	c := decider(keyed()).Decide(s, submit(), notSent)
	stays(t, "void", c)
	if c.Trouble.Used != s.Trouble.Used || c.Trouble.Sends != s.Trouble.Sends-1 {
		t.Errorf("it cost %v, %d sends", c.Trouble.Used, c.Trouble.Sends)
	}
	c = decider(keyed()).Decide(fresh(), submit(), notSent)
	if c.Event != payroll.Untouched || c.Trouble.Sends != 0 || !c.Trouble.FirstSentAt.IsZero() {
		t.Errorf("void at first: %+v", c.Trouble)
	}
}

// F15: the vendor paid and answered; the worker had lost its epoch, and the new
// owner parked the line at once.
func TestF15NothingIsParkedBeforeItIsQuiet(t *testing.T) {
	t.Parallel()
	c := decider(blind()).Abandoned(fresh(), submit())
	stays(t, "abandoned at a blind vendor", c)
	s := after(fresh(), c)
	if c := decider(blind()).Decide(s, submit(), paid); c.Event != payroll.Paid {
		t.Errorf("the old worker's answer: %s", c.Event)
	}
	s.State, s.Reason = payroll.DeadLettered, payroll.OutcomeUnknown
	if c := decider(blind()).Decide(s, submit(), paid); c.Event != payroll.Paid || c.Alert != "" {
		t.Errorf("its answer after the line was parked: %+v", c)
	}
}

// A payment that shows behind an end state that denied it is an alarm.
func TestPaymentBehindAnEndStateIsAnAlarm(t *testing.T) {
	t.Parallel()
	for _, state := range []payroll.State{payroll.Cancelled, payroll.Superseded} {
		s := fresh()
		s.State = state
		if c := decider(keyed()).Decide(s, submit(), paid); c.Event != 0 || c.Alert == "" {
			t.Errorf("%s: %+v", state, c)
		}
	}
	s := fresh()
	s.State, s.Reason = payroll.DeadLettered, payroll.VendorRejected
	if c := decider(keyed()).Decide(s, submit(), paid); c.Event != payroll.Paid || c.Alert == "" {
		t.Errorf("rejected, and paid: %+v", c)
	}
	for _, answer := range []payroll.Reading{failing, noAnswer, conflict, absent, mismatch} {
		if c := decider(keyed()).Decide(s, submit(), answer); c.Event != 0 || c.Death != nil {
			t.Errorf("a dead letter moves on %s", answer.Verdict)
		}
		if c, ok := decider(keyed()).Reconsider(s); ok {
			t.Errorf("a dead letter is reconsidered: %s", c.Event)
		}
	}
}

// F16: the vendor stores failures: under the old key it would replay its 503
// for ever. A known no licenses the next key, within the budget; nothing else.
func TestF16AStoredFailureLicensesTheNextKey(t *testing.T) {
	t.Parallel()
	p := keyed()
	p.StoresAll = true
	s, d := fresh(), decider(p)
	for generation := 2; generation <= 7; generation++ {
		c := d.Decide(s, submit(), failing)
		if c.Event == payroll.Given || c.Trouble.Generation != generation || c.Trouble.Sends != 0 || !c.Trouble.FirstSentAt.IsZero() {
			t.Fatalf("retry %d: %s %+v", generation-1, c.Event, c.Trouble)
		}
		s = taken(after(s, c), now)
	}
	if c := d.Decide(s, submit(), failing); c.Death == nil || c.Death.Reason != payroll.RetryBudgetExhausted {
		t.Errorf("the seventh failure: %s", c.Event)
	}
	for _, answer := range []payroll.Reading{throttled, notSent, refused} {
		if c := d.Decide(fresh(), submit(), answer); c.Trouble.Generation != 1 {
			t.Errorf("%s stored no failure, and the key changes", answer.Verdict)
		}
	}
	if c := decider(keyed()).Decide(fresh(), submit(), failing); c.Trouble.Generation != 1 {
		t.Error("a vendor that stores no failures gets a new key")
	}
}

func TestF16RenewNeedsAStoredFailureAndNoOpenAttempt(t *testing.T) {
	t.Parallel()
	p := keyed()
	p.StoresAll = true
	sent := payroll.Trouble{Generation: 2, Sends: 3, FirstSentAt: now}
	if got := p.Renew(sent); got.Generation != 3 || got.Sends != 0 || !got.FirstSentAt.IsZero() {
		t.Errorf("renewed: %+v", got)
	}
	open, never := sent, payroll.Trouble{Generation: 2}
	open.Ambiguous = true
	for _, line := range []payroll.Trouble{open, never} {
		if got := p.Renew(line); got != line {
			t.Errorf("%+v becomes %+v", line, got)
		}
	}
	p.Keys = retry.KeyNone
	if got := p.Renew(sent); got != sent {
		t.Errorf("without keys: %+v", got)
	}
}

// F16: look-up first where failures are stored.
func TestF16StoredFailuresAreLookedUpNotAskedAgain(t *testing.T) {
	t.Parallel()
	p := keyed()
	p.StoresAll, p.LookUp = true, true
	if c := decider(p).Decide(fresh(), submit(), noAnswer); !c.Trouble.LookUpNext {
		t.Errorf("%+v", c.Trouble)
	}
}

// F19: look-ups are not bounded by the send budget, and have an end of their own.
func TestF19LookUpsHaveABudgetOfTheirOwn(t *testing.T) {
	t.Parallel()
	s, d := unknown(now.Add(-time.Hour)), decider(lookUpOnly())
	for class := range payroll.ClassLookUp {
		s.Trouble.Used[class] = d.Policy.Budgets[class].MaxRetries + 1
	}
	unanswered := payroll.Reading{Verdict: payroll.VerdictUnknown, Class: payroll.ClassVendorError}
	for n := range d.Policy.Budgets[payroll.ClassLookUp].MaxRetries {
		c := d.Decide(s, lookUp(), unanswered)
		stays(t, "unanswered look-up", c)
		if !c.Trouble.LookUpNext || c.Trouble.Used[payroll.ClassLookUp] != n+1 {
			t.Fatalf("look-up %d: %+v", n+1, c.Trouble)
		}
		s = after(s, c)
	}
	if c := d.Decide(s, lookUp(), unanswered); c.Death == nil || c.Death.Reason != payroll.OutcomeUnknown {
		t.Errorf("at last: %+v", c)
	}
}

func TestMismatchIsParkedWithAnAlarm(t *testing.T) {
	t.Parallel()
	c := decider(lookUpOnly()).Decide(unknown(now.Add(time.Minute)), lookUp(), mismatch)
	if c.Death == nil || c.Death.Reason != payroll.OutcomeUnknown || c.Alert != "look_up_mismatch" || !c.Trouble.Ambiguous {
		t.Errorf("%+v", c)
	}
}

func TestUnrepeatableRequestIsLookedUpElseParked(t *testing.T) {
	t.Parallel()
	s := again(now.Add(-time.Hour))
	s.State = payroll.Unknown
	p := keyed()
	p.Keys, p.Atomic = retry.KeyRequest, true
	if c := decider(p).Unrepeatable(s); c.Death == nil || c.Death.Reason != payroll.OutcomeUnknown {
		t.Errorf("without a look-up: %+v", c)
	}
	p.LookUp = true
	if c := decider(p).Unrepeatable(s); c.Trouble == nil || !c.Trouble.LookUpNext {
		t.Errorf("with a look-up: %+v", c)
	}
}
