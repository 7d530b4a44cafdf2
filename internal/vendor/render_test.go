package vendor

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"testing"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

func TestTheStandardBody(t *testing.T) {
	t.Parallel()
	c := Chunk{BatchKey: "batch_2026-01_00", PayPeriod: "2026-01", Lines: []ChunkLine{
		{Key: "pl_t1_2026-01_aa", Line: payroll.Line{EmployeeID: `a "b" \ <c>&`, Version: 2, Ref: "bonus", Amount: 183050, Currency: "USD", Details: payroll.Details{
			payroll.TextDetail("dept", "Küche <1>\t"), payroll.LiteralDetail("hours", "37.50"), payroll.LiteralDetail("salaried", "true"),
		}}},
		{Key: "pl_t1_2026-01_bb.2", Line: payroll.Line{EmployeeID: "007", Version: math.MaxInt32, Amount: -5, Currency: "BHD"}},
		{Key: "pl_t1_2026-01_cc", Line: payroll.Line{EmployeeID: "8", Version: 1, Amount: 1200, Currency: "JPY"}},
	}}
	const want = `{"batch_key":"batch_2026-01_00","pay_period_id":"2026-01","lines":[` +
		`{"key":"pl_t1_2026-01_aa","employee_id":"a \"b\" \\ <c>&","line_version":2,"line_ref":"bonus","gross_pay":"1830.50","currency":"USD",` +
		`"dept":"Küche <1>\t","hours":37.50,"salaried":true},` +
		`{"key":"pl_t1_2026-01_bb.2","employee_id":"007","line_version":2147483647,"gross_pay":"-0.005","currency":"BHD"},` +
		`{"key":"pl_t1_2026-01_cc","employee_id":"8","line_version":1,"gross_pay":"1200","currency":"JPY"}]}`
	r, err := keyed(t).Render(c)
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Body) != want {
		t.Errorf("got  %s\nwant %s", r.Body, want)
	}
	if !json.Valid(r.Body) {
		t.Error("it is not JSON")
	}
	if r.Method != http.MethodPost || r.URL != "https://api.acme.example/v1/payroll/lines" || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
}

func TestAmountsAreSpelledAsTheNounSpellsThem(t *testing.T) {
	t.Parallel()
	for _, currency := range []string{"JPY", "USD", "BHD", "CLF"} {
		digits, _ := payroll.MinorDigits(currency)
		for _, m := range []payroll.Minor{
			0, 1, -1, 9, 10, 99, 100, -100, 101, 999, 1000, 9999, 10000, 10001, 183050, 25000000,
			math.MaxInt64, math.MinInt64, math.MinInt64 + 1,
		} {
			if got, want := string(appendAmount(nil, m, int(digits))), m.Format(currency); got != want {
				t.Errorf("%d %s: %s, want %s", m, currency, got, want)
			}
		}
	}
}

func TestTheSameChunkIsTheSameBytes(t *testing.T) {
	t.Parallel()
	p := keyed(t)
	first, err := p.Render(chunkOf(250))
	if err != nil {
		t.Fatal(err)
	}
	again, _ := p.Render(chunkOf(250))
	if !bytes.Equal(first.Body, again.Body) || first.SHA256 != again.SHA256 {
		t.Error("a request was rendered differently the second time")
	}
	for name, change := range map[string]func(*Chunk, *Profile){
		"amount": func(c *Chunk, _ *Profile) { c.Lines[249].Line.Amount++ },
		"key":    func(c *Chunk, _ *Profile) { c.Lines[0].Key += ".2" },
		"order":  func(c *Chunk, _ *Profile) { c.Lines[0], c.Lines[1] = c.Lines[1], c.Lines[0] },
		"path":   func(_ *Chunk, p *Profile) { p.Submit.Path = "/v2" },
	} {
		c, q := chunkOf(250), *p
		change(&c, &q)
		if r, _ := q.Render(c); r.SHA256 == first.SHA256 {
			t.Errorf("another %s, the same hash", name)
		}
	}
}

func TestARequestKeyTravelsInItsHeader(t *testing.T) {
	t.Parallel()
	p := profileWith(retry.KeyRequest, func(p *Profile) { p.Idempotency.Header = "X-Request-Key" })
	c := chunkOf(3)
	derived, err := p.Render(c)
	if err != nil {
		t.Fatal(err)
	}
	want := payroll.RequestKey([]string{c.Lines[0].Key, c.Lines[1].Key, c.Lines[2].Key})
	if got := derived.Header.Get("X-Request-Key"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.RequestKey = "rq_given"
	given, _ := p.Render(c)
	if given.Header.Get("X-Request-Key") != "rq_given" || given.SHA256 == derived.SHA256 {
		t.Error("the key that was given is not used")
	}
}

func TestALookUpAsksForOneKey(t *testing.T) {
	t.Parallel()
	r, err := keyed(t).RenderLookUp("pl_t1_2026-01_aa/../x?y")
	if err != nil {
		t.Fatal(err)
	}
	if r.Method != http.MethodGet || r.URL != "https://api.acme.example/v1/payroll/lines/pl_t1_2026-01_aa%2F..%2Fx%3Fy" || r.Body != nil {
		t.Errorf("%s %s %q", r.Method, r.URL, r.Body)
	}
}

func TestWhatCannotBeRendered(t *testing.T) {
	t.Parallel()
	p := keyed(t)
	if _, err := p.Render(Chunk{}); !errors.Is(err, ErrNoLines) {
		t.Errorf("no lines: %v", err)
	}
	c := chunkOf(2)
	c.Lines[1].Line.Currency = "XXX"
	if _, err := p.Render(c); !errors.Is(err, ErrUnknownCurrency) {
		t.Errorf("no currency: %v", err)
	}
	if _, err := p.RenderLookUp(""); !errors.Is(err, ErrNoLines) {
		t.Errorf("no key: %v", err)
	}
}
