package payroll_test

import (
	"fmt"
	"strings"
	"testing"

	"payrollgateway/internal/payroll"
)

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a", "42", "2024Q1", "2026-W28", "acme.us", "_", ".", "-", "A_b.C-9", strings.Repeat("x", 64)} {
		if err := payroll.CheckIdentifier("tenant", s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", " ", "a b", "a:b", "a/b", "a\n", "\n", "ä", "a\x00", "a,b", `a"b`, strings.Repeat("x", 65), "a\u200b"} {
		err := payroll.CheckIdentifier("pay_period_id", s)
		if err == nil || !strings.HasPrefix(err.Error(), "pay_period_id: ") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// TestEmployeeIDsAreKeptByteForByte guards bilig#28: 00123 became 123.
func TestEmployeeIDsAreKeptByteForByte(t *testing.T) {
	t.Parallel()
	for i := range 0x100 {
		b := byte(i)
		inside := payroll.ValidEmployeeID("a" + string([]byte{b}) + "a")
		if want := b >= 0x20 && b <= 0x7e; inside != want {
			t.Errorf("byte %#x inside: %v, want %v", b, inside, want)
		}
	}
	for s, want := range map[string]bool{
		"007": true, "7": true, "a b": true, strings.Repeat("e", 64): true, `"`: true, `\`: true,
		"": false, " ": false, " a": false, "a ": false, strings.Repeat("e", 65): false, "a\t": false, "é": false,
	} {
		if got := payroll.ValidEmployeeID(s); got != want {
			t.Errorf("ValidEmployeeID(%q) = %v, want %v", s, got, want)
		}
	}
	seven := payroll.Natural{Tenant: "t", PayPeriod: "p", Employee: "7", Version: 1}
	zeros := seven
	zeros.Employee = "007"
	if seven.Key() == zeros.Key() {
		t.Error("007 is 7")
	}
}

// TestNamesAreReadBack walks every closed set: each name is unique, read back,
// and in the spelling that other programs rely on.
func TestNamesAreReadBack(t *testing.T) {
	t.Parallel()
	set(t, payroll.States, payroll.ParseState, "pending in_flight retrying unknown settled dead_lettered cancelled superseded")
	set(t, payroll.Reasons, payroll.ParseReason, "schema_validation_failed poison_message duplicate_natural_key statutory_cap_breach "+
		"vendor_rejected retry_budget_exhausted cutoff_passed outcome_unknown correction_refused recovery_required unclassified")
	set(t, []payroll.SettledAs{1, 2, 3, 4, 5}, payroll.ParseSettledAs, "created duplicate looked_up earlier_batch attested")
	set(t, []payroll.FailureClass{1, 2, 3}, payroll.ParseFailureClass, "transient permanent unknown")
	set(t, []payroll.Stage{1, 2, 3, 4}, payroll.ParseStage, "intake send response resolve")
	set(t, payroll.Verdicts, nil, "settled retry rejected unknown returned absent not_sent mismatch")
	set(t, []payroll.AttemptKind{1, 2, 3}, nil, "submit look_up poll")
	set(t, payroll.Events, nil, "sent paid refused lost untouched given_up withdrawn replaced replayed reopened")
}

func set[T interface {
	~int16
	fmt.Stringer
}](t *testing.T, values []T, parse func(string) (T, bool), names string) {
	t.Helper()
	want := strings.Fields(names)
	if len(values) != len(want) {
		t.Fatalf("%d values, %d names: %s", len(values), len(want), names)
	}
	for i, v := range values {
		if v != T(i+1) {
			t.Errorf("%s is stored as %d, not %d: stored numbers never change", want[i], v, i+1)
		}
		if v.String() != want[i] {
			t.Errorf("value %d is called %q, want %q", v, v, want[i])
		}
		if parse == nil {
			continue
		}
		if got, ok := parse(want[i]); !ok || got != v {
			t.Errorf("%q is read as %d, %v", want[i], got, ok)
		}
	}
	if parse == nil {
		return
	}
	for _, bad := range []string{"", "Settled", "invalid(0)", "no_such"} {
		if _, ok := parse(bad); ok {
			t.Errorf("%q is a name", bad)
		}
	}
}

func TestReasonsSayWhatTryingAgainIsWorth(t *testing.T) {
	t.Parallel()
	tests := map[payroll.Reason]struct {
		class      payroll.FailureClass
		replayable bool
	}{
		payroll.SchemaValidationFailed: {payroll.Permanent, false},
		payroll.PoisonMessage:          {payroll.Permanent, false},
		payroll.DuplicateNaturalKey:    {payroll.Permanent, false},
		payroll.StatutoryCapBreach:     {payroll.Permanent, true},
		payroll.VendorRejected:         {payroll.Permanent, true},
		payroll.RetryBudgetExhausted:   {payroll.Transient, true},
		payroll.CutoffPassed:           {payroll.Transient, true},
		payroll.OutcomeUnknown:         {payroll.UnknownClass, true},
		payroll.CorrectionRefused:      {payroll.Permanent, false},
		payroll.RecoveryRequired:       {payroll.Permanent, false},
		payroll.Unclassified:           {payroll.UnknownClass, true},
	}
	for _, r := range payroll.Reasons {
		if want := tests[r]; r.Class() != want.class || r.Replayable() != want.replayable {
			t.Errorf("%s: %s, replayable %v", r, r.Class(), r.Replayable())
		}
	}
}

func TestParseCloseReason(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"written_off", "paid_outside", "corrected", "resubmitted"} {
		if r, ok := payroll.ParseCloseReason(name); !ok || string(r) != name {
			t.Errorf("%q is read as %q, %v", name, r, ok)
		}
	}
	for _, name := range []string{"", "paid", "Corrected"} {
		if _, ok := payroll.ParseCloseReason(name); ok {
			t.Errorf("%q closes a dead letter", name)
		}
	}
}

func TestRowDigestTellsKeyFromHash(t *testing.T) {
	t.Parallel()
	row := payroll.RowDigest(payroll.Digest{1}, payroll.Hash{2})
	if row == payroll.RowDigest(payroll.Digest{2}, payroll.Hash{1}) || row == payroll.RowDigest(payroll.Digest{1}, payroll.Hash{3}) {
		t.Error("two rows share a digest")
	}
	if row != payroll.RowDigest(payroll.Digest{1}, payroll.Hash{2}) {
		t.Error("one row has two digests")
	}
}
