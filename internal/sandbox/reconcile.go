package sandbox

import (
	"fmt"
	"iter"

	"github.com/shopspring/decimal"
)

// LedgerLine is one line of a payer's ledger, as the payer reports it. A row
// that was refused before it became a line has an empty Key: it is counted, and
// never matched with an effect. Amount may be empty only there.
type LedgerLine struct {
	Key         string
	Tenant      string
	PayPeriod   string
	EmployeeID  string
	LineRef     string
	LineVersion int64
	Amount      string
	Currency    string
	State       string
	ReasonCode  string
}

// Payment is the identity by which a line is matched with effects: not its key.
func (l LedgerLine) Payment() Payment {
	return Payment{Slot{l.Tenant, l.PayPeriod, l.EmployeeID, l.LineRef}, l.LineVersion}
}

func (l LedgerLine) settled() bool { return l.State == "settled" }

// parked is the one state beside settled that may stand over an effect.
func (l LedgerLine) parked() bool {
	return l.State == "dead_lettered" && l.ReasonCode == "outcome_unknown"
}

var endStates = map[string]bool{"settled": true, "dead_lettered": true, "cancelled": true, "superseded": true}

// Reconcile compares what a vendor did with what a ledger at rest says. It is
// pure: journal and ledger in, report out; the order of the lines is nothing.
//
// Lines and effects are matched by tenant, period, employee, line_ref and
// version. The key is compared afterwards, as a finding of its own.
func Reconcile(effects []Effect, ledger iter.Seq[LedgerLine]) Report {
	j := judge{
		fold: newEffectFold(), made: map[Payment][]Effect{},
		known: map[Payment]bool{}, newest: map[Slot]LedgerLine{},
	}
	for _, e := range effects {
		j.fold.add(e)
		j.made[e.Payment()] = append(j.made[e.Payment()], e)
	}
	for l := range ledger {
		j.line(l)
	}
	j.payments()
	j.nets()
	return j.report(effects)
}

// judge collects what Reconcile finds.
type judge struct {
	fold     effectFold
	made     map[Payment][]Effect
	known    map[Payment]bool    // lines of the ledger
	newest   map[Slot]LedgerLine // newest version that stands over an effect
	sums     ledgerSums
	parked   ParkedLines
	findings []Finding
}

func (j *judge) find(kind FindingKind, p Payment, key, detail string) {
	j.findings = append(j.findings, Finding{invariantOf[kind], kind, p, key, detail})
}

// line judges one line of the ledger against its own effects.
func (j *judge) line(l LedgerLine) {
	amount, err := parseAmount(l.Amount)
	j.sums.add(l, amount)
	p := l.Payment()
	if !endStates[l.State] {
		j.find(NotAtRest, p, l.Key, "state "+l.State)
	}
	if l.Key == "" {
		return
	}
	if err != nil {
		j.find(UnreadableAmount, p, l.Key, "ledger")
	}
	if j.known[p] {
		j.find(ListedTwice, p, l.Key, "")
	}
	j.known[p] = true
	made := j.made[p]
	switch {
	case l.settled() && len(made) == 0:
		j.find(SettledWithoutEffect, p, l.Key, "")
	case len(made) > 0 && !l.settled() && !l.parked():
		j.find(HiddenEffect, p, l.Key, "state "+l.State+" "+l.ReasonCode)
	}
	j.parked.add(l, len(made) > 0)
	for _, e := range made {
		j.match(l, amount, e)
	}
	j.stands(l, len(made) > 0)
}

// match compares a line with one effect of the same payment.
func (j *judge) match(l LedgerLine, amount decimal.Decimal, e Effect) {
	paid, err := parseAmount(e.Amount)
	switch {
	case err != nil:
		j.find(UnreadableAmount, e.Payment(), e.Key, "vendor")
	case l.Currency != e.Currency || !amount.Equal(paid):
		j.find(AmountDiffers, e.Payment(), e.Key,
			fmt.Sprintf("ledger %s %s, vendor %s %s", l.Amount, l.Currency, e.Amount, e.Currency))
	}
	if l.Key != withoutGeneration(e.Key) {
		j.find(KeyDiffers, e.Payment(), e.Key, "ledger "+l.Key)
	}
}

// stands remembers the newest version that the slot's net should equal: the
// newest settled one, or a newer parked one that was in truth paid.
func (j *judge) stands(l LedgerLine, paid bool) {
	slot := l.Payment().Slot
	if held, some := j.newest[slot]; some && held.LineVersion >= l.LineVersion {
		return
	}
	if l.settled() || (l.parked() && paid) {
		j.newest[slot] = l
	}
}

// payments judges the effects by themselves and against the ledger's lines.
func (j *judge) payments() {
	for p, made := range j.made {
		if len(made) > 1 {
			j.find(PaidTwice, p, made[0].Key, fmt.Sprintf("%d effects", len(made)))
		}
		if !j.known[p] {
			j.find(UnknownEffect, p, made[0].Key, "")
		}
	}
}

// nets compares what the vendor holds for a slot with what it should hold.
func (j *judge) nets() {
	for slot, l := range j.newest {
		want, _ := parseAmount(l.Amount)
		for currency, net := range j.fold.net[slot] {
			due := decimal.Zero
			if currency == l.Currency {
				due = want
			}
			if !net.Equal(due) {
				j.find(NetDiffers, l.Payment(), l.Key, fmt.Sprintf("due %s %s, vendor holds %s", due, currency, net))
			}
		}
	}
}
