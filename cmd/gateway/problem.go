package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"payrollgateway/internal/httpapi/apigen"
)

// problemError is a refusal of the gateway, told as a sentence with its remedy.
type problemError struct{ apigen.Problem }

func newProblem(a answer) error {
	var p apigen.Problem
	if err := json.Unmarshal(a.body, &p); err != nil || p.Code == "" {
		return fmt.Errorf("the answer was HTTP status %d and no problem of a payroll gateway", a.status)
	}
	return &problemError{p}
}

func (e *problemError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", e.Title, e.Code)
	if e.Detail != "" {
		b.WriteString(". " + strings.TrimSpace(e.Detail))
	}
	for _, fact := range e.facts() {
		b.WriteString("\n  " + fact)
	}
	return b.String()
}

// shownFaults bounds what a terminal shows of a problem's faults.
const shownFaults = 20

// facts are the members that come with some codes.
func (e *problemError) facts() (facts []string) {
	for i, f := range e.Errors {
		if i == shownFaults {
			facts = append(facts, fmt.Sprintf("… and %d more", max(e.ErrorsTotal, len(e.Errors))-shownFaults))
			break
		}
		facts = append(facts, describeFault(f))
	}
	say := func(said bool, format string, args ...any) {
		if said {
			facts = append(facts, fmt.Sprintf(format, args...))
		}
	}
	say(len(e.KnownVendors) > 0, "known vendors: %s", strings.Join(e.KnownVendors, ", "))
	say(len(e.RequiredScopes) > 0, "one of these scopes is needed: %s", joinText(e.RequiredScopes))
	say(e.Counted.Lines > 0 || e.Counted.GrossPay != "", "arrived: %d lines, gross pay %s", e.Counted.Lines, e.Counted.GrossPay)
	say(e.BatchKey != "", "batch: %s", e.BatchKey)
	say(e.Ordinal > 0, "first difference: row %d", e.Ordinal)
	say(e.Owner != "" && e.HeartbeatAge != nil, "owner %s, last heartbeat %.1f s ago", e.Owner, deref(e.HeartbeatAge))
	say(e.HoldReason != "", "held: %s", e.HoldReason)
	say(!e.NotQuietUntil.IsZero(), "decide again after %s", e.NotQuietUntil.Format(time.RFC3339))
	say(e.SupersededBy != "", "superseded by %s", e.SupersededBy)
	return facts
}

func describeFault(f apigen.Fault) string {
	where := f.Pointer + f.Parameter
	if f.Ordinal > 0 {
		where = strings.TrimSpace(fmt.Sprintf("row %d %s", f.Ordinal, where))
	}
	if f.Code != "" {
		where = strings.TrimSpace(where + " " + string(f.Code))
	}
	if where == "" {
		return f.Detail
	}
	return where + ": " + f.Detail
}

func joinText[T ~string](items []T) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = string(item)
	}
	return strings.Join(texts, ", ")
}

func deref(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}
