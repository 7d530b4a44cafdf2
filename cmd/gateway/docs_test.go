package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/telemetry"
)

func operations(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSettingsAreDocumented: each setting has its row with flag and variable.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	text := operations(t)
	for _, s := range settings {
		row := "| `" + s.key + "` | `--" + flagName(s.key) + "` | `GATEWAY_" + strings.ToUpper(s.key) + "` |"
		if !strings.Contains(text, row) {
			t.Errorf("docs/operations.md has no row %s", row)
		}
	}
}

// TestMetricsAreDocumented: the page names the metrics that are there, and no
// others.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(func(context.Context) (telemetry.Ledger, error) {
		return telemetry.Ledger{
			Lines:       map[string]int64{payroll.Pending.String(): 1},
			OpenLetters: []telemetry.LetterCount{{Class: "permanent", Stage: "intake", Reason: "poison_message", N: 1}},
		}, nil
	})
	m.VendorRequest("v", "submit", 200)
	m.RateWait("v", time.Second)
	m.DeadLetter("permanent", "intake", "poison_message")
	m.Gate("v", "open")
	m.Alert("x")
	m.HTTP("/", "GET", 200, time.Second)
	scrape := httptest.NewRecorder()
	m.Handler().ServeHTTP(scrape, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	there := names(regexp.MustCompile(`(?m)^# TYPE (gateway_\w+)`), scrape.Body.String())
	told := names(regexp.MustCompile("(?m)^\\| `(gateway_\\w+)`"), operations(t))
	if !slices.Equal(there, told) {
		t.Errorf("there are %v\nthe page has %v", there, told)
	}
}

func names(pattern *regexp.Regexp, text string) (list []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return slices.Compact(list)
}
