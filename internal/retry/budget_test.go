package retry_test

import (
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// three is a policy that grants three retries of every class.
func three(p retry.Policy) retry.Policy {
	for class := range p.Budgets {
		p.Budgets[class].MaxRetries = 3
	}
	return p
}

// TestThreeRetriesAreGrantedAndTheFourthFailureDies: max_retries = 3, four
// failures in a row; the first three are retried, the fourth dead-letters.
func TestThreeRetriesAreGrantedAndTheFourthFailureDies(t *testing.T) {
	t.Parallel()
	for _, answer := range []payroll.Reading{failing, limited, refused} {
		s, d := fresh(), decider(three(keyed()))
		for n := range 3 {
			c := d.Decide(s, submit(), answer)
			if c.Event == payroll.Given || c.Trouble == nil || c.Trouble.Used[answer.Class] != n+1 {
				t.Fatalf("status %d: retry %d is not granted: %+v", answer.Status, n+1, c)
			}
			s = taken(after(s, c), now)
		}
		c := d.Decide(s, submit(), answer)
		if c.Event != payroll.Given || c.Death.Reason != payroll.RetryBudgetExhausted {
			t.Errorf("status %d: the fourth failure gives %v", answer.Status, c.Event)
		}
	}
}

// TestLostAnswersSpendTheSameBudget: three resends of an unknown outcome, then
// a person; certain is only that nobody knows.
func TestLostAnswersSpendTheSameBudget(t *testing.T) {
	t.Parallel()
	s, d := fresh(), decider(three(keyed()))
	for n := range 3 {
		c := d.Decide(s, submit(), noAnswer)
		if c.Event != payroll.Lost || c.Trouble.LookUpNext || c.Trouble.Used[payroll.ClassVendorError] != n+1 {
			t.Fatalf("resend %d is not granted: %+v", n+1, c)
		}
		s = taken(after(s, c), now)
	}
	c := d.Decide(s, submit(), noAnswer)
	if c.Event != payroll.Lost || !c.Trouble.DueAt.Equal(c.Trouble.QuietAt) {
		t.Fatalf("the fourth loss does not wait for a late answer: %+v", c)
	}
	d.Now = c.Trouble.DueAt
	parked, ok := d.Reconsider(after(s, c))
	if !ok || parked.Event != payroll.Given || parked.Death.Reason != payroll.OutcomeUnknown {
		t.Errorf("when all is quiet: %v %+v", ok, parked)
	}
}

// TestLookUpVendorSpendsTheBudgetToo guards fifty payments tried in a row at a
// vendor without keys: "absent" after each loss made the next send free.
func TestLookUpVendorSpendsTheBudgetToo(t *testing.T) {
	t.Parallel()
	s, d := fresh(), decider(three(lookUpOnly()))
	for sends := 1; ; sends++ {
		c := d.Decide(s, attemptAt(payroll.Submit, d.Now), noAnswer)
		d.Now = c.Trouble.QuietAt.Add(lag)
		c = d.Decide(after(s, c), attemptAt(payroll.LookUp, d.Now), absent)
		if c.Event == payroll.Given {
			if sends != 4 || c.Death.Reason != payroll.RetryBudgetExhausted {
				t.Errorf("dead after %d sends: %s", sends, c.Death.Reason)
			}
			return
		}
		if sends > 4 {
			t.Fatalf("%d sends, three retries granted", sends)
		}
		s = taken(after(s, c), d.Now)
	}
}

func attemptAt(kind payroll.AttemptKind, at time.Time) retry.Attempt {
	return retry.Attempt{Kind: kind, SentAt: at, SendBefore: at.Add(retry.Fence), WrittenAt: at}
}

func TestPermanentFailuresSpendNothing(t *testing.T) {
	t.Parallel()
	c := decider(keyed()).Decide(fresh(), submit(), rejected)
	if c.Event != payroll.Given || c.Death.Reason != payroll.VendorRejected || c.Death.Stage != payroll.StageResponse {
		t.Fatalf("a rejection gives %+v", c)
	}
	if c.Trouble.Used != [payroll.RetryClasses]int{} {
		t.Errorf("it spent %v", c.Trouble.Used)
	}
}

func TestUntouchedLinesSpendNothing(t *testing.T) {
	t.Parallel()
	for _, answer := range []payroll.Reading{throttled, notSent} {
		c := decider(keyed()).Decide(fresh(), submit(), answer)
		if c.Event != payroll.Untouched || c.Trouble.Used != [payroll.RetryClasses]int{} || !c.Trouble.DueAt.Equal(now) {
			t.Errorf("%s: %+v", answer.Verdict, c)
		}
	}
}

func TestClassesHaveCountersOfTheirOwn(t *testing.T) {
	t.Parallel()
	s, d := fresh(), decider(three(keyed()))
	for range 3 {
		for _, answer := range []payroll.Reading{failing, limited, refused} {
			c := d.Decide(s, submit(), answer)
			if c.Event == payroll.Given {
				t.Fatalf("status %d after %v", answer.Status, s.Trouble.Used)
			}
			s = taken(after(s, c), now)
		}
	}
}

func TestLoweredBudgetAppliesToWaitingLines(t *testing.T) {
	t.Parallel()
	s := fresh()
	s.State = payroll.Retrying
	s.Trouble = &payroll.Trouble{Generation: 1, Sends: 3, FirstSentAt: now.Add(-time.Minute)}
	s.Trouble.Used[payroll.ClassVendorError] = 3
	p := three(keyed())
	if _, ok := decider(p).Reconsider(s); ok {
		t.Fatal("its third retry was granted and is refused when its time comes")
	}
	p.Budgets[payroll.ClassVendorError].MaxRetries = 2
	if c, ok := decider(p).Reconsider(s); !ok || c.Death.Reason != payroll.RetryBudgetExhausted {
		t.Errorf("with a lowered budget: %v %+v", ok, c)
	}
}

// TestFiftySendsAreTheEnd is the backstop against a classifier gap: an answer
// that never spends anything cannot send a line for ever.
func TestFiftySendsAreTheEnd(t *testing.T) {
	t.Parallel()
	s, d := fresh(), decider(keyed())
	for sends := 1; ; sends++ {
		s = after(s, d.Decide(s, submit(), throttled))
		if c, ok := d.Reconsider(s); ok {
			if sends != retry.MaxSends || c.Death.Reason != payroll.RetryBudgetExhausted {
				t.Errorf("ended after %d sends: %+v", sends, c)
			}
			return
		}
		if sends >= retry.MaxSends {
			t.Fatalf("%d sends under one key", sends)
		}
		s = taken(s, now)
	}
}

// TestReplayedSettledLineIsANoOp: a replay resets the budget; evidence that the
// payment went through by another way then settles it, once.
func TestReplayedSettledLineIsANoOp(t *testing.T) {
	t.Parallel()
	s := fresh()
	s.Trouble = &payroll.Trouble{Generation: 1, Sends: 1, FirstSentAt: now.Add(-time.Second)}
	c := decider(keyed()).Decide(s, submit(), conflict)
	if c.Event != payroll.Paid || c.Settled.As != payroll.Duplicate {
		t.Fatalf("a replayed line that was paid: %+v", c)
	}
	s = after(s, c)
	for _, answer := range []payroll.Reading{paid, conflict, failing, rejected, noAnswer, absent} {
		if c := decider(keyed()).Decide(s, submit(), answer); c.Event != 0 || c.Alert != "" {
			t.Errorf("%s after it was settled: %+v", answer.Verdict, c)
		}
	}
}
