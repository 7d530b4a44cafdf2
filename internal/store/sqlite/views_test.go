package sqlite

import (
	"slices"
	"testing"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// TestAuditorsFindTheLedgerUnderItsOldNames guards the names and meanings of
// the columns that auditors were given with the integration guide.
func TestAuditorsFindTheLedgerUnderItsOldNames(t *testing.T) {
	t.Parallel()
	s := openAt(t, newPath(t))
	id := submit(t, s, "run", 3)
	tenure := claimed(t, s)
	if err := s.Open(t.Context(), first(id, tenure.Epoch, 2)); err != nil {
		t.Fatal(err)
	}
	_, err := s.Apply(t.Context(), store.Work{
		BatchID: id, Epoch: tenure.Epoch, AttemptNo: 1, Now: noon, Ordinals: []int32{2}, Cursor: 2,
		Clean: []store.SettledLine{{Ordinal: 1, As: payroll.Created, Status: 201, Reference: "pay-1"}},
		Decide: func(all []payroll.Standing) []payroll.Change {
			return []payroll.Change{{
				Ordinal: 2, Event: payroll.Given, Note: &payroll.Note{Verdict: payroll.VerdictRejected, Status: 422},
				Death: &payroll.Death{Reason: payroll.VendorRejected, Stage: payroll.StageResponse, Status: 422, Error: "refused"},
			}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := texts(t, s, `SELECT tenant_id || ' ' || pay_period_id || ' ' || employee_id || ' ' || coalesce(response_status, '-') || ' ' ||
		coalesce(response_body, '-') || ' ' || state || ' ' || attempt_count || ' ' || created_at FROM idempotency_records ORDER BY employee_id`)
	want := []string{
		`acme 2026-11 run-1 201 {"reference":"pay-1"} succeeded 1 2026-11-30T12:00:00.000Z`,
		`acme 2026-11 run-2 422 - failed 1 2026-11-30T12:00:00.000Z`,
		`acme 2026-11 run-3 - - pending 0 2026-11-30T12:00:00.000Z`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("idempotency_records:\n%q\nwant\n%q", got, want)
	}
	line := lineOf("run", 1)
	key := payroll.LineKey("acme", "2026-11", line.Key)
	if got := texts(t, s, "SELECT idempotency_key FROM idempotency_records WHERE employee_id = 'run-1' AND length(request_hash) = 64"); !slices.Equal(got, []string{key}) {
		t.Errorf("keys %q, want %q", got, key)
	}
	b := run("run", 3).Batch
	k, err := s.Batch(t.Context(), "acme", b.Key())
	if err != nil {
		t.Fatal(err)
	}
	got = texts(t, s, `SELECT token || ' ' || batch_key || ' ' || pay_period_id || ' ' || total_lines || ' ' || settled_keys || ' ' || last_cursor
		|| ' ' || state || ' ' || created_at || ' ' || updated_at FROM batch_resume_tokens`)
	if want := k.Token.String() + " " + b.Key() + ` 2026-11 3 ["` + key + `"] 2 in_progress 2026-11-30T12:00:00.000Z 2026-11-30T12:00:00.000Z`; !slices.Equal(got, []string{want}) {
		t.Errorf("batch_resume_tokens:\n%q\nwant\n%q", got, want)
	}
}
