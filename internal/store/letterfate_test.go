package store

import (
	"testing"

	"payrollgateway/internal/payroll"
)

func TestWhatBecomesOfAnOpenLetter(t *testing.T) {
	cases := []struct {
		c      payroll.Change
		status LetterStatus
		as     string
	}{
		{payroll.Change{}, 0, ""},
		{payroll.Change{Close: payroll.PaidOutside}, LetterClosed, "paid_outside"},
		{payroll.Change{Event: payroll.Replayed}, LetterReplayed, ""},
		{payroll.Change{Event: payroll.Reopened}, LetterReplayed, ""},
		{payroll.Change{Event: payroll.Replaced}, LetterClosed, "corrected"},
		{payroll.Change{Event: payroll.Paid, Settled: payroll.Settlement{As: payroll.Attested}}, LetterClosed, "attested_paid"},
		{payroll.Change{Event: payroll.Paid, Settled: payroll.Settlement{As: payroll.LookedUp}}, LetterReplayed, ""},
	}
	for _, c := range cases {
		c.c.Ordinal = 1
		fx, err := Apply(0, []payroll.Standing{standing(1, payroll.DeadLettered, nil)}, []payroll.Change{c.c})
		if err != nil {
			t.Fatal(err)
		}
		status, as, ok := fx.Lines[0].LetterFate()
		if status != c.status || as != c.as || ok != (c.status != 0) {
			t.Errorf("%v: %v %q %v", c.c, status, as, ok)
		}
	}
}
