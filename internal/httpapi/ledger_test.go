package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/httpapi/apigen"
	bodies "payrollgateway/internal/intake"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
	"payrollgateway/internal/store/sqlite"
)

// realIntake and realLetters are the product's own, in the words of this package.
type realIntake struct{ *bodies.Service }

func (s realIntake) Submit(ctx context.Context, u Upload) (Submitted, error) {
	a, err := s.Service.Submit(ctx, bodies.Request{
		Tenant: u.Tenant, Actor: u.Actor, ContentType: u.ContentType, ContentEncoding: u.ContentEncoding, Query: u.Query, Strict: u.Strict, Body: u.Body, Now: u.Now,
	})
	var refused *bodies.Error
	if errors.As(err, &refused) {
		var faults []apigen.Fault
		for _, f := range refused.Faults {
			faults = append(faults, apigen.Fault{Pointer: f.Pointer, Parameter: f.Parameter, Ordinal: int(f.Ordinal), Detail: f.Detail})
		}
		r := RefuseFaults(apigen.ProblemCode(refused.Code), faults...)
		r.KnownVendors = refused.Known
		err = r
	}
	return Submitted{BatchKey: a.Batch.Key(), Unit: payroll.Unit{Tenant: a.Batch.Tenant, PayPeriod: a.Batch.PayPeriod, Vendor: a.Batch.Vendor}, Replayed: a.Replayed}, err
}

type realLetters struct{ *batch.Letters }

func (l realLetters) Replay(ctx context.Context, tn string, id uuid.UUID, o ReplayOrder) (Replayed, error) {
	_, err := l.Letters.Replay(ctx, tn, id, batch.ReplayOrder(o))
	if errors.Is(err, batch.ErrNotReplayable) {
		err = Refuse(apigen.ProblemCodeNotReplayable)
	}
	return ReplayTaken, err
}

func (l realLetters) Close(ctx context.Context, tn string, id uuid.UUID, o CloseOrder) error {
	err := l.Letters.Close(ctx, tn, id, batch.CloseOrder(o))
	if errors.Is(err, batch.ErrAlreadyClosed) {
		err = Refuse(apigen.ProblemCodeAlreadyClosed)
	}
	return err
}

// onLedger is a world on a real ledger, intake and guard; nobody works on it.
func onLedger(t *testing.T) *world {
	t.Helper()
	return newWorld(t, func(c *Config) {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		c.Reader, c.Operations, c.Gates = s, s, s
		c.Submitter = realIntake{&bodies.Service{
			Store: s, SpoolDir: t.TempDir(), Known: func() []string { return []string{"sandbox"} },
			Vendor: func(name string) (bodies.Vendor, bool) {
				return bodies.Vendor{Cap: payroll.DefaultCap(), Corrections: payroll.CorrectionsReplace}, name == "sandbox"
			},
		}}
		c.Letters = realLetters{&batch.Letters{
			Store: s, Now: c.Now, Wake: c.Resumer.Wake,
			Terms: func(string) (batch.Terms, bool) {
				return batch.Terms{Policy: retry.Policy{LookUp: true}, Cap: payroll.DefaultCap()}, true
			},
		}}
	})
}

const payRun = "employee_id,line_version,gross_pay,hours\r\n" +
	"0100001,1,47223.31,1830\r\n" +
	"0100002,1,119042.5,1831\r\n" +
	"0100003,1,9999999.00,1\r\n" + // above the vendor's maximum
	"0100004,1,12.345,1\r\n" + // more decimals than the currency
	"0100005,1,-5.00,1\r\n" // below the minimum

func payRunPost(body string) sample {
	return sample{"POST", "/v1/batches?vendor=sandbox&pay_period_id=2026-W28&run_attempt_group=1&currency=USD", "submit", body}
}

// session calls one after the other, and holds every answer against the document.
type session struct {
	*world
	*contract
	t *testing.T
}

func (s session) call(method, path, key, body string, status int, into any) *httptest.ResponseRecorder {
	s.t.Helper()
	r := request(method, path, key, body)
	if strings.HasPrefix(path, "/v1/batches?vendor") {
		r.Header.Set("Content-Type", "text/csv")
	}
	rec := s.do(r)
	if rec.Code != status {
		s.t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
	}
	s.check(s.t, r, rec)
	if into != nil {
		if err := json.Unmarshal(rec.Body.Bytes(), into); err != nil {
			s.t.Fatal(err)
		}
	}
	return rec
}

// TestASessionOnARealLedger walks the way of an integrator through a pay run.
func TestASessionOnARealLedger(t *testing.T) {
	s := session{onLedger(t), newContract(t), t}
	run := payRunPost(payRun)
	var b apigen.Batch
	first := s.call(run.method, run.path, run.key, run.body, 202, &b)
	if b.Total != 5 || b.Counts.Pending != 2 || b.Counts.DeadLettered != 3 || b.State != "queued" {
		t.Fatalf("%+v", b)
	}
	usd := b.Amounts["USD"]
	if usd.Open != "166265.81" || len(*b.Rejected) != b.RejectedTotal {
		t.Errorf("%+v, rejected %+v of %d", usd, *b.Rejected, b.RejectedTotal)
	}
	again := s.call(run.method, run.path, run.key, run.body, 200, nil)
	if again.Header().Get("ETag") != first.Header().Get("ETag") {
		t.Error("a repeated submission changed the batch")
	}
	p := problemOf(t, s.call(run.method, run.path, run.key, strings.Replace(payRun, "119042.5", "119042.6", 1), 409, nil).Body.Bytes())
	if p.Code != "batch_content_differs" || p.Ordinal != 2 || p.BatchKey != b.BatchKey {
		t.Errorf("%+v", p)
	}
	s.lines(b)
	s.refusedRows(b)
	location := first.Header().Get("Location")
	s.call("GET", location, "rival", "", 404, nil)
	var cancelled apigen.Batch
	rec := s.call("POST", location+"/cancel", "operate", "", 202, &cancelled)
	if cancelled.Counts.Cancelled != 2 || cancelled.State != "cancelled" || rec.Header().Get("ETag") == first.Header().Get("ETag") {
		t.Errorf("%+v", cancelled)
	}
	var token apigen.ResumeToken
	s.call("POST", "/v1/resume-tokens/"+b.ResumeToken.Token.String()+"/resume", "operate", "", 200, &token)
	if token.Counts != cancelled.Counts {
		t.Errorf("%+v", token)
	}
}

// lines reads a batch's lines page by page, one at a time, and one by its key.
func (s session) lines(b apigen.Batch) {
	s.t.Helper()
	seen, cursor := map[int]bool{}, ""
	for range 10 {
		var page apigen.LinePage
		s.call("GET", "/v1/batches/"+b.BatchKey+"/lines?state=pending&limit=1"+cursor, "read", "", 200, &page)
		for _, l := range page.Items {
			seen[l.Ordinal] = true
			var one apigen.Line
			s.call("GET", "/v1/lines/"+l.LineKey, "read", "", 200, &one)
			if one.GrossPay != l.GrossPay || one.Attempts == nil {
				s.t.Errorf("%+v, listed as %+v", one, l)
			}
			s.call("GET", "/v1/lines/"+l.LineKey, "rival", "", 404, nil)
		}
		if page.NextCursor == "" {
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
	if fmt.Sprint(seen) != "map[1:true 2:true]" {
		s.t.Errorf("pages show %v", seen)
	}
	var found apigen.LinePage
	s.call("GET", "/v1/lines?employee_id=0100002&pay_period_id=2026-W28", "read", "", 200, &found)
	if len(found.Items) != 1 || found.Items[0].GrossPay != "119042.50" {
		s.t.Errorf("%+v", found.Items)
	}
	s.call("GET", "/v1/batches?cursor=bm90aGluZw", "read", "", 400, nil)
}

// refusedRows looks at what was refused, and closes one.
func (s session) refusedRows(b apigen.Batch) {
	s.t.Helper()
	var page apigen.DeadLetterPage
	s.call("GET", "/v1/dead-letters?status=open&batch_key="+b.BatchKey, "read", "", 200, &page)
	if len(page.Items) != 3 {
		s.t.Fatalf("%+v", page.Items)
	}
	for _, item := range page.Items {
		path := "/v1/dead-letters/" + item.ID.String()
		var l apigen.DeadLetter
		s.call("GET", path, "read", "", 200, &l)
		if fmt.Sprint(*l.AllowedActions) != "[close]" || len(l.Payload) == 0 {
			s.t.Errorf("%+v", l)
		}
		s.call("GET", path, "rival", "", 404, nil)
		s.call("POST", path+"/replay", "operate", `{}`, 409, nil)
		s.call("POST", path+"/close", "operate", `{"reason":"written_off","note":"n"}`, 200, &l)
		if l.Status != "closed" || l.ClosedBy != "id-operate" || len(*l.AllowedActions) != 0 {
			s.t.Errorf("%+v", l)
		}
		s.call("POST", path+"/close", "operate", `{"reason":"written_off","note":"n"}`, 409, nil)
	}
	var preview apigen.ReplayPreview
	s.call("POST", "/v1/replays", "operate", `{"preview":true,"filter":{"vendor":"sandbox"}}`, 200, &preview)
	if preview.Matched != 0 {
		s.t.Errorf("%+v", preview)
	}
	rec := s.call("POST", "/v1/replays", "operate", `{"filter":{"reason_code":"vendor_rejected"},"max_per_second":5}`, 202, nil)
	s.call("GET", rec.Header().Get("Location"), "read", "", 200, nil)
	s.call("GET", rec.Header().Get("Location"), "rival", "", 404, nil)
	var replay apigen.Replay
	s.call("POST", rec.Header().Get("Location")+"/cancel", "operate", "", 202, &replay)
	if replay.State != "cancelled" || replay.MaxPerSecond != 5 || replay.StartedBy != "id-operate" {
		s.t.Errorf("%+v", replay)
	}
}

// TestRefusedRunsNeverRepeatAValue: the intake's refusals too.
func TestRefusedRunsNeverRepeatAValue(t *testing.T) {
	s := session{onLedger(t), newContract(t), t}
	envelope := `"vendor":"sandbox","pay_period_id":"2026-W28","run_attempt_group":"1","currency":"USD"`
	row := `{"employee_id":"1","line_version":1,"gross_pay":"1.00"}`
	for text, status := range map[string]int{
		`{` + envelope + `,"lines":[` + row + `]} "` + marker + `"`:                          400,
		`{` + envelope + `,"lines":["` + marker:                                              400,
		`{` + envelope + `,"pay_date":"` + marker + `","lines":[` + row + `]}`:               422,
		`{` + envelope + `,"cutoff_at":"` + marker + `","lines":[` + row + `]}`:              422,
		`{` + envelope + `,"callback_url":"` + marker + `","lines":[` + row + `]}`:           422,
		`{` + envelope + `,"x ` + marker + `":1,"lines":[` + row + `]}`:                      422,
		`{` + envelope + `,"control_totals":{"gross_pay":"47223.31"},"lines":[` + row + `]}`: 422,
		`{` + strings.Replace(envelope, "sandbox", marker, 1) + `,"lines":[` + row + `]}`:    422,
		`{` + strings.Replace(envelope, "USD", marker, 1) + `,"lines":[` + row + `]}`:        422,
		`{` + envelope + `,"lines":"` + marker + `"}`:                                        422,
	} {
		rec := s.do(request("POST", "/v1/batches", "submit", text))
		if strings.Contains(rec.Body.String(), "Jane") || strings.Contains(rec.Body.String(), "47223.31") {
			t.Errorf("%s: %s", text, rec.Body)
		}
		if rec.Code != status {
			t.Errorf("%s: %d %s, want %d", text, rec.Code, rec.Body, status)
		}
		s.check(t, request("POST", "/v1/batches", "submit", text), rec)
	}
	if strings.Contains(s.log.String(), "Jane") {
		t.Errorf("logged: %s", s.log.String())
	}
}
