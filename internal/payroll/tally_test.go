package payroll_test

import (
	"testing"

	"pgregory.net/rapid"

	"payrollgateway/internal/payroll"
)

// ledger is a batch counted the slow way: its items, one by one.
type ledger struct {
	lines  []payroll.Line
	states []payroll.State
	as     []payroll.SettledAs
}

func drawLedger(t *rapid.T) ledger {
	n := rapid.IntRange(1, 12).Draw(t, "lines")
	l := ledger{states: make([]payroll.State, n), as: make([]payroll.SettledAs, n)}
	for i := range n {
		l.states[i] = payroll.Pending
		l.lines = append(l.lines, payroll.Line{
			Ordinal:  int32(i + 1),
			Amount:   payroll.Minor(rapid.Int64Range(-1e6, 1e9).Draw(t, "amount")),
			Currency: rapid.SampledFrom([]string{"USD", "EUR"}).Draw(t, "currency"),
		})
	}
	return l
}

// tally is what a batch's counts and amounts must be.
func (l ledger) tally() (counts payroll.Counts, amounts map[string]payroll.Amounts) {
	amounts = map[string]payroll.Amounts{}
	for i, line := range l.lines {
		counts[l.states[i]]++
		a := amounts[line.Currency]
		a.Total += line.Amount
		switch l.states[i] {
		case payroll.Settled:
			a.Settled += line.Amount
			if l.as[i] == payroll.EarlierBatch {
				a.Earlier += line.Amount
			}
		case payroll.DeadLettered:
			a.DeadLettered += line.Amount
		case payroll.Cancelled:
			a.Cancelled += line.Amount
		case payroll.Superseded:
			a.Superseded += line.Amount
		case payroll.Pending, payroll.InFlight, payroll.Retrying, payroll.Unknown:
		}
		amounts[line.Currency] = a
	}
	return counts, amounts
}

// TestDeltasConserveLinesAndCents: whatever walk the lines take through the
// state machine, and however it is cut into deltas, counts and amounts stay
// what counting the items one by one gives, and the totals never move.
func TestDeltasConserveLinesAndCents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := drawLedger(t)
		counts, amounts := l.tally()
		for range rapid.IntRange(1, 5).Draw(t, "deltas") {
			var delta payroll.Delta
			for range rapid.IntRange(0, 10).Draw(t, "moves") {
				l.move(t, &delta)
			}
			apply(t, delta, &counts, amounts)
		}
		wantCounts, wantAmounts := l.tally()
		if counts != wantCounts || counts.Total() != int64(len(l.lines)) {
			t.Fatalf("counts %v, want %v", counts, wantCounts)
		}
		for currency, want := range wantAmounts {
			if got := amounts[currency]; got != want {
				t.Fatalf("%s: %+v, want %+v", currency, got, want)
			}
			if open := l.open(currency); want.Open() != open {
				t.Fatalf("%s: open %d, want %d", currency, want.Open(), open)
			}
		}
	})
}

func (l ledger) move(t *rapid.T, delta *payroll.Delta) {
	i := rapid.IntRange(0, len(l.lines)-1).Draw(t, "line")
	to, ok := payroll.Transition(l.states[i], rapid.SampledFrom(payroll.Events).Draw(t, "event"))
	if !ok {
		return
	}
	var as payroll.SettledAs
	if to == payroll.Settled {
		as = rapid.SampledFrom([]payroll.SettledAs{payroll.Created, payroll.EarlierBatch}).Draw(t, "as")
	}
	delta.Count(l.lines[i], l.states[i], to, l.as[i], as)
	l.states[i], l.as[i] = to, as
}

func apply(t *rapid.T, d payroll.Delta, counts *payroll.Counts, amounts map[string]payroll.Amounts) {
	if d.Counts.Total() != 0 {
		t.Fatalf("a delta makes or loses %d lines", d.Counts.Total())
	}
	for s, n := range d.Counts {
		counts[s] += n
	}
	for currency, m := range d.Amounts {
		if m.Total != 0 {
			t.Fatalf("a delta moves the total by %d", m.Total)
		}
		a := amounts[currency]
		a.Settled += m.Settled
		a.Earlier += m.Earlier
		a.DeadLettered += m.DeadLettered
		a.Cancelled += m.Cancelled
		a.Superseded += m.Superseded
		amounts[currency] = a
	}
}

func (l ledger) open(currency string) (sum payroll.Minor) {
	for i, line := range l.lines {
		if line.Currency == currency && !l.states[i].AtRest() {
			sum += line.Amount
		}
	}
	return sum
}

func TestCountsAtRest(t *testing.T) {
	t.Parallel()
	for _, s := range payroll.States {
		var c payroll.Counts
		c[payroll.Settled] = 3
		c[s]++
		if c.AtRest() != s.AtRest() {
			t.Errorf("a batch with a %s line at rest: %v", s, c.AtRest())
		}
		if c.Total() != 4 || c.Of(payroll.Settled) < 3 {
			t.Errorf("%s: total %d, settled %d", s, c.Total(), c.Of(payroll.Settled))
		}
	}
}
