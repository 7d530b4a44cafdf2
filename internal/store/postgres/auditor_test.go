package postgres_test

import (
	"strings"
	"testing"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/pgtest"
)

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func TestAuditorsReadOneRowPerPayment(t *testing.T) {
	t.Parallel()
	at := pgtest.URL(t)
	s := openAt(t, at)
	sub := crew("2026-03", "run-1", 5)
	k := accept(t, s, sub)
	o, w := chunk(k, claim(t, s, sub, "worker").Epoch, []int32{1, 2, 3})
	if err := s.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, at)
	first := line(sub.Batch, 1, 1)
	key := payroll.LineKey("acme", "2026-03", first.Key)
	got := query[string](t, conn, `SELECT concat_ws('|', tenant_id, pay_period_id, employee_id, response_status, response_body ->> 'reference', state, attempt_count)
		FROM idempotency_records WHERE idempotency_key = $1`, key)
	if want := "acme|2026-03|E-000001|201|p-000000001|succeeded|1"; got != want {
		t.Errorf("record = %s, want %s", got, want)
	}
	if got := query[string](t, conn, "SELECT string_agg(state || ' ' || n, ', ' ORDER BY state) FROM (SELECT state, count(*) AS n FROM idempotency_records GROUP BY state) r"); got != "pending 2, succeeded 3" {
		t.Errorf("records by state: %s", got)
	}
	got = query[string](t, conn, `SELECT concat_ws('|', batch_key, pay_period_id, total_lines, jsonb_array_length(settled_keys), settled_keys ->> 0, last_cursor, state)
		FROM batch_resume_tokens WHERE token = $1`, k.Token)
	if want := sub.Batch.Key() + "|2026-03|5|3|" + key + "|3|queued"; got != want {
		t.Errorf("token = %s, want %s", got, want)
	}
}
