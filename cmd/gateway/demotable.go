package main

import (
	"fmt"
	"net/http"
	"strings"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/sandbox"
)

// show prints the reconciliation.
func (a *auditor) show(o *output) {
	row := func(who, what string, lines int, amount, note string) {
		line := fmt.Sprintf("     %-8s %-34s %7s %16s  %s", who, what, groupedInt(lines), grouped(amount), note)
		o.printf("%s\n", strings.TrimRight(line, " "))
	}
	o.printf("     %-8s %-34s %7s %16s\n", "", "", "lines", "USD")
	row("file", "as posted", a.posted.lines, a.posted.amount.String(), "")
	who := "ledger"
	for _, t := range a.report.Ledger {
		row(who, strings.TrimSpace(t.State+" "+t.ReasonCode), t.Lines, money(t.MinorUnits, t.Currency), a.note(t))
		who = ""
	}
	all := a.sum(func(sandbox.LedgerLine) bool { return true })
	row("", "total", all.lines, all.amount.String(), agree(all.equal(a.posted), "the file"))
	settled := a.sum(inPart("settled"))
	for _, v := range a.report.Vendor {
		held := money(v.Held, v.Currency)
		row("vendor", "payments in its journal", v.Effects, held, agree(v.Effects == settled.lines && held == settled.amount.StringFixed(2), "what is settled"))
	}
	o.printf("\n     paid twice: %d\n     forgotten:  %d\n\n", a.report.PaidTwice(), a.report.Forgotten())
	a.showVendor(o)
	a.showLetters(o)
}

func agree(equal bool, with string) string {
	if equal {
		return "= " + with
	}
	return "differs from " + with
}

// money writes minor units as an amount.
func money(minor, currency string) string {
	var n int64
	if _, err := fmt.Sscan(minor, &n); err != nil {
		return minor
	}
	return payroll.Minor(n).Format(currency)
}

func (a *auditor) note(t sandbox.StateTotal) string {
	if t.ReasonCode != string(apigen.ReasonCodeStatutoryCapBreach) {
		return ""
	}
	low, high := a.outsideLimits()
	return fmt.Sprintf("%d negative, %d above 250,000.00", low, high)
}

// showVendor says how the vendor misbehaved, in its own journal's words.
func (a *auditor) showVendor(o *output) {
	requests, lookups := 0, 0
	whole, items := map[string]int{}, map[string]int{}
	for _, r := range a.journal.Requests {
		if r.Method != http.MethodPost {
			lookups++
			continue
		}
		requests++
		if r.Fault != "" {
			whole[r.Fault]++
		}
		for _, l := range r.Lines {
			if l.Fault != "" {
				items[l.Fault]++
			}
		}
	}
	o.printf("     The vendor read %s requests and %s look-ups, none faster than it allows.\n", groupedInt(requests), groupedInt(lookups))
	o.printf("     Requests it spoilt: %s\n", countsText(whole))
	o.printf("     Lines it spoilt:    %s\n", countsText(items))
}

func countsText(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, name := range knownNames(counts) {
		parts = append(parts, fmt.Sprintf("%d x %s", counts[name], name))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// showLetters lists the rows nobody may be paid, and counts what the vendor
// refused.
func (a *auditor) showLetters(o *output) {
	refused := 0
	o.printf("\n     Dead letters from the file, each with its reason:\n")
	for _, l := range a.letters {
		if l.SourceStage != apigen.SourceStageIntake {
			refused++
			continue
		}
		o.printf("       row %6s  employee %s  %14s  %s\n", groupedInt(l.Ordinal), l.EmployeeID, grouped(l.GrossPay), l.ReasonCode)
	}
	o.printf("     and %d lines that the vendor refused: correct them and post them again with line_version 2.\n", refused)
}
