package store

import (
	"testing"
	"time"

	"payrollgateway/internal/payroll"
)

func standing(ordinal int32, s payroll.State, t *payroll.Trouble) payroll.Standing {
	return payroll.Standing{Line: payroll.Line{Ordinal: ordinal, Amount: 100, Currency: "USD"}, Live: true, State: s, Trouble: t}
}

func TestApplyRefusesWhatWasNotDecidedFromTheStandings(t *testing.T) {
	s := []payroll.Standing{standing(1, payroll.InFlight, nil), standing(2, payroll.Settled, nil)}
	paid := payroll.Settlement{As: payroll.Created}
	for name, changes := range map[string][]payroll.Change{
		"twice":            {{Ordinal: 1, Event: payroll.Lost}, {Ordinal: 1, Event: payroll.Lost}},
		"another line":     {{Ordinal: 3, Event: payroll.Lost}},
		"no such arrow":    {{Ordinal: 2, Event: payroll.Paid, Settled: paid}},
		"without evidence": {{Ordinal: 1, Event: payroll.Paid}},
	} {
		if _, err := Apply(1, s, changes); err == nil {
			t.Errorf("%s: applied", name)
		}
	}
}

func TestApplyMovesCountsAndAmounts(t *testing.T) {
	s := []payroll.Standing{standing(1, payroll.InFlight, nil), standing(2, payroll.InFlight, nil), standing(3, payroll.InFlight, nil)}
	fx, err := Apply(1, s, []payroll.Change{
		{Ordinal: 2, Event: payroll.Paid, Settled: payroll.Settlement{As: payroll.EarlierBatch}},
		{Ordinal: 1, Event: payroll.Given, Death: &payroll.Death{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := fx.Delta
	if d.Counts[payroll.InFlight] != -2 || d.Counts[payroll.Settled] != 1 || d.Counts[payroll.DeadLettered] != 1 {
		t.Errorf("counts %v", d.Counts)
	}
	if want := (payroll.Amounts{Settled: 100, Earlier: 100, DeadLettered: 100}); d.Amounts["USD"] != want {
		t.Errorf("amounts %+v", d.Amounts["USD"])
	}
	if fx.Lines[0].Was.Line.Ordinal != 1 || fx.Lines[1].Was.Line.Ordinal != 2 {
		t.Error("not in ordinal order")
	}
}

func TestWhatIsRememberedOfALine(t *testing.T) {
	open := &payroll.Trouble{Generation: 2, AttemptNo: 4, Ambiguous: true, QuietAt: time.Unix(9, 0)}
	given := &payroll.Trouble{Generation: 3}
	cases := []struct {
		name string
		was  payroll.Standing
		c    payroll.Change
		want *payroll.Trouble
	}{
		{"settling forgets", standing(1, payroll.InFlight, open), payroll.Change{Event: payroll.Paid, Settled: payroll.Settlement{As: payroll.Created}}, nil},
		{"the change says", standing(1, payroll.InFlight, open), payroll.Change{Event: payroll.Lost, Trouble: given}, given},
		{"a dead letter keeps it", standing(1, payroll.InFlight, open), payroll.Change{Event: payroll.Given}, &payroll.Trouble{Generation: 2, Ambiguous: true, QuietAt: time.Unix(9, 0)}},
		{"another attempt keeps the line", standing(1, payroll.InFlight, &payroll.Trouble{AttemptNo: 5}), payroll.Change{}, &payroll.Trouble{AttemptNo: 5}},
		{"back untouched is a row of its own", standing(1, payroll.InFlight, nil), payroll.Change{Event: payroll.Untouched}, &payroll.Trouble{Generation: 1}},
		{"nothing happened, nothing remembered", standing(1, payroll.Pending, nil), payroll.Change{Event: payroll.Withdrawn}, nil},
	}
	for _, c := range cases {
		c.c.Ordinal = 1
		fx, err := Apply(4, []payroll.Standing{c.was}, []payroll.Change{c.c})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := fx.Lines[0].Trouble
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}
