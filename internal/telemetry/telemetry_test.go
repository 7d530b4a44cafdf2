package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What must never be in a log is not there, wherever it was put.
func TestLogRedacts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := NewLogger(&out).With(slog.String("employee_id", "E-1")).WithGroup("g")
	log.Error("line pl_acme_2026-W28_bf9fe0ccd8117d7141682b56.2 failed", "gross_pay", "123.45",
		slog.Group("inner", slog.String("secret", "s3cret"), slog.String("note", "Bearer abcdefgh12345")),
		"error", errors.New("dial postgres://user:pass@127.0.0.1/db: pl_acme_2026-W28_bf9fe0ccd8117d7141682b56"), "batch", "batch_1_2")
	for _, leak := range []string{"E-1", "bf9fe0ccd8117d7141682b56", "123.45", "s3cret", "abcdefgh12345", "user:pass"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("the log carries %q: %s", leak, out.String())
		}
	}
	if !strings.Contains(out.String(), "batch_1_2") {
		t.Errorf("the log lost the batch key: %s", out.String())
	}
}

func scrape(m *Metrics) string {
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return rec.Body.String()
}

func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	m := NewMetrics(func(context.Context) (Ledger, error) {
		return Ledger{
			Lines: map[string]int64{"pending": 7}, RetryDepth: 3, OldestUnsettled: 90 * time.Second,
			OpenLetters: []LetterCount{{"permanent", "intake", "poison_message", 2}},
		}, nil
	})
	m.VendorRequest("acme", "submit", 503)
	m.RateWait("acme", time.Millisecond)
	m.DeadLetter("transient", "response", "retry_budget_exhausted")
	m.Gate("acme", "throttled")
	m.Alert("duplicate_natural_key")
	m.HTTP("/v1/batches", "POST", 202, time.Millisecond)
	body := scrape(m)
	for _, want := range []string{
		`gateway_vendor_requests_total{kind="submit",status="503",vendor="acme"} 1`,
		`gateway_gate_state{state="throttled",vendor="acme"} 1`,
		`gateway_gate_state{state="open",vendor="acme"} 0`,
		`gateway_alerts_total{name="duplicate_natural_key"} 1`,
		`gateway_dead_letters_total{class="transient",reason="retry_budget_exhausted",stage="response"} 1`,
		`gateway_lines{state="pending"} 7`,
		`gateway_dead_letters_open{class="permanent",reason="poison_message",stage="intake"} 2`,
		`gateway_retry_queue_depth 3`,
		`gateway_oldest_unsettled_seconds 90`,
		`gateway_rate_wait_seconds_count{vendor="acme"} 1`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("missing %s", want)
		}
	}
}

// A store that cannot be read must not turn into old figures.
func TestLedgerMetricsAreAbsentWithoutAStore(t *testing.T) {
	t.Parallel()
	m := NewMetrics(func(context.Context) (Ledger, error) { return Ledger{}, errors.New("down") })
	if body := scrape(m); strings.Contains(body, "gateway_lines") {
		t.Errorf("metrics of an unreadable ledger: %s", body)
	}
}
