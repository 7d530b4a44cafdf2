package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/sandbox"
)

// audited is an audit of two settled lines of 1.00 and the 16 dead letters that
// the demo's file has, after a change.
func audited(change func(a *auditor)) []string {
	a := &auditor{posted: totals{18, decimal.RequireFromString("4.00")}}
	add := func(employee, amount, state string, reason apigen.ReasonCode) {
		a.lines = append(a.lines, sandbox.LedgerLine{
			Key: "pl_city_p_" + employee, Tenant: demoTenant, PayPeriod: "p", EmployeeID: employee, LineVersion: 1,
			Amount: amount, Currency: "USD", State: state, ReasonCode: string(reason),
		})
	}
	for _, employee := range []string{"E1", "E2"} {
		add(employee, "1.00", "settled", "")
		a.journal.Effects = append(a.journal.Effects, sandbox.Effect{
			Key: "pl_city_p_" + employee, Tenant: demoTenant, PayPeriod: "p", EmployeeID: employee, LineVersion: 1, Amount: "1.00", Currency: "USD",
		})
	}
	for i := range 16 {
		amount := "-1.00"
		if i < 3 {
			amount = "5.00"
		}
		add(fmt.Sprint("D", i), amount, "dead_lettered", apigen.ReasonCodeStatutoryCapBreach)
		a.letters = append(a.letters, apigen.DeadLetter{GrossPay: amount, ReasonCode: apigen.ReasonCodeStatutoryCapBreach})
	}
	a.batch = apigen.Batch{
		Total: 18, Counts: apigen.LineCounts{Settled: 2, DeadLettered: 16},
		Amounts: map[string]apigen.Amounts{"USD": {Total: "4.00", Settled: "2.00", DeadLettered: "2.00"}},
	}
	change(a)
	a.report = sandbox.Reconcile(a.journal.Effects, slices.Values(a.lines))
	return a.faults()
}

// TestTheDemoNoticesWhatDoesNotAddUp: a demo that cannot fail shows nothing.
func TestTheDemoNoticesWhatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	if faults := audited(func(*auditor) {}); len(faults) > 0 {
		t.Fatalf("what adds up has faults: %v", faults)
	}
	for fault, change := range map[string]func(a *auditor){
		"I1: paid_twice":             func(a *auditor) { a.journal.Effects = append(a.journal.Effects, a.journal.Effects[0]) },
		"I3: settled_without_effect": func(a *auditor) { a.journal.Effects = a.journal.Effects[1:] },
		"I3: hidden_effect":          func(a *auditor) { a.lines[0].State, a.lines[0].ReasonCode = "dead_lettered", "vendor_rejected" },
		"I3: unknown_effect":         func(a *auditor) { a.lines = a.lines[1:] },
		"I3: amount_differs":         func(a *auditor) { a.journal.Effects[0].Amount = "1.01" },
		"I2: not_at_rest":            func(a *auditor) { a.lines[0].State = "retrying" },
		"the ledger has 17 lines":    func(a *auditor) { a.lines = a.lines[:17] },
		"the batch says 3 lines":     func(a *auditor) { a.batch.Counts.Settled = 3 },
		"12 negative and 3 too high": func(a *auditor) { a.letters = a.letters[:15] },
		"came faster than it allows": func(a *auditor) { a.journal.Requests = []sandbox.Request{{Refused: sandbox.RefusedRate}} },
		"the file 18 of 4.01":        func(a *auditor) { a.posted.amount = decimal.RequireFromString("4.01") },
	} {
		if faults := strings.Join(audited(change), "\n"); !strings.Contains(faults, fault) {
			t.Errorf("no fault %q in %q", fault, faults)
		}
	}
}
