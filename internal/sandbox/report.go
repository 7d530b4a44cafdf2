package sandbox

import (
	"cmp"
	"slices"

	"github.com/shopspring/decimal"
)

// FindingKind names a way in which journal and ledger disagree.
type FindingKind string

// The kinds of findings.
const (
	PaidTwice            FindingKind = "paid_twice"             // more than one effect for one payment
	NotAtRest            FindingKind = "not_at_rest"            // a line in no end state
	ListedTwice          FindingKind = "listed_twice"           // two ledger lines for one payment
	SettledWithoutEffect FindingKind = "settled_without_effect" // nobody was paid
	HiddenEffect         FindingKind = "hidden_effect"          // paid, and the ledger says otherwise
	UnknownEffect        FindingKind = "unknown_effect"         // paid, and not in the ledger at all
	AmountDiffers        FindingKind = "amount_differs"         // paid another amount or currency
	UnreadableAmount     FindingKind = "unreadable_amount"
	KeyDiffers           FindingKind = "key_differs" // paid under a key that is not the line's
	NetDiffers           FindingKind = "net_differs" // all versions together come to a wrong amount
)

// invariantOf says which invariant a finding breaks.
var invariantOf = map[FindingKind]string{
	PaidTwice: "I1", NotAtRest: "I2", ListedTwice: "I2",
	SettledWithoutEffect: "I3", HiddenEffect: "I3", UnknownEffect: "I3",
	AmountDiffers: "I3", UnreadableAmount: "I3",
	KeyDiffers: "I4", NetDiffers: "I13",
}

// Finding is one disagreement. It names an employee, so it is for people and
// tests and not for logs.
type Finding struct {
	Invariant string
	Kind      FindingKind
	Payment   Payment
	Key       string
	Detail    string
}

// StateTotal is the part of the ledger in one state, for one reason code and
// currency. MinorUnits is an integer in a string, such as cents.
type StateTotal struct {
	State      string
	ReasonCode string
	Currency   string
	Lines      int
	MinorUnits string
}

// VendorTotal is what the vendor did in one currency. Paid is the sum of all
// effects, Held what its slots come to after corrections.
type VendorTotal struct {
	Currency string
	Effects  int
	Paid     string
	Held     string
}

// ParkedLines counts the lines parked as outcome_unknown by what the vendor's
// journal knows about them.
type ParkedLines struct {
	Paid, NotPaid int
}

func (p *ParkedLines) add(l LedgerLine, paid bool) {
	switch {
	case l.parked() && paid:
		p.Paid++
	case l.parked():
		p.NotPaid++
	}
}

// Report is the outcome of a reconciliation. All lists are sorted.
type Report struct {
	Findings []Finding
	Ledger   []StateTotal
	Vendor   []VendorTotal
	Lines    int // of the ledger
	Parked   ParkedLines
}

// OK says that nothing disagrees.
func (r Report) OK() bool { return len(r.Findings) == 0 }

// Count is the number of findings of the kinds.
func (r Report) Count(kinds ...FindingKind) int {
	n := 0
	for _, f := range r.Findings {
		if slices.Contains(kinds, f.Kind) {
			n++
		}
	}
	return n
}

// PaidTwice counts the payments with more than one effect, whatever their keys.
func (r Report) PaidTwice() int { return r.Count(PaidTwice) }

// Forgotten counts the people whom the ledger is wrong about: settled and not
// paid, paid behind another state or behind no line, or paid another amount.
func (r Report) Forgotten() int {
	return r.Count(SettledWithoutEffect, HiddenEffect, UnknownEffect, AmountDiffers)
}

func (j *judge) report(effects []Effect) Report {
	slices.SortFunc(j.findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Payment.Tenant, b.Payment.Tenant),
			cmp.Compare(a.Payment.PayPeriod, b.Payment.PayPeriod), cmp.Compare(a.Payment.EmployeeID, b.Payment.EmployeeID),
			cmp.Compare(a.Payment.LineRef, b.Payment.LineRef), cmp.Compare(a.Payment.Version, b.Payment.Version),
			cmp.Compare(a.Key, b.Key), cmp.Compare(a.Detail, b.Detail),
		)
	})
	totals, lines := j.sums.totals()
	return Report{
		Findings: j.findings, Ledger: totals, Vendor: vendorTotals(effects, j.fold),
		Lines: lines, Parked: j.parked,
	}
}

// ledgerSums adds the ledger up by state, reason and currency.
type ledgerSums map[StateTotal]*ledgerSum

type ledgerSum struct {
	lines  int
	amount decimal.Decimal
}

func (s *ledgerSums) add(l LedgerLine, amount decimal.Decimal) {
	if *s == nil {
		*s = ledgerSums{}
	}
	group := StateTotal{State: l.State, ReasonCode: l.ReasonCode, Currency: l.Currency}
	sum := (*s)[group]
	if sum == nil {
		sum = &ledgerSum{}
		(*s)[group] = sum
	}
	sum.lines++
	sum.amount = sum.amount.Add(amount)
}

func (s *ledgerSums) totals() (totals []StateTotal, lines int) {
	for group, sum := range *s {
		group.Lines, group.MinorUnits = sum.lines, minorUnits(sum.amount, group.Currency)
		totals = append(totals, group)
		lines += sum.lines
	}
	slices.SortFunc(totals, func(a, b StateTotal) int {
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.ReasonCode, b.ReasonCode), cmp.Compare(a.Currency, b.Currency))
	})
	return totals, lines
}

func vendorTotals(effects []Effect, fold effectFold) []VendorTotal {
	paid, count := map[string]decimal.Decimal{}, map[string]int{}
	for _, e := range effects {
		amount, _ := parseAmount(e.Amount)
		paid[e.Currency] = paid[e.Currency].Add(amount)
		count[e.Currency]++
	}
	held := fold.cents()
	var totals []VendorTotal
	for currency, sum := range paid {
		totals = append(totals, VendorTotal{currency, count[currency], minorUnits(sum, currency), cmp.Or(held[currency], "0")})
	}
	slices.SortFunc(totals, func(a, b VendorTotal) int { return cmp.Compare(a.Currency, b.Currency) })
	return totals
}
