package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/httpapi"
	"payrollgateway/internal/intake"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store/sqlite"
	"payrollgateway/internal/telemetry"
)

// TestABatchThatEndsAtIntakeRaisesItsAlert: no worker ever sees it, and nobody
// would hear of a file of which every row is wrong.
func TestABatchThatEndsAtIntakeRaisesItsAlert(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "gateway.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	logs := &syncBuffer{}
	known := func(string) (intake.Vendor, bool) {
		return intake.Vendor{Cap: payroll.DefaultCap(), Corrections: payroll.CorrectionsRefuse}, true
	}
	submit := submitter{
		&intake.Service{Store: s, Vendor: known}, s, observer{telemetry.NewMetrics(ledger(s, time.Now)), telemetry.NewLogger(logs)},
	}
	alerts := func(group, pay string) int {
		t.Helper()
		before := strings.Count(logs.String(), `"alert":"dead_letters"`)
		_, err := submit.Submit(t.Context(), httpapi.Upload{
			Tenant: "acme", Actor: "key", ContentType: "application/json", Now: time.Now(), Body: strings.NewReader(
				`{"vendor":"v","pay_period_id":"P","run_attempt_group":"` + group + `","currency":"USD","lines":[` +
					`{"employee_id":"E1","line_version":1,"gross_pay":"none"},{"employee_id":"E` + group + `","line_version":1,"gross_pay":"` + pay + `"}]}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(logs.String(), `"alert":"dead_letters"`) - before
	}
	if n := alerts("2", "-1"); n != 1 {
		t.Errorf("%d alerts for a batch without a line that can be sent: %s", n, logs)
	}
	if n := alerts("2", "-1"); n != 0 {
		t.Errorf("%d alerts for the same content again", n)
	}
	if n := alerts("3", "1"); n != 0 {
		t.Errorf("%d alerts for a batch that a worker will end", n)
	}
}
