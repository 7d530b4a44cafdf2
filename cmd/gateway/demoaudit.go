package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/shopspring/decimal"

	"payrollgateway/examples"
	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/sandbox"
)

// totals are lines and what they come to.
type totals struct {
	lines  int
	amount decimal.Decimal
}

func (t totals) plus(amount decimal.Decimal) totals {
	return totals{t.lines + 1, t.amount.Add(amount)}
}

func (t totals) equal(other totals) bool {
	return t.lines == other.lines && t.amount.Equal(other.amount)
}

// readTotals counts a payroll file without any of the gateway's own code.
func readTotals(file []byte) (t totals, err error) {
	rows := csv.NewReader(bytes.NewReader(file))
	header, err := rows.Read()
	if err != nil {
		return t, err
	}
	column := slices.Index(header, "gross_pay")
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		amount, err := decimal.NewFromString(row[column])
		if err != nil {
			return t, err
		}
		t = t.plus(amount)
	}
}

// auditor compares what was posted, what the gateway says and what the vendor
// did.
type auditor struct {
	batch   apigen.Batch
	posted  totals
	lines   []sandbox.LedgerLine
	letters []apigen.DeadLetter
	journal sandbox.Contents
	report  sandbox.Report
}

// audit reads every line and dead letter through the API, and the journal.
func audit(ctx context.Context, s *stage, b apigen.Batch) (a *auditor, err error) {
	a = &auditor{batch: b}
	if a.posted, err = readTotals(examples.CityPayroll); err != nil {
		return nil, err
	}
	err = each(ctx, s.api, batchPath(b.BatchKey)+"/lines", nil, 0, func(l apigen.Line) error {
		a.lines = append(a.lines, ledgerLine(b, l))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, s.api, "/v1/dead-letters", url.Values{"batch_key": {b.BatchKey}}, 0, func(l apigen.DeadLetter) error {
		a.letters = append(a.letters, l)
		if l.LineKey == "" {
			a.lines = append(a.lines, sandbox.LedgerLine{
				State: string(apigen.LineStateDeadLettered), ReasonCode: string(l.ReasonCode), Amount: l.GrossPay, Currency: l.Currency,
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if a.journal, err = sandbox.ReadJournal(s.path(journalFile)); err != nil {
		return nil, err
	}
	a.report = sandbox.Reconcile(a.journal.Effects, slices.Values(a.lines))
	return a, nil
}

func ledgerLine(b apigen.Batch, l apigen.Line) sandbox.LedgerLine {
	return sandbox.LedgerLine{
		Key: l.LineKey, Tenant: demoTenant, PayPeriod: b.PayPeriodID, EmployeeID: l.EmployeeID, LineRef: l.LineRef,
		LineVersion: int64(l.LineVersion), Amount: l.GrossPay, Currency: l.Currency, State: string(l.State), ReasonCode: string(l.ReasonCode),
	}
}

// faults lists what does not add up.
func (a *auditor) faults() (faults []string) {
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	for _, f := range a.report.Findings {
		fault(true, "%s: %s: employee %s %s", f.Invariant, f.Kind, f.Payment.EmployeeID, f.Detail)
	}
	all := a.sum(func(sandbox.LedgerLine) bool { return true })
	fault(!all.equal(a.posted), "the ledger has %d lines of %s, the file %d of %s", all.lines, all.amount, a.posted.lines, a.posted.amount)
	for _, p := range partsOf(a.batch) {
		own := a.sum(inPart(p.name))
		shown := totals{p.lines, decimal.RequireFromString(cmp.Or(p.amount(a.batch.Amounts["USD"]), "0"))}
		fault(!own.equal(shown), "the batch says %d lines of %s %s, its lines %d of %s", shown.lines, shown.amount, p.name, own.lines, own.amount)
	}
	low, high := a.outsideLimits()
	fault(low != 13 || high != 3, "%d negative and %d too high amounts are dead letters, not 13 and 3", low, high)
	refused := a.refused(sandbox.RefusedRate)
	fault(refused > 0, "the vendor refused %d requests because they came faster than it allows", refused)
	return faults
}

// inPart says which lines belong to a row of a batch's table.
func inPart(name string) func(sandbox.LedgerLine) bool {
	return func(l sandbox.LedgerLine) bool {
		if name == "total" {
			return true
		}
		state, _ := payroll.ParseState(l.State)
		return l.State == name || name == "open" && !state.AtRest()
	}
}

func (a *auditor) sum(which func(sandbox.LedgerLine) bool) (t totals) {
	for _, l := range a.lines {
		if which(l) {
			amount, err := decimal.NewFromString(l.Amount)
			if err != nil {
				amount = decimal.Zero // a row without a readable amount; there is none here
			}
			t = t.plus(amount)
		}
	}
	return t
}

// outsideLimits counts the dead letters whose amount nobody may be paid.
func (a *auditor) outsideLimits() (low, high int) {
	for _, l := range a.letters {
		if l.ReasonCode != apigen.ReasonCodeStatutoryCapBreach {
			continue
		}
		if amount, _ := decimal.NewFromString(l.GrossPay); amount.IsNegative() {
			low++
		} else {
			high++
		}
	}
	return low, high
}

func (a *auditor) refused(why sandbox.Refusal) (n int) {
	for _, r := range a.journal.Requests {
		if r.Refused == why {
			n++
		}
	}
	return n
}
