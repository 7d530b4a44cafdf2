package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestParametersThatAreRefused(t *testing.T) {
	w := newWorld(t)
	for target, want := range map[string][]string{
		"/v1/batches?limit=0":                            {"limit: must be at least 1"},
		"/v1/batches?limit=1001":                         {"limit: must be at most 1000"},
		"/v1/batches?limit=ten":                          {"limit: must be an integer"},
		"/v1/batches?limit=1.5":                          {"limit: must be an integer"},
		"/v1/batches?limit=":                             {"limit: must be an integer"},
		"/v1/batches?limit=5&limit=5":                    {"limit: is given twice"},
		"/v1/batches?cursor=":                            {"cursor: must not be empty"},
		"/v1/batches?cursor=" + strings.Repeat("x", 513): {"cursor: may have at most 512 characters"},
		"/v1/batches?cursor=foreign":                     {"cursor: must be the next_cursor of a page of this list"},
		"/v1/batches?Limit=5&%3Cb%3E=1":                  {": is not known here", "Limit: is not known here"},
		"/v1/batches?a;b":                                {": the query must be URL-encoded"},
		"/v1/batches?limit=%zz":                          {": the query must be URL-encoded"},
		"/v1/dead-letters?status=opened":                 {"status: must be one of open, replayed, closed"},
		"/v1/lines?pay_period_id=x":                      {"employee_id: is missing"},
		"/v1/lines?pay_period_id=a+b&employee_id=%20": {
			"employee_id: must match ^[!-~]([ -~]{0,62}[!-~])?$", "pay_period_id: must match ^[A-Za-z0-9._-]{1,64}$",
		},
	} {
		rec := w.do(request("GET", target, "all", ""))
		got := faultsOf(problemOf(t, rec.Body.Bytes()))
		if rec.Code != 400 || codeOf(rec) != "invalid_parameter" || !slices.Equal(got, want) {
			t.Errorf("%s: %d %q, want %q", target, rec.Code, got, want)
		}
	}
}

func TestANameThatNothingCanHaveIsNotFound(t *testing.T) {
	w := newWorld(t)
	for _, target := range []string{
		"/v1/batches/nobatch", "/v1/batches/nobatch?nonsense=1", "/v1/batches/nobatch/lines", "/v1/lines/4711", "/v1/resume-tokens/4711",
		"/v1/dead-letters/4711", "/v1/replays/4711", "/v1/vendors/a%20b", "/v1/dead-letters/" + strings.ToUpper(ofLetter),
	} {
		if rec := w.do(request("GET", target, "all", "")); rec.Code != 404 || codeOf(rec) != "not_found" {
			t.Errorf("%s: %d %s", target, rec.Code, rec.Body)
		}
	}
}

func TestPagesReachTheStore(t *testing.T) {
	w := newWorld(t)
	w.do(request("GET", "/v1/batches", "all", ""))
	if w.ledger.page.Limit != 100 || w.ledger.page.After != "" {
		t.Errorf("default %+v", w.ledger.page)
	}
	w.do(request("GET", "/v1/batches?limit=1000&cursor=abc", "all", ""))
	if w.ledger.page.Limit != 1000 || w.ledger.page.After != "abc" {
		t.Errorf("%+v", w.ledger.page)
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	const release, closeIt, replayIt, bulk = "/v1/vendors/sandbox/release", "/v1/dead-letters/" + ofLetter + "/close", "/v1/dead-letters/" + ofLetter + "/replay", "/v1/replays"
	for _, c := range []struct {
		target, body, code string
		faults             []string
	}{
		{release, ``, "invalid_body", nil},
		{release, `null`, "invalid_body", nil},
		{release, `[]`, "invalid_body", nil},
		{release, `{"note":"a"} {}`, "invalid_body", nil},
		{release, `{"note":"a"}x`, "invalid_body", nil},
		{release, `{"note":"a",}`, "invalid_body", nil},
		{release, `{"note":` + strings.Repeat("[", 20_000), "invalid_body", nil},
		{release, "{\"note\":\"\xff\"}", "invalid_body", nil},
		{release, `{"note":"\ud800"}`, "invalid_body", nil},
		{release, `{"note":NaN}`, "invalid_body", nil},
		{release, `{"note":"a","note":"b"}`, "duplicate_name", []string{"/note: occurs twice in its object"}},
		{release, `{"note":"a","Note":"b"}`, "duplicate_name", []string{"/Note: occurs twice in its object, in two spellings"}},
		{release, `{"<b>":"a","<B>":"b"}`, "duplicate_name", []string{": occurs twice in its object, in two spellings"}},
		{release, `{}`, "invalid_request", []string{"/note: is missing"}},
		{release, `{"note":""}`, "invalid_request", []string{"/note: must not be empty"}},
		{release, `{"note":5}`, "invalid_request", []string{"/note: must be a string"}},
		{release, `{"note":null}`, "invalid_request", []string{"/note: must be a string"}},
		{release, `{"note":"` + strings.Repeat("x", 1001) + `"}`, "invalid_request", []string{"/note: may have at most 1000 characters"}},
		{release, `{"note":"a","connection":"b c"}`, "invalid_request", []string{"/connection: must match ^[A-Za-z0-9._-]{1,64}$"}},
		{release, `{"note":"a","why":1,"<b>":2}`, "invalid_request", []string{"/why: is not known here", ": has a member that is not known here"}},
		{release, `{"Note":"a"}`, "invalid_request", []string{"/Note: is not known here", "/note: is missing"}},
		{release, `{"note":"a","connection":"second"}`, "invalid_request", []string{"/connection: must be default, the only one of this vendor"}},
		{closeIt, `{"note":"a"}`, "invalid_request", []string{": must have exactly one of reason and attest_paid"}},
		{closeIt, `{"note":"a","reason":"written_off","attest_paid":{"evidence":"e"}}`, "invalid_request", []string{": must have exactly one of reason and attest_paid"}},
		{closeIt, `{"note":"a","reason":"lost"}`, "invalid_request", []string{"/reason: must be one of written_off, paid_outside, corrected, resubmitted"}},
		{closeIt, `{"note":"a","attest_paid":{"evidence":"e","Evidence":"f"}}`, "duplicate_name", []string{"/attest_paid/Evidence: occurs twice in its object, in two spellings"}},
		{closeIt, `{"note":"a","attest_paid":{}}`, "invalid_request", []string{"/attest_paid/evidence: is missing"}},
		{replayIt, `{"cutoff_at":"tomorrow"}`, "invalid_request", []string{"/cutoff_at: must be a date-time as in RFC 3339"}},
		{replayIt, `{"cutoff_at":"2026-07-13T10:00:00"}`, "invalid_request", []string{"/cutoff_at: must be a date-time as in RFC 3339"}},
		{replayIt, `{"cutoff_at":"2026-07-13T10:00:00Z"}`, "invalid_request", []string{"/cutoff_at: must lie in the future"}},
		{replayIt, `{"attest_not_paid":{"evidence":""}}`, "invalid_request", []string{"/attest_not_paid/evidence: must not be empty"}},
		{bulk, `{"filter":{}}`, "invalid_request", []string{"/filter: must have at least 1 members"}},
		{bulk, `{"filter":{"status":"open"}}`, "invalid_request", []string{"/filter/status: is not known here"}},
		{bulk, `{"filter":{"vendor":"sandbox"},"max_per_second":0}`, "invalid_request", []string{"/max_per_second: must be at least 1"}},
		{bulk, `{"filter":{"vendor":"sandbox"},"max_per_second":1e1}`, "invalid_request", nil},
		{bulk, `{"filter":{"vendor":"sandbox"},"cutoff_at":"2026-07-13T09:00:00Z"}`, "invalid_request", []string{"/cutoff_at: must lie in the future"}},
	} {
		w := newWorld(t)
		suspend(w)
		key := "all"
		if c.target == release {
			key = "admin"
		}
		r := request("POST", c.target, key, c.body)
		r.Header.Set("Content-Type", "application/json")
		rec := w.do(r)
		got := faultsOf(problemOf(t, rec.Body.Bytes()))
		slices.Sort(c.faults)
		if codeOf(rec) != c.code || !slices.Equal(got, c.faults) {
			t.Errorf("%s %.60s: %d %s %q, want %s %q", c.target, c.body, rec.Code, codeOf(rec), got, c.code, c.faults)
		}
		if len(w.ledger.gates) > 0 || w.letters.close.Actor != "" || w.letters.replay.Actor != "" || w.ledger.created.Actor != "" {
			t.Errorf("%s %.60s was carried out", c.target, c.body)
		}
	}
}

func TestMediaTypesOfSmallBodies(t *testing.T) {
	for _, c := range []struct {
		name, value string
		status      int
	}{
		{"Content-Type", "application/json", 200},
		{"Content-Type", "Application/JSON; charset=UTF-8", 200},
		{"Content-Type", "application/json; charset=latin1", 415},
		{"Content-Type", "application/jsonp", 415},
		{"Content-Type", "", 415},
		{"Content-Encoding", "identity", 200},
		{"Content-Encoding", "gzip", 415},
	} {
		r := samples()["closeDeadLetter"].request()
		r.Header.Set(c.name, c.value)
		if rec := newWorld(t).do(r); rec.Code != c.status {
			t.Errorf("%s %q: %d", c.name, c.value, rec.Code)
		}
	}
}

func TestRepeatedPreferencesAreOneList(t *testing.T) {
	r := samples()["getBatch"].request()
	r.Header["Prefer"] = []string{"respond-async", "wait=0"}
	r.Header["If-None-Match"] = []string{`W/"1"`, `W/"417"`}
	if rec := newWorld(t).do(r); rec.Code != http.StatusNotModified {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
