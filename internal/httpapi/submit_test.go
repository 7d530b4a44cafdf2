package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func TestWhatReachesTheIntake(t *testing.T) {
	w := newWorld(t)
	r := request("POST", "/v1/batches?vendor=sandbox&pay_period_id=2026-W28&run_attempt_group=1&currency=USD&control_totals.lines=1&cutoff_at=2026-07-16T18:00:00-04:00", "submit", "a,b\n")
	r.Header.Set("Content-Type", "text/csv; charset=utf-8")
	r.Header.Set("Content-Encoding", "GZIP")
	r.Header["Prefer"] = []string{"respond-async", "handling=strict"}
	rec := w.do(r)
	u := w.intake.got
	if rec.Code != 202 || u.Tenant != tenant || u.Actor != "id-submit" || !u.Strict || u.ContentEncoding != "gzip" || u.ContentType != "text/csv; charset=utf-8" {
		t.Errorf("%d %+v", rec.Code, u)
	}
	if u.Query.Get("control_totals.lines") != "1" || len(u.Query) != 6 || string(w.intake.body) != "a,b\n" || !u.Now.Equal(w.now) {
		t.Errorf("query %v, body %q", u.Query, w.intake.body)
	}
	h := rec.Header()
	if h.Get("Location") != "/v1/batches/"+w.intake.batchKey || h.Get("ETag") != `W/"417"` || h.Get("Preference-Applied") != "handling=strict" || h.Get("Idempotent-Replayed") != "" {
		t.Errorf("%v", h)
	}
	if want := (payroll.Unit{Tenant: tenant, PayPeriod: period, Vendor: "sandbox"}); len(w.resumer.woken) != 1 || w.resumer.woken[0] != want {
		t.Errorf("woken %v", w.resumer.woken)
	}
}

func TestARepeatedSubmissionIsSaidToBeOne(t *testing.T) {
	w := newWorld(t)
	w.intake.replayed = true
	rec := w.do(samples()["submitBatch"].request())
	if rec.Code != 200 || rec.Header().Get("Idempotent-Replayed") != "true" || len(w.resumer.woken) != 0 {
		t.Errorf("%d %v woken %v", rec.Code, rec.Header(), w.resumer.woken)
	}
}

func TestMediaTypesOfABatch(t *testing.T) {
	for _, c := range []struct {
		name, value string
		status      int
	}{
		{"Content-Type", "application/x-ndjson", 202},
		{"Content-Type", "text/csv", 202},
		{"Content-Type", "application/json; charset=utf-8", 202},
		{"Content-Type", "text/csv; charset=windows-1252", 415},
		{"Content-Type", "application/octet-stream", 415},
		{"Content-Type", "*/*", 415},
		{"Content-Type", "", 415},
		{"Content-Encoding", "gzip", 202},
		{"Content-Encoding", "identity", 202},
		{"Content-Encoding", "br", 415},
		{"Content-Encoding", "gzip, gzip", 415},
	} {
		w := newWorld(t)
		r := samples()["submitBatch"].request()
		r.Header.Set(c.name, c.value)
		if rec := w.do(r); rec.Code != c.status || (c.status == 415) != (w.intake.got.Body == nil) {
			t.Errorf("%s %q: %d, read: %v", c.name, c.value, rec.Code, w.intake.got.Body != nil)
		}
	}
}

func TestOtherContentNamesTheBatchAndTheRow(t *testing.T) {
	w := newWorld(t)
	w.intake.err = &store.ContentDiffersError{Ordinal: 412}
	rec := w.do(samples()["submitBatch"].request())
	if p := problemOf(t, rec.Body.Bytes()); p.BatchKey != w.intake.batchKey || p.Ordinal != 412 {
		t.Errorf("%+v", p)
	}
	w.intake.err = &store.ContentDiffersError{}
	if p := problemOf(t, w.do(samples()["submitBatch"].request()).Body.Bytes()); p.Ordinal != 0 {
		t.Errorf("the envelope differs, and the answer names row %d", p.Ordinal)
	}
}

func TestStrictHandlingListsAThousandRows(t *testing.T) {
	w := newWorld(t)
	refused := &store.RefusedError{Total: 1500, Rejects: make([]payroll.Reject, 1500)}
	for i := range refused.Rejects {
		refused.Rejects[i] = payroll.Reject{Ordinal: int32(i + 1), Reason: payroll.DuplicateNaturalKey, Detail: "another row is the same payment"}
	}
	w.intake.err = refused
	p := problemOf(t, w.do(samples()["submitBatch"].request()).Body.Bytes())
	if len(p.Errors) != 1000 || p.ErrorsTotal != 1500 || p.Errors[999].Ordinal != 1000 || p.Errors[0].Code != apigen.ReasonCodeDuplicateNaturalKey {
		t.Errorf("%d of %d", len(p.Errors), p.ErrorsTotal)
	}
}

func TestAPlaceIsGivenBackAfterAnUpload(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Uploads = 1 })
	for range 3 {
		if rec := w.do(samples()["submitBatch"].request()); rec.Code != http.StatusAccepted {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	w.intake.err = store.ErrUnavailable
	w.do(samples()["submitBatch"].request())
	w.intake.err = nil
	if rec := w.do(samples()["submitBatch"].request()); rec.Code != http.StatusAccepted {
		t.Errorf("after a failure: %d %s", rec.Code, rec.Body)
	}
}

func TestAStopRefusesNewSubmissionsOnly(t *testing.T) {
	w := newWorld(t)
	w.draining.Store(true)
	if rec := w.do(samples()["submitBatch"].request()); codeOf(rec) != "draining" || w.intake.got.Body != nil {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := w.do(samples()["getBatch"].request()); rec.Code != 200 {
		t.Errorf("reading: %d", rec.Code)
	}
	if rec := w.do(request("GET", "/v1/batches/"+strings.TrimPrefix(w.intake.batchKey, "/"), "read", "")); rec.Code != 200 {
		t.Errorf("%d", rec.Code)
	}
}

// TestOrdersReachTheDesk: what a person decides arrives with the id of the key.
func TestOrdersReachTheDesk(t *testing.T) {
	w := newWorld(t)
	w.do(request("POST", "/v1/dead-letters/"+ofLetter+"/replay", "operate", `{"attest_not_paid":{"evidence":"ticket 1"},"cutoff_at":"2026-07-14T12:00:00+02:00","root_cause":"outage"}`))
	if o := w.letters.replay; o.Actor != "id-operate" || o.AttestNotPaid != "ticket 1" || o.RootCause != "outage" || o.CutoffAt.UTC().Hour() != 10 {
		t.Errorf("%+v", o)
	}
	w.do(request("POST", "/v1/dead-letters/"+ofLetter+"/close", "operate", `{"attest_paid":{"evidence":"ref 2"},"note":"found","root_cause":"outage"}`))
	if o := w.letters.close; o != (CloseOrder{Actor: "id-operate", AttestPaid: "ref 2", Note: "found", RootCause: "outage"}) {
		t.Errorf("%+v", o)
	}
	w.do(request("POST", "/v1/replays", "operate", `{"filter":{"vendor":"sandbox","failure_class":"unknown","source_stage":"resolve"},"max_per_second":5,"root_cause":"outage"}`))
	r := w.ledger.created
	if r.Actor != "id-operate" || r.RatePerSec != 5 || r.Matched != 11 || r.State != store.ReplayRunning || r.Filter.Class != payroll.UnknownClass || r.Filter.Stage != payroll.StageResolve {
		t.Errorf("%+v", r)
	}
	w.do(samples()["cancelBatch"].request())
	if len(w.resumer.woken) != 1 {
		t.Errorf("woken %v", w.resumer.woken)
	}
}
