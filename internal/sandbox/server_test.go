package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWellBehavedVendorPaysEveryLineOnce(t *testing.T) {
	v := start(t, Config{})
	r := v.mustPost(bodyOf(pay{emp: "007"}, pay{emp: "7"}))
	if r.status != 200 || !slices.Equal(r.statuses(), []int{201, 201}) || r.items[0].Reference == r.items[1].Reference {
		t.Fatalf("answer %d %s", r.status, r.body)
	}
	again := v.mustPost(bodyOf(pay{emp: "007"}))
	if again.status != 200 || again.items[0].Status != 200 || again.items[0].Reference != r.items[0].Reference {
		t.Fatalf("same key again: %d %s", again.status, again.body)
	}
	if v.effects("007") != 1 || v.effects("7") != 1 {
		t.Fatal("not exactly one effect each")
	}
}

func TestDuplicateStatusIsConfigurable(t *testing.T) {
	for status, whole := range map[int]int{0: 200, 208: 200, 409: 207} {
		v := start(t, Config{DuplicateStatus: status})
		v.mustPost(bodyOf(pay{emp: "1"}))
		r := v.mustPost(bodyOf(pay{emp: "1"}))
		if r.status != whole || r.items[0].Status != max(200, status) {
			t.Errorf("%d: %d %s", status, r.status, r.body)
		}
	}
}

func TestSameKeyOtherPayloadIsRefused(t *testing.T) {
	v := start(t, Config{})
	v.mustPost(bodyOf(pay{emp: "1"}))
	r := v.mustPost(bodyOf(pay{emp: "1", amount: "1000.01"}))
	if r.status != 207 || r.items[0].Status != 422 || !strings.HasPrefix(r.items[0].Detail, "key_reused") {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if v.effects("1") != 1 {
		t.Fatal("the other payload was paid")
	}
}

func TestPayloadHashIgnoresTheOrderOfMembers(t *testing.T) {
	v := start(t, Config{})
	body := `{"lines":[{"currency":"USD","gross_pay":"1.00","line_version":1,"employee_id":"1","key":"k"}],"pay_period_id":"p","batch_key":"b"}`
	v.mustPost(body)
	r := v.mustPost(`{"batch_key":"other","pay_period_id":"p","lines":[{"key":"k","employee_id":"1","line_version":1,"gross_pay":"1.00","currency":"USD"}]}`)
	if r.items[0].Status != 200 {
		t.Fatal(r.body)
	}
}

func TestKeysAreForgotten(t *testing.T) {
	v := start(t, Config{KeyRetention: 2 * time.Second})
	v.mustPost(bodyOf(pay{emp: "1"}))
	v.clock.advance(2*time.Second - 1)
	v.mustPost(bodyOf(pay{emp: "1"}))
	if v.effects("1") != 1 {
		t.Fatal("forgotten too early")
	}
	v.clock.advance(1)
	v.mustPost(bodyOf(pay{emp: "1"}))
	if v.effects("1") != 2 {
		t.Fatal("not forgotten")
	}
}

func TestIgnoredKeysPayAgain(t *testing.T) {
	v := start(t, Config{Keys: KeysIgnored})
	v.mustPost(bodyOf(pay{emp: "1"}, pay{emp: "1"}))
	effects := v.read().Effects
	if len(effects) != 2 || effects[1].Kind != EffectCreated {
		t.Fatalf("%+v", effects)
	}
}

func TestStoredRefusalsAnswerForEver(t *testing.T) {
	v := start(t, Config{Stores: StoresAll})
	v.mustPost(bodyOf(pay{emp: "sandbox.503x1"}))
	v.restart()
	if r := v.mustPost(bodyOf(pay{emp: "sandbox.503x1"})); r.items[0].Status != 503 {
		t.Fatal(r.body)
	}
	next := pay{emp: "sandbox.503x1"}
	next.key = next.lineKey() + ".2"
	if r := v.mustPost(bodyOf(next)); r.items[0].Status != 201 {
		t.Fatalf("next generation: %s", r.body)
	}
}

func TestRequestKeyReplaysByteForByte(t *testing.T) {
	v := start(t, Config{KeyScope: ScopeRequest, KeyHeader: "X-Key"})
	body := bodyOf(pay{emp: "1"}, pay{emp: "2"})
	first := v.mustPost(body, "X-Key", "rq_1")
	v.restart()
	again := v.mustPost(body, "X-Key", "rq_1")
	if again.status != 200 || again.body != first.body {
		t.Fatalf("first %s\nagain %s", first.body, again.body)
	}
	if r := v.mustPost(bodyOf(pay{emp: "1"}), "X-Key", "rq_1"); r.status != 422 {
		t.Fatalf("other body under the key: %d", r.status)
	}
	if r := v.mustPost(body); r.status != 400 {
		t.Fatalf("no key: %d", r.status)
	}
	v.mustPost(bodyOf(pay{emp: "1"}), "X-Key", "rq_2")
	if v.effects("1") != 2 || v.effects("2") != 1 {
		t.Fatal("another request key must pay again, the same one must not")
	}
}

func TestMixedAnswersAreRememberedOnlyWhereSaid(t *testing.T) {
	body := bodyOf(pay{emp: "1"}, pay{emp: "sandbox.422"})
	for _, c := range []struct {
		cfg     Config
		effects int
	}{
		{Config{}, 2},
		{Config{RememberMixed: true}, 1},
		{Config{Stores: StoresAll}, 1},
	} {
		c.cfg.KeyScope = ScopeRequest
		v := start(t, c.cfg)
		for range 2 {
			if r := v.mustPost(body, "Idempotency-Key", "rq_1"); r.status != 207 {
				t.Fatal(r.body)
			}
		}
		if got := v.effects("1"); got != c.effects {
			t.Errorf("%+v: %d effects", c.cfg, got)
		}
	}
}

func TestAtomicVendorAppliesNothing(t *testing.T) {
	v := start(t, Config{Atomic: true})
	for bad, status := range map[string]int{"sandbox.422": 400, "sandbox.503": 503, "sandbox.429": 429, "sandbox.mistyped": 400} {
		r := v.mustPost(bodyOf(pay{emp: "1"}, pay{emp: bad}, pay{emp: "2"}))
		if r.status != status || r.items != nil {
			t.Errorf("%s: %d %s", bad, r.status, r.body)
		}
	}
	if n := len(v.read().Effects); n != 0 {
		t.Fatalf("%d effects", n)
	}
	if r := v.mustPost(bodyOf(pay{emp: "1"}, pay{emp: "2"})); r.status != 200 {
		t.Fatal(r.body)
	}
}

func TestCorrectionsReplaceTheHeldAmount(t *testing.T) {
	v := start(t, Config{})
	v.mustPost(bodyOf(pay{emp: "1", amount: "1000.00"}))
	v.mustPost(bodyOf(pay{emp: "1", version: 3, amount: "1100.00"}))
	if r := v.mustPost(bodyOf(pay{emp: "1", version: 2})); r.items[0].Status != 422 {
		t.Fatalf("stale version: %s", r.body)
	}
	v.mustPost(bodyOf(pay{emp: "1", ref: "bonus", amount: "5.00"}))
	effects := v.read().Effects
	kinds := []EffectKind{effects[0].Kind, effects[1].Kind, effects[2].Kind}
	if !slices.Equal(kinds, []EffectKind{EffectCreated, EffectReplaced, EffectCreated}) {
		t.Fatal(kinds)
	}
	if got := v.figures().Cents["USD"]; got != "110500" {
		t.Fatalf("held %s", got)
	}
}

func TestAppendingVendorPaysEveryVersion(t *testing.T) {
	v := start(t, Config{Corrections: CorrectionsAppend})
	v.mustPost(bodyOf(pay{emp: "1", amount: "1000.00"}))
	v.mustPost(bodyOf(pay{emp: "1", version: 2, amount: "1100.00"}))
	if got := v.figures().Cents["USD"]; got != "210000" {
		t.Fatalf("held %s", got)
	}
}

func TestLineRefusals(t *testing.T) {
	v := start(t, Config{MinAmount: "0.01", MaxAmount: "250000.00"})
	for name, line := range map[string]string{
		"below":        pay{emp: "1", amount: "0.00"}.json(),
		"above":        pay{emp: "2", amount: "250000.01"}.json(),
		"one digit":    pay{emp: "3", amount: "119042.5"}.json(),
		"exponent":     pay{emp: "4", amount: "1e9"}.json(),
		"number":       `{"key":"a","employee_id":"5","line_version":1,"gross_pay":1.00,"currency":"USD"}`,
		"no employee":  `{"key":"b","line_version":1,"gross_pay":"1.00","currency":"USD"}`,
		"version 0":    `{"key":"c","employee_id":"5","line_version":0,"gross_pay":"1.00","currency":"USD"}`,
		"version 1.5":  `{"key":"d","employee_id":"5","line_version":1.5,"gross_pay":"1.00","currency":"USD"}`,
		"ref a number": `{"key":"e","employee_id":"5","line_ref":1,"line_version":1,"gross_pay":"1.00","currency":"USD"}`,
		"currency":     `{"key":"f","employee_id":"5","line_version":1,"gross_pay":"1.00","currency":"usd"}`,
		"yen cents":    `{"key":"g","employee_id":"5","line_version":1,"gross_pay":"1.00","currency":"JPY"}`,
	} {
		r := v.mustPost(`{"batch_key":"b","pay_period_id":"2026-07","lines":[` + line + `]}`)
		if r.status != 207 || len(r.items) != 1 || r.items[0].Status != 422 || r.items[0].Detail == "" {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if n := len(v.read().Effects); n != 0 {
		t.Fatalf("%d effects", n)
	}
}

func TestBodiesThatAreNone(t *testing.T) {
	v := start(t, Config{})
	for _, body := range []string{
		"", "{", "[]", `{"batch_key":"b","pay_period_id":"p","lines":[]}`, `{"batch_key":"b","lines":[{"key":"k"}]}`,
		`{"batch_key":"b","pay_period_id":"p","lines":[{"employee_id":"1"}]}`, bodyOf(pay{emp: "1"}) + "{}",
		`{"batch_key":"b","pay_period_id":"p","lines":[null]}`,
	} {
		if r := v.mustPost(body); r.status != 400 {
			t.Errorf("%q: %d", body, r.status)
		}
	}
	if got := v.figures(); got.Refused[RefusedSyntax] != 8 || got.Effects != 0 {
		t.Fatalf("%+v", got)
	}
}

func TestTooManyLines(t *testing.T) {
	v := start(t, Config{MaxLines: 2})
	if r := v.mustPost(bodyOf(pay{emp: "1"}, pay{emp: "2"}, pay{emp: "3"})); r.status != 413 {
		t.Fatal(r.status)
	}
	if r := v.mustPost(bodyOf(pay{emp: "1"}, pay{emp: "2"})); r.status != 200 {
		t.Fatal(r.status)
	}
}

func TestHugeBodyIsNotRead(t *testing.T) {
	v := start(t, Config{})
	if r := v.mustPost(strings.Repeat(" ", maxBody+1)); r.status != 413 {
		t.Fatal(r.status)
	}
}

func TestTokenGuardsEveryDoor(t *testing.T) {
	v := start(t, Config{Token: "hush"})
	if r := v.mustPost(bodyOf(pay{emp: "1"})); r.status != 401 {
		t.Fatal(r.status)
	}
	if r := v.mustPost(bodyOf(pay{emp: "1"}), "Authorization", "Bearer hush!"); r.status != 401 {
		t.Fatal(r.status)
	}
	for _, path := range []string{"/v1/payroll/lines/k", summaryPath} {
		if r := v.get(path); r.status != 401 {
			t.Errorf("%s: %d", path, r.status)
		}
	}
	if r := v.mustPost(bodyOf(pay{emp: "1"}), "Authorization", "Bearer hush"); r.status != 200 {
		t.Fatal(r.status)
	}
	if v.read().Requests[0].Refused != RefusedToken {
		t.Fatal("not journaled")
	}
}

func TestRateLimitHoldsInEveryWindow(t *testing.T) {
	v := start(t, Config{RateLimit: RateLimit{2, time.Second}})
	send := func() reply { return v.mustPost(bodyOf(pay{emp: "1"})) }
	send()
	v.clock.advance(600 * time.Millisecond)
	send()
	r := send()
	if r.status != 429 || r.header.Get("Retry-After") != "1" {
		t.Fatalf("%d %v", r.status, r.header)
	}
	v.clock.advance(400 * time.Millisecond)
	if r := send(); r.status != 200 {
		t.Fatalf("the oldest has left the window: %d", r.status)
	}
	if r := send(); r.status != 429 {
		t.Fatalf("a window that straddles: %d", r.status)
	}
	if got := v.figures().Refused[RefusedRate]; got != 2 {
		t.Fatalf("%d violations", got)
	}
}

func TestLookUp(t *testing.T) {
	v := start(t, Config{LookUpLag: 3 * time.Second})
	p := pay{emp: "1", version: 2, amount: "12.30"}
	path := "/v1/payroll/lines/" + p.lineKey()
	absent := v.get(path)
	if absent.status != 404 || !strings.Contains(absent.body, `"not_found"`) || !strings.Contains(absent.body, p.lineKey()) {
		t.Fatal(absent.body)
	}
	v.mustPost(bodyOf(p))
	if r := v.get(path); r.status != 404 {
		t.Fatalf("visible before the lag: %d", r.status)
	}
	v.clock.advance(3 * time.Second)
	var found struct {
		Key, EmployeeID, GrossPay string
		Status, LineVersion       int
	}
	text := strings.NewReplacer("employee_id", "EmployeeID", "gross_pay", "GrossPay", "line_version", "LineVersion").Replace(v.get(path).body)
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(found) != fmt.Sprint(struct {
		K, E, G string
		S, V    int
	}{p.lineKey(), "1", "12.30", 201, 2}) {
		t.Fatalf("%+v", found)
	}
}

func TestLookUpOutlivesTheKey(t *testing.T) {
	v := start(t, Config{KeyRetention: time.Second})
	v.mustPost(bodyOf(pay{emp: "1"}))
	v.clock.advance(time.Hour)
	if r := v.get("/v1/payroll/lines/" + pay{emp: "1"}.lineKey()); r.status != 200 {
		t.Fatal(r.status)
	}
}

func TestWithoutLookUpTheRouteIsNotThere(t *testing.T) {
	v := start(t, Config{NoLookUp: true})
	r := v.get("/v1/payroll/lines/k")
	if r.status != 404 || strings.HasPrefix(r.body, "{") || v.read().Requests[0].Refused != RefusedRoute {
		t.Fatalf("%d %s", r.status, r.body)
	}
}

func TestLookUpFaults(t *testing.T) {
	v := start(t, Config{LookUpFaults: mustRates(t, "503=1"), MaxFaultsPerLine: 2})
	v.mustPost(bodyOf(pay{emp: "1"}))
	for _, want := range []int{503, 503, 200} {
		if r := v.get("/v1/payroll/lines/" + pay{emp: "1"}.lineKey()); r.status != want {
			t.Fatalf("%d, want %d", r.status, want)
		}
	}
}

func TestShuffledItemsAreAllThere(t *testing.T) {
	v := start(t, Config{ShuffleItems: true, Seed: 3})
	var lines []pay
	for i := range 40 {
		lines = append(lines, pay{emp: fmt.Sprint(i)})
	}
	r := v.mustPost(bodyOf(lines...))
	inOrder, keys := 0, map[string]bool{}
	for i, item := range r.items {
		keys[item.Key] = true
		if item.Key == lines[i].lineKey() {
			inOrder++
		}
	}
	if len(keys) != 40 || inOrder > 20 {
		t.Fatalf("%d keys, %d in place", len(keys), inOrder)
	}
}

func TestSummary(t *testing.T) {
	v := start(t, Config{Keys: KeysIgnored})
	v.mustPost(bodyOf(pay{emp: "1", amount: "0.10"}, pay{emp: "1", amount: "0.10"}, pay{emp: "2", amount: "0.20"}))
	v.get("/v1/payroll/lines/k")
	want := Summary{
		Requests: 2, Submissions: 1, LookUps: 1, Refused: map[Refusal]int{}, Faults: map[string]int{}, MaxInFlight: 1,
		Effects: 3, Payments: 2, PaidTwice: 1, Cents: map[string]string{"USD": "40"},
	}
	if got := v.figures(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	v.restart()
	if got := v.figures(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("after a restart %+v", got)
	}
	if n := len(v.read().Requests); n != 2 {
		t.Fatalf("the summary itself is journaled: %d", n)
	}
}

func (v *vendor) figures() Summary {
	v.t.Helper()
	var s Summary
	if err := json.Unmarshal([]byte(v.get(summaryPath).body), &s); err != nil {
		v.t.Fatal(err)
	}
	return s
}

func TestOtherMethodsAndPathsAreJournaled(t *testing.T) {
	v := start(t, Config{})
	request, _ := http.NewRequest(http.MethodPut, v.web.URL+"/v1/payroll/lines", strings.NewReader("x"))
	if r, err := v.send(request); err != nil || r.status != 404 {
		t.Fatal(r, err)
	}
	if r := v.get("/elsewhere"); r.status != 404 {
		t.Fatal(r.status)
	}
	requests := v.read().Requests
	if len(requests) != 2 || requests[0].Method != http.MethodPut || requests[1].Path != "/elsewhere" {
		t.Fatalf("%+v", requests)
	}
}
