package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"payrollgateway/api"
	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/resume"
	"payrollgateway/internal/store"
)

// sample is a call of an operation that succeeds in a new world.
type sample struct{ method, path, key, body string }

const (
	ofToken  = "018f4e1c-6b1f-7c3a-9d52-0b8e6f1a2c3d"
	ofLetter = "018f4e1d-22bb-7c3a-9d52-0b8e6f1a2c3d"
	ofReplay = "018f4e1e-33cc-7c3a-9d52-0b8e6f1a2c3d"
)

// samples has a call for every operation, by its id.
func samples() map[string]sample {
	l := newLedger()
	batch := "/v1/batches/" + l.token.Batch.Key()
	return map[string]sample{
		"submitBatch":      {"POST", "/v1/batches", "submit", `{"vendor":"sandbox","pay_period_id":"2026-W28","run_attempt_group":"1","currency":"USD","lines":[{"employee_id":"1","line_version":1,"gross_pay":"1.00"}]}`},
		"listBatches":      {"GET", "/v1/batches?limit=10", "read", ""},
		"getBatch":         {"GET", batch, "read", ""},
		"listBatchLines":   {"GET", batch + "/lines?state=retrying", "read", ""},
		"cancelBatch":      {"POST", batch + "/cancel", "operate", ""},
		"findLines":        {"GET", "/v1/lines?employee_id=0100001&pay_period_id=2026-W28", "read", ""},
		"getLine":          {"GET", "/v1/lines/" + l.letter.LineKey, "read", ""},
		"getResumeToken":   {"GET", "/v1/resume-tokens/" + ofToken, "read", ""},
		"resumeBatch":      {"POST", "/v1/resume-tokens/" + ofToken + "/resume", "operate", ""},
		"listDeadLetters":  {"GET", "/v1/dead-letters?status=open&vendor=sandbox", "read", ""},
		"getDeadLetter":    {"GET", "/v1/dead-letters/" + ofLetter, "read", ""},
		"replayDeadLetter": {"POST", "/v1/dead-letters/" + ofLetter + "/replay", "operate", `{}`},
		"closeDeadLetter":  {"POST", "/v1/dead-letters/" + ofLetter + "/close", "operate", `{"reason":"written_off","note":"n"}`},
		"startReplay":      {"POST", "/v1/replays", "operate", `{"filter":{"vendor":"sandbox"},"max_per_second":5}`},
		"getReplay":        {"GET", "/v1/replays/" + ofReplay, "read", ""},
		"cancelReplay":     {"POST", "/v1/replays/" + ofReplay + "/cancel", "operate", ""},
		"listVendors":      {"GET", "/v1/vendors", "read", ""},
		"getVendor":        {"GET", "/v1/vendors/sandbox", "admin", ""},
		"releaseVendor":    {"POST", "/v1/vendors/sandbox/release", "admin", `{"note":"new credentials"}`},
		"getHealth":        {"GET", "/healthz", "", ""},
		"getReadiness":     {"GET", "/readyz", "", ""},
		"getMetrics":       {"GET", "/metrics", "", ""},
		"getOpenAPI":       {"GET", "/openapi.yaml", "", ""},
		"getDocs":          {"GET", "/docs", "", ""},
	}
}

func (s sample) request() *http.Request { return request(s.method, s.path, s.key, s.body) }

// contract holds answers against the document, and remembers what it saw.
type contract struct {
	doc    *openapi3.T
	router routers.Router
	seen   map[string]bool
}

func newContract(t *testing.T) *contract {
	t.Helper()
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	// Answers may gain members, but not by accident.
	for _, ref := range doc.Components.Schemas {
		if s := ref.Value; s.Type.Is("object") && s.AdditionalProperties.Schema == nil {
			s.AdditionalProperties.Has = new(bool)
		}
	}
	return &contract{doc: doc, router: router, seen: map[string]bool{}}
}

// check fails unless the answer is one that the document has for the operation.
func (c *contract) check(t *testing.T, r *http.Request, rec *httptest.ResponseRecorder) {
	t.Helper()
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 rec.Code, Header: rec.Header(), Body: io.NopCloser(bytes.NewReader(rec.Body.Bytes())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		t.Errorf("%s %d: %v", route.Operation.OperationID, rec.Code, err)
	}
	at := fmt.Sprintf("%s %d", route.Operation.OperationID, rec.Code)
	c.seen[at] = true
	if code := codeOf(rec); code != "" {
		c.seen[at+" "+code] = true
	}
}

func codeOf(rec *httptest.ResponseRecorder) string {
	if rec.Header().Get("Content-Type") != "application/problem+json" {
		return ""
	}
	_, rest, _ := strings.Cut(rec.Body.String(), `"code":"`)
	code, _, _ := strings.Cut(rest, `"`)
	return code
}

// missing lists documented answers that were not produced.
func (c *contract) missing() []string {
	var missing []string
	want := func(what string) {
		if !c.seen[what] {
			missing = append(missing, what)
		}
	}
	for _, item := range c.doc.Paths.Map() {
		for _, op := range item.Operations() {
			for status, response := range op.Responses.Map() {
				at := op.OperationID + " " + status
				want(at)
				if problem := response.Value.Content["application/problem+json"]; problem != nil {
					for code := range problem.Examples {
						want(at + " " + code)
					}
				}
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// outcome is a call in a prepared world and what it must be answered.
type outcome struct {
	op     string
	status int
	code   string
	world  func(*world)
	call   func(*http.Request)
}

// successes beyond those of samples.
var successes = []outcome{
	{op: "submitBatch", status: 200, world: func(w *world) { w.intake.replayed = true }},
	{op: "getBatch", status: 304, call: header("If-None-Match", `W/"1", W/"417"`)},
	{op: "resumeBatch", status: 200, world: func(w *world) { w.ledger.token.CompletedAt = w.now }},
	{op: "replayDeadLetter", status: 200, world: func(w *world) { w.letters.result = ReplaySettled }},
	{op: "replayDeadLetter", status: 200, world: func(w *world) { w.letters.result = ReplayResolved }},
	{op: "replayDeadLetter", status: 202, world: func(w *world) { w.letters.result = ReplayLookUp }},
	{op: "startReplay", status: 200, call: body(`{"filter":{"vendor":"sandbox"},"preview":true}`)},
}

// refusals of single operations; everyOperation has those that many share.
var refusals = []outcome{
	{op: "submitBatch", status: 400, code: "invalid_body", world: submitFails(Refuse(apigen.ProblemCodeInvalidBody))},
	{op: "submitBatch", status: 400, code: "duplicate_name", world: submitFails(Refuse(apigen.ProblemCodeDuplicateName))},
	{op: "submitBatch", status: 408, code: "body_too_slow", world: submitFails(os.ErrDeadlineExceeded)},
	{op: "submitBatch", status: 409, code: "batch_content_differs", world: submitFails(&store.ContentDiffersError{Ordinal: 412})},
	{op: "submitBatch", status: 413, code: "body_too_large", world: submitFails(Refuse(apigen.ProblemCodeBodyTooLarge))},
	{op: "submitBatch", status: 415, code: "unsupported_media_type", call: header("Content-Type", "text/plain")},
	{op: "submitBatch", status: 422, code: "invalid_envelope", world: submitFails(Refuse(apigen.ProblemCodeInvalidEnvelope))},
	{op: "submitBatch", status: 422, code: "unknown_vendor", world: submitFails(Refuse(apigen.ProblemCodeUnknownVendor))},
	{op: "submitBatch", status: 422, code: "empty_batch", world: submitFails(Refuse(apigen.ProblemCodeEmptyBatch))},
	{op: "submitBatch", status: 422, code: "control_totals_mismatch", world: submitFails(Refuse(apigen.ProblemCodeControlTotalsMismatch))},
	{op: "submitBatch", status: 422, code: "strict_refused", world: submitFails(&store.RefusedError{
		Total: 2, Rejects: []payroll.Reject{{Ordinal: 17, Reason: payroll.SchemaValidationFailed, Detail: "gross_pay: is missing"}},
	})},
	{op: "submitBatch", status: 500, code: "internal", world: submitFails(errors.New("disk full"))},
	{op: "submitBatch", status: 503, code: "store_unavailable", world: submitFails(store.ErrUnavailable)},
	{op: "submitBatch", status: 503, code: "draining", world: func(w *world) { w.draining.Store(true) }},
	{op: "resumeBatch", status: 409, code: "owner_alive", world: resumeFails(&resume.OwnerAliveError{Owner: "gateway-1", Age: 1400 * time.Millisecond})},
	{op: "resumeBatch", status: 409, code: "held", world: func(w *world) {
		w.ledger.token.HoldReason = "suspended"
		w.resumer.err = &resume.OwnerAliveError{Owner: "gateway-1"}
	}},
	{op: "resumeBatch", status: 503, code: "draining", world: resumeFails(resume.ErrStopping)},
	{op: "replayDeadLetter", status: 409, code: "attestation_required", world: letterFails(Refuse(apigen.ProblemCodeAttestationRequired))},
	{op: "replayDeadLetter", status: 409, code: "not_quiet_yet", world: letterFails(notQuiet())},
	{op: "replayDeadLetter", status: 409, code: "superseded", world: letterFails(Refuse(apigen.ProblemCodeSuperseded))},
	{op: "replayDeadLetter", status: 409, code: "cutoff_passed", world: letterFails(Refuse(apigen.ProblemCodeCutoffPassed))},
	{op: "replayDeadLetter", status: 409, code: "not_replayable", world: letterFails(Refuse(apigen.ProblemCodeNotReplayable))},
	{op: "closeDeadLetter", status: 409, code: "already_closed", world: letterFails(Refuse(apigen.ProblemCodeAlreadyClosed))},
	{op: "closeDeadLetter", status: 409, code: "not_quiet_yet", world: letterFails(notQuiet())},
	{op: "closeDeadLetter", status: 409, code: "version_open", world: letterFails(Refuse(apigen.ProblemCodeVersionOpen))},
	{op: "releaseVendor", status: 409, code: "not_suspended"},
	{op: "getReadiness", status: 503, code: "store_unavailable", world: func(w *world) { w.unready = []string{"the store cannot take a write"} }},
	{op: "getReadiness", status: 503, code: "draining", world: func(w *world) { w.draining.Store(true) }},
}

func notQuiet() *Refusal {
	r := Refuse(apigen.ProblemCodeNotQuietYet)
	r.NotQuietUntil = time.Date(2026, 7, 13, 11, 0, 0, 0, time.UTC)
	return r
}

func submitFails(err error) func(*world) { return func(w *world) { w.intake.err = err } }
func resumeFails(err error) func(*world) { return func(w *world) { w.resumer.err = err } }
func letterFails(err error) func(*world) { return func(w *world) { w.letters.err = err } }
func suspend(w *world)                   { w.gate.Report(ratelimit.Suspend("credentials")) }

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func body(text string) func(*http.Request) {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

// stalled is a body that never comes to its end.
type stalled struct{}

func (stalled) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }
func (stalled) Close() error             { return nil }

// everyOperation makes the refusals that operations share by their nature.
func everyOperation(o *operation) []outcome {
	var all []outcome
	add := func(status int, code string, world func(*world), call func(*http.Request)) {
		all = append(all, outcome{op: o.id, status: status, code: code, world: world, call: call})
	}
	if o.keyless() {
		return nil
	}
	add(401, "unauthorized", nil, func(r *http.Request) { r.Header.Del("Authorization") })
	add(403, "forbidden", nil, header("Authorization", "Bearer key-none"))
	add(400, "invalid_parameter", nil, func(r *http.Request) { r.URL.RawQuery += "&nonsense=1" })
	if o.id != "submitBatch" {
		add(500, "internal", func(w *world) { suspend(w); w.ledger.err = errors.New("out of luck") }, nil)
		add(503, "store_unavailable", func(w *world) { suspend(w); w.ledger.err = fmt.Errorf("read: %w", store.ErrUnavailable) }, nil)
	}
	if strings.Contains(o.pattern, "{") {
		add(404, "not_found", nil, elsewhere)
	}
	if o.body != nil {
		add(400, "invalid_body", nil, body(`{"note": "cut o`))
		add(400, "duplicate_name", nil, body(`{"note": "a", "note": "b"}`))
		add(408, "body_too_slow", nil, func(r *http.Request) { r.Body = stalled{} })
		add(413, "body_too_large", nil, body(`{"note":"`+strings.Repeat("x", maxSmallBody)+`"}`))
		add(415, "unsupported_media_type", nil, header("Content-Type", "text/csv"))
		add(422, "invalid_request", nil, body(`{"unheard_of": 1}`))
	}
	return all
}

// elsewhere makes the path name something that does not exist.
func elsewhere(r *http.Request) {
	r.URL.Path = strings.NewReplacer(
		newLedger().token.Batch.Key(), "batch_2026-W28_00000000000000000000", newLedger().letter.LineKey, "pl_staffco_2026-W28_000000000000000000000000",
		ofToken, uuidOfNothing, ofLetter, uuidOfNothing, ofReplay, uuidOfNothing, "sandbox", "acme",
	).Replace(r.URL.Path)
}

const uuidOfNothing = "00000000-0000-7000-8000-000000000000"

// TestEveryDocumentedAnswer produces every answer of every operation, with every
// code, and holds it against the document.
func TestEveryDocumentedAnswer(t *testing.T) {
	c := newContract(t)
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(successes, refusals)
	for _, key := range slices.Sorted(maps.Keys(d.operations)) {
		o := d.operations[key]
		status := 200
		if o.spec.Responses.Status(202) != nil {
			status = 202
		}
		first := outcome{op: o.id, status: status}
		if o.id == "releaseVendor" {
			first.world = suspend
		}
		all = append(append(all, first), everyOperation(o)...)
	}
	for _, want := range all {
		t.Run(fmt.Sprintf("%s %d %s", want.op, want.status, want.code), func(t *testing.T) {
			w := newWorld(t)
			if want.world != nil {
				want.world(w)
			}
			r := samples()[want.op].request()
			if want.call != nil {
				want.call(r)
			}
			rec := w.do(r)
			if rec.Code != want.status || codeOf(rec) != want.code {
				t.Errorf("answered %d %s, want %d %s: %s", rec.Code, codeOf(rec), want.status, want.code, rec.Body)
			}
			c.check(t, r, rec)
		})
	}
	t.Run("submitBatch 503 busy", func(t *testing.T) { busy(t, c) })
	for _, m := range c.missing() {
		t.Errorf("documented, but never produced here: %s", m)
	}
}

// busy: one upload at a time, and another one comes.
func busy(t *testing.T, c *contract) {
	w := newWorld(t, func(c *Config) { c.Uploads = 1 })
	w.intake.begun, w.intake.hold = make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.do(samples()["submitBatch"].request())
	}()
	<-w.intake.begun
	r := samples()["submitBatch"].request()
	rec := w.do(r)
	close(w.intake.hold)
	<-done
	if codeOf(rec) != "busy" {
		t.Errorf("answered %d %s", rec.Code, rec.Body)
	}
	c.check(t, r, rec)
}

// TestSamplesAreRequestsOfTheDocument keeps the samples honest.
func TestSamplesAreRequestsOfTheDocument(t *testing.T) {
	c := newContract(t)
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	for id, s := range samples() {
		r := s.request()
		route, params, err := c.router.FindRoute(r)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		}}
		if err := openapi3filter.ValidateRequest(context.Background(), input); err != nil || route.Operation.OperationID != id {
			t.Errorf("%s: is %s: %v", id, route.Operation.OperationID, err)
		}
	}
	if len(samples()) != len(d.operations) {
		t.Errorf("%d samples of %d operations", len(samples()), len(d.operations))
	}
}
