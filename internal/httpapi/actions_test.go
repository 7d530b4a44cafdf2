package httpapi

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

var (
	noon      = time.Date(2026, 7, 13, 12, 0, 0, 0, time.UTC)
	asked     = terms{known: true, lookUp: true, limits: payroll.DefaultCap()}
	blind     = terms{known: true, limits: payroll.DefaultCap()}
	forgotten = terms{}
)

// dead is an open letter of a line with that reason.
func dead(reason payroll.Reason, change ...func(*payroll.Standing)) store.Letter {
	s := &payroll.Standing{Line: payroll.Line{Amount: 100, Currency: "USD"}, State: payroll.DeadLettered, Reason: reason}
	for _, c := range change {
		c(s)
	}
	return store.Letter{Status: store.LetterOpen, Reason: reason, Amount: s.Line.Amount, Currency: s.Line.Currency, Standing: s}
}

func ambiguousUntil(at time.Time) func(*payroll.Standing) {
	return func(s *payroll.Standing) { s.Trouble = &payroll.Trouble{Ambiguous: true, QuietAt: at} }
}

func TestAllowedActions(t *testing.T) {
	superseded := func(s *payroll.Standing) { s.Superseded = true }
	cancelled := func(s *payroll.Standing) { s.Cancelled = true }
	closed := func(s *payroll.Standing) { s.LetterClosed = payroll.WrittenOff }
	settled := func(s *payroll.Standing) { s.State = payroll.Settled }
	huge := func(s *payroll.Standing) { s.Line.Amount = 100_000_000_00 }
	of := func(status store.LetterStatus) store.Letter {
		l := dead(payroll.VendorRejected)
		l.Status = status
		return l
	}
	quiet, loud := ambiguousUntil(noon), ambiguousUntil(noon.Add(time.Second))
	for name, c := range map[string]struct {
		letter store.Letter
		terms  terms
		want   string
	}{
		"rejected":                      {dead(payroll.VendorRejected), blind, "[replay close]"},
		"budget":                        {dead(payroll.RetryBudgetExhausted), asked, "[replay close]"},
		"cut-off":                       {dead(payroll.CutoffPassed), asked, "[replay close]"},
		"replayed":                      {of(store.LetterReplayed), asked, "[]"},
		"closed":                        {of(store.LetterClosed), asked, "[]"},
		"refused at intake":             {store.Letter{Status: store.LetterOpen, Reason: payroll.PoisonMessage}, asked, "[close]"},
		"cap, still":                    {dead(payroll.StatutoryCapBreach, huge), asked, "[close]"},
		"cap, raised meanwhile":         {dead(payroll.StatutoryCapBreach), asked, "[replay close]"},
		"correction":                    {dead(payroll.CorrectionRefused), asked, "[close]"},
		"vendor is gone":                {dead(payroll.VendorRejected), forgotten, "[close]"},
		"superseded":                    {dead(payroll.VendorRejected, superseded), asked, "[close]"},
		"batch cancelled":               {dead(payroll.VendorRejected, cancelled), asked, "[close]"},
		"settled meanwhile":             {dead(payroll.VendorRejected, settled), asked, "[]"},
		"closed by a newer submission":  {dead(payroll.VendorRejected, closed), asked, "[]"},
		"unknown, can be asked":         {dead(payroll.OutcomeUnknown, quiet), asked, "[replay attest_not_paid attest_paid close]"},
		"unknown, blind":                {dead(payroll.OutcomeUnknown, quiet), blind, "[attest_not_paid attest_paid close]"},
		"unknown, not quiet, asked":     {dead(payroll.OutcomeUnknown, loud), asked, "[replay]"},
		"unknown, not quiet, blind":     {dead(payroll.OutcomeUnknown, loud), blind, "[]"},
		"unknown, vendor is gone":       {dead(payroll.OutcomeUnknown, quiet), forgotten, "[attest_paid close]"},
		"unknown, superseded":           {dead(payroll.OutcomeUnknown, quiet, superseded), blind, "[attest_not_paid attest_paid close]"},
		"rejected with an open attempt": {dead(payroll.VendorRejected, quiet), blind, "[attest_not_paid attest_paid close]"},
		"unclassified, nothing is open": {dead(payroll.Unclassified), blind, "[replay attest_paid close]"},
	} {
		if got := fmt.Sprint(allowedActions(c.letter, c.terms, noon)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestForeseen(t *testing.T) {
	with := func(l store.Letter, change func(*store.Letter)) store.Letter {
		l.Standing = nil // lists have none
		change(&l)
		return l
	}
	nothing := func(*store.Letter) {}
	late := func(l *store.Letter) { l.CutoffAt = noon }
	for name, c := range map[string]struct {
		letter store.Letter
		terms  terms
		cutoff time.Time
		want   apigen.ProblemCode
	}{
		"rejected":              {with(dead(payroll.VendorRejected), nothing), blind, time.Time{}, ""},
		"intake":                {with(dead(payroll.PoisonMessage), nothing), blind, time.Time{}, "not_replayable"},
		"vendor is gone":        {with(dead(payroll.VendorRejected), nothing), forgotten, time.Time{}, "not_replayable"},
		"closed":                {with(dead(payroll.VendorRejected), func(l *store.Letter) { l.Status = store.LetterClosed }), blind, time.Time{}, "not_replayable"},
		"cap":                   {with(dead(payroll.StatutoryCapBreach), nothing), terms{known: true, limits: payroll.Cap{Max: decimal.Zero}}, time.Time{}, "not_replayable"},
		"cap, raised meanwhile": {with(dead(payroll.StatutoryCapBreach), nothing), blind, time.Time{}, ""},
		"unknown, blind":        {with(dead(payroll.OutcomeUnknown), late), blind, time.Time{}, "attestation_required"},
		"unknown, asked":        {with(dead(payroll.OutcomeUnknown), late), asked, time.Time{}, ""},
		"too late":              {with(dead(payroll.CutoffPassed), late), blind, time.Time{}, "cutoff_passed"},
		"new cut-off":           {with(dead(payroll.CutoffPassed), late), blind, noon.Add(1), ""},
	} {
		if got := foreseen(c.letter, c.terms, c.cutoff, noon); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAPreviewReadsEveryPage(t *testing.T) {
	w := newWorld(t)
	unknown := w.ledger.letter
	unknown.Reason = payroll.PoisonMessage
	w.ledger.more = []store.Letter{unknown, unknown}
	rec := w.do(request("POST", "/v1/replays", "all", `{"preview":true,"filter":{"reason_code":"vendor_rejected"}}`))
	want := `{"matched":3,"refused":{"not_replayable":2},"replayable":1}` + "\n"
	if rec.Code != 200 || rec.Body.String() != want || w.ledger.created.Actor != "" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if f := w.ledger.filter; f.Status != store.LetterOpen || f.Tenant != tenant || f.Reason != payroll.VendorRejected {
		t.Errorf("filter %+v", f)
	}
}
