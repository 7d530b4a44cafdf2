package sandbox

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made describes an effect for employee e1 of tenant acme unless it says more.
type made struct {
	emp, ref, key, amount, currency string
	version                         int64
	kind                            EffectKind
}

func (m made) effect() Effect {
	e := Effect{
		Key: m.key, Tenant: "acme", PayPeriod: "2026-07", EmployeeID: m.emp, LineRef: m.ref,
		LineVersion: m.version, Amount: m.amount, Currency: m.currency, Kind: m.kind,
	}
	fill(&e.EmployeeID, "e1")
	fill(&e.LineVersion, 1)
	fill(&e.Key, testKey(e.EmployeeID, e.LineRef, e.LineVersion))
	fill(&e.Amount, "10.00")
	fill(&e.Currency, "USD")
	fill(&e.Kind, EffectCreated)
	return e
}

// booked describes a ledger line in the same way.
type booked struct {
	emp, ref, amount, currency, state, reason string
	version                                   int64
}

func (b booked) line() LedgerLine {
	l := LedgerLine{
		Tenant: "acme", PayPeriod: "2026-07", EmployeeID: b.emp, LineRef: b.ref, LineVersion: b.version,
		Amount: b.amount, Currency: b.currency, State: b.state, ReasonCode: b.reason,
	}
	fill(&l.EmployeeID, "e1")
	fill(&l.LineVersion, 1)
	fill(&l.Amount, "10.00")
	fill(&l.Currency, "USD")
	fill(&l.State, "settled")
	l.Key = testKey(l.EmployeeID, l.LineRef, l.LineVersion)
	return l
}

func testKey(emp, ref string, version int64) string {
	return "pl_acme_2026-07_" + hexHash(fmt.Append(nil, emp, "|", ref, "|", version))[:24]
}

func reconciled(effects []made, lines []booked) Report {
	var es []Effect
	for _, m := range effects {
		es = append(es, m.effect())
	}
	var ls []LedgerLine
	for _, b := range lines {
		ls = append(ls, b.line())
	}
	return Reconcile(es, slices.Values(ls))
}

func TestReconcileFindings(t *testing.T) {
	otherKey := testKey("e1", "", 1) + ".2"
	for name, c := range map[string]struct {
		effects []made
		ledger  []booked
		want    []FindingKind
	}{
		"nothing happened":        {nil, nil, nil},
		"paid and settled":        {[]made{{}}, []booked{{}}, nil},
		"scale is no difference":  {[]made{{amount: "10.0"}}, []booked{{amount: "10.00"}}, nil},
		"two payments of one run": {[]made{{}, {ref: "bonus"}}, []booked{{}, {ref: "bonus"}}, nil},
		"leading zeros differ":    {[]made{{emp: "007"}, {emp: "7"}}, []booked{{emp: "007"}, {emp: "7"}}, nil},
		"a later key generation":  {[]made{{key: otherKey}}, []booked{{}}, nil},

		"paid twice, one key":          {[]made{{}, {}}, []booked{{}}, []FindingKind{NetDiffers, PaidTwice}},
		"paid twice, two generations":  {[]made{{}, {key: otherKey}}, []booked{{}}, []FindingKind{NetDiffers, PaidTwice}},
		"paid twice, a foreign key":    {[]made{{}, {key: "other"}}, []booked{{}}, []FindingKind{KeyDiffers, NetDiffers, PaidTwice}},
		"paid twice, parked":           {[]made{{}, {}}, []booked{{state: "dead_lettered", reason: "outcome_unknown"}}, []FindingKind{NetDiffers, PaidTwice}},
		"replaced twice, same version": {[]made{{}, {version: 2, kind: EffectReplaced}, {version: 2, kind: EffectReplaced}}, []booked{{}, {version: 2}}, []FindingKind{PaidTwice}},

		"settled, nobody paid":     {nil, []booked{{}}, []FindingKind{SettledWithoutEffect}},
		"paid, dead letter":        {[]made{{}}, []booked{{state: "dead_lettered", reason: "vendor_rejected"}}, []FindingKind{HiddenEffect}},
		"paid, cancelled":          {[]made{{}}, []booked{{state: "cancelled"}}, []FindingKind{HiddenEffect}},
		"paid, superseded":         {[]made{{}}, []booked{{state: "superseded"}}, []FindingKind{HiddenEffect}},
		"paid, cutoff":             {[]made{{}}, []booked{{state: "dead_lettered", reason: "cutoff_passed"}}, []FindingKind{HiddenEffect}},
		"paid, not in the ledger":  {[]made{{}}, nil, []FindingKind{UnknownEffect}},
		"paid for another version": {[]made{{version: 2}}, []booked{{}}, []FindingKind{SettledWithoutEffect, UnknownEffect}},
		"paid to another employee": {[]made{{emp: "e2"}}, []booked{{}}, []FindingKind{SettledWithoutEffect, UnknownEffect}},
		"paid a cent less":         {[]made{{amount: "9.99"}}, []booked{{}}, []FindingKind{AmountDiffers, NetDiffers}},
		"paid in another currency": {[]made{{currency: "EUR"}}, []booked{{}}, []FindingKind{AmountDiffers, NetDiffers}},
		"vendor's amount is none":  {[]made{{amount: "ten"}}, []booked{{}}, []FindingKind{NetDiffers, UnreadableAmount}},
		"ledger's amount is none":  {nil, []booked{{amount: "ten", state: "cancelled"}}, []FindingKind{UnreadableAmount}},
		"settled under a wrong key": {
			[]made{{key: testKey("e2", "", 1)}}, []booked{{}}, []FindingKind{KeyDiffers},
		},

		"parked and paid":       {[]made{{}}, []booked{{state: "dead_lettered", reason: "outcome_unknown"}}, nil},
		"parked and not paid":   {nil, []booked{{state: "dead_lettered", reason: "outcome_unknown"}}, nil},
		"rejected and not paid": {nil, []booked{{state: "dead_lettered", reason: "vendor_rejected"}}, nil},
		"cancelled":             {nil, []booked{{state: "cancelled"}}, nil},

		"still pending":             {nil, []booked{{state: "pending"}}, []FindingKind{NotAtRest}},
		"still in flight, and paid": {[]made{{}}, []booked{{state: "in_flight"}}, []FindingKind{HiddenEffect, NotAtRest}},
		"retrying":                  {nil, []booked{{state: "retrying"}}, []FindingKind{NotAtRest}},
		"unknown":                   {nil, []booked{{state: "unknown"}}, []FindingKind{NotAtRest}},
		"a state nobody knows":      {nil, []booked{{state: "Settled"}}, []FindingKind{NotAtRest}},
		"listed twice":              {[]made{{}}, []booked{{}, {}}, []FindingKind{ListedTwice}},

		"corrected": {
			[]made{{}, {version: 2, amount: "11.00", kind: EffectReplaced}},
			[]booked{{}, {version: 2, amount: "11.00"}},
			nil,
		},
		"version 1 superseded": {
			[]made{{version: 2}}, []booked{{state: "superseded"}, {version: 2}}, nil,
		},
		"paid 1,000 and then 1,100": {
			[]made{{amount: "1000.00"}, {version: 2, amount: "1100.00"}},
			[]booked{{amount: "1000.00"}, {version: 2, amount: "1100.00"}},
			[]FindingKind{NetDiffers},
		},
		"the older version came last": {
			[]made{{version: 2, amount: "11.00"}, {amount: "10.00", kind: EffectReplaced}},
			[]booked{{}, {version: 2, amount: "11.00"}},
			[]FindingKind{NetDiffers},
		},
		"correction parked and paid": {
			[]made{{}, {version: 2, amount: "11.00", kind: EffectReplaced}},
			[]booked{{}, {version: 2, amount: "11.00", state: "dead_lettered", reason: "outcome_unknown"}},
			nil,
		},
		"correction parked and not paid": {
			[]made{{}},
			[]booked{{}, {version: 2, amount: "11.00", state: "dead_lettered", reason: "outcome_unknown"}},
			nil,
		},
		"corrected into another currency": {
			[]made{{}, {version: 2, currency: "EUR", kind: EffectReplaced}},
			[]booked{{}, {version: 2, currency: "EUR"}},
			nil,
		},
	} {
		var got []FindingKind
		r := reconciled(c.effects, c.ledger)
		for _, f := range r.Findings {
			got = append(got, f.Kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if r.OK() != (len(c.want) == 0) {
			t.Errorf("%s: OK() = %v", name, r.OK())
		}
		slices.Reverse(c.ledger)
		if !cmp.Equal(r, reconciled(c.effects, c.ledger)) {
			t.Errorf("%s: the order of the ledger changed the report", name)
		}
	}
}

func TestReconcileTellsTenantsAndPeriodsApart(t *testing.T) {
	a, b, c := made{}.effect(), made{}.effect(), made{}.effect()
	b.Tenant, c.PayPeriod = "other", "2026-08"
	la, lb, lc := booked{}.line(), booked{}.line(), booked{}.line()
	lb.Tenant, lc.PayPeriod = "other", "2026-08"
	if r := Reconcile([]Effect{a, b, c}, slices.Values([]LedgerLine{la, lb, lc})); !r.OK() {
		t.Fatalf("%+v", r.Findings)
	}
}

func TestReconcileCounts(t *testing.T) {
	refusedRow := LedgerLine{State: "dead_lettered", ReasonCode: "poison_message"}
	lines := []LedgerLine{
		booked{emp: "1", amount: "0.10"}.line(), booked{emp: "2", amount: "0.20"}.line(),
		booked{emp: "3", amount: "300", currency: "JPY"}.line(),
		booked{emp: "4", amount: "-5.00", state: "dead_lettered", reason: "statutory_cap_breach"}.line(),
		booked{emp: "5", state: "dead_lettered", reason: "outcome_unknown"}.line(),
		booked{emp: "6", state: "dead_lettered", reason: "outcome_unknown"}.line(),
		booked{emp: "7"}.line(), // settled, never paid
		refusedRow, refusedRow,
	}
	effects := []Effect{
		made{emp: "1", amount: "0.10"}.effect(), made{emp: "1", amount: "0.10"}.effect(), made{emp: "2", amount: "0.20"}.effect(),
		made{emp: "3", amount: "300", currency: "JPY"}.effect(), made{emp: "5"}.effect(),
	}
	r := Reconcile(effects, slices.Values(lines))
	want := Report{
		Findings: r.Findings, Lines: 9, Parked: ParkedLines{Paid: 1, NotPaid: 1},
		Ledger: []StateTotal{
			{"dead_lettered", "outcome_unknown", "USD", 2, "2000"},
			{"dead_lettered", "poison_message", "", 2, "0"},
			{"dead_lettered", "statutory_cap_breach", "USD", 1, "-500"},
			{"settled", "", "JPY", 1, "300"},
			{"settled", "", "USD", 3, "1030"},
		},
		Vendor: []VendorTotal{{"JPY", 1, "300", "300"}, {"USD", 4, "1040", "1040"}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Fatal(diff)
	}
	if r.PaidTwice() != 1 || r.Forgotten() != 1 || r.OK() {
		t.Fatalf("paid twice %d, forgotten %d", r.PaidTwice(), r.Forgotten())
	}
	if f := r.Findings[len(r.Findings)-1]; f.Invariant != "I3" || f.Payment.EmployeeID != "7" {
		t.Fatalf("%+v", f)
	}
}

// The whole way: a misbehaving vendor, a caller that does what a caller should,
// and a reconciliation of what both wrote down.
func TestReconcileAgainstARealJournal(t *testing.T) {
	v := start(t, Config{
		Seed: 4, MaxFaultsPerLine: 3,
		Faults:     mustRates(t, "503=0.2,reset=0.2,truncate=0.2"),
		ItemFaults: mustItemRates(t, "503=0.2,missing=0.1,500-after-commit=0.1"),
	})
	settled := map[string]bool{}
	var ledger []LedgerLine
	for i := range 20 {
		p := pay{emp: fmt.Sprint(i), amount: "10.00"}
		for !settled[p.lineKey()] {
			r, err := v.post(bodyOf(p))
			for _, item := range r.items {
				settled[item.Key] = err == nil && isDone(item.Status)
			}
		}
		l := booked{emp: p.emp}.line()
		l.Key = p.lineKey()
		ledger = append(ledger, l)
	}
	c := v.read()
	if r := Reconcile(c.Effects, slices.Values(ledger)); !r.OK() || r.Vendor[0].Held != "20000" {
		t.Fatalf("%+v", r)
	}
	if len(c.Requests) <= 20 {
		t.Fatal("no fault struck")
	}
}
