package vendor

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/shopspring/decimal"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	got := parsed(t, minimal)
	want := &Profile{
		Name: "acme", Revision: 1, BaseURL: "https://api.acme.example",
		Submit: Submit{
			Method: "POST", Path: "/v1/payroll/lines", Timeout: 30 * time.Second, Settle: time.Minute,
			Concurrency: 4, Chunk: Chunking{100, 250},
		},
		Idempotency: Idempotency{Scope: retry.KeyNone, Stores: StoresSuccess, Conflict: retry.ConflictDone},
		Corrections: payroll.CorrectionsRefuse,
		Rate:        []Rate{{Requests: 10, Per: time.Second, Headroom: 0.2}},
		Limits:      payroll.DefaultCap(),
		Retry:       Retry{Budgets: retry.DefaultBudgets(), MaxWait: time.Hour},
		LookUpLag:   30 * time.Second,
		Text:        []byte(minimal), SHA256: sha256.Sum256([]byte(minimal)),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if p := got.Policy(); p.HonoursKeys() || p.MayResend(payroll.Trouble{FirstSentAt: received}, received) {
		t.Error("a vendor of which nothing is known gets ambiguous lines again")
	}
}

const everyKey = `# every key of a profile
name: acme
revision: 7
base_url: "https://api.acme.example/payroll/"
auth:
  - {type: bearer, token: "${file:/run/secrets/acme}"}
  - {type: header, name: Ocp-Apim-Subscription-Key, value: "${env:ACME_KEY}"}
submit:
  method: PUT
  path: /v1/lines
  timeout: 20s
  settle: 90s
  concurrency: 2
  chunk: {min: 10, max: 40}
  atomic: true
idempotency:
  scope: request
  header: X-Request-Key
  retention: 48h
  stores: all
  partial: true
  conflict: in_progress
corrections: replace
rate:
  - {requests: 3, per: 1s, headroom: 0.5}
  - {requests: 200, per: 1m, headroom: 0}
limits: {min_amount: "-100.00", max_amount: "9999.99"}
retry:
  network: {max_retries: 1, base: 1s, cap: 2s}
  vendor_error: {max_retries: 0}
  rate_limited: {cap: 10m}
  not_yet: {base: 1h}
  look_up: {max_retries: 3}
  max_wait: 30m
lookup: standard
lookup_lag: 2m
not_applied: [503, 500]
request: ""
response: {}
`

func TestEveryKey(t *testing.T) {
	t.Parallel()
	p, err := Parse("acme.yaml", []byte(everyKey), knownSecrets{"${file:/run/secrets/acme}": "a", "${env:ACME_KEY}": "b"})
	if err != nil {
		t.Fatal(err)
	}
	budgets := retry.DefaultBudgets()
	budgets[payroll.ClassNetwork] = retry.Budget{MaxRetries: 1, Base: time.Second, Cap: 2 * time.Second}
	budgets[payroll.ClassVendorError].MaxRetries = 0
	budgets[payroll.ClassRateLimited].Cap = 10 * time.Minute
	budgets[payroll.ClassNotYet].Base = time.Hour
	budgets[payroll.ClassLookUp].MaxRetries = 3
	want := retry.Policy{
		Budgets: budgets, Timeout: 20 * time.Second, Settle: 90 * time.Second, Keys: retry.KeyRequest, Retention: 48 * time.Hour,
		StoresAll: true, Partial: true, Atomic: true, Conflict: retry.ConflictInProgress, LookUp: true, LookUpLag: 2 * time.Minute,
	}
	if got := p.Policy(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if least, most := p.ChunkBounds(); least != 10 || most != 40 {
		t.Errorf("chunks of %d to %d", least, most)
	}
	rest := []any{p.Revision, p.BaseURL, p.Submit.Method, p.Idempotency.Header, p.Corrections, p.Rate, p.Retry.MaxWait, p.NotApplied, len(p.Auth), p.Submit.Concurrency}
	if got := strings.TrimSpace(fmt.Sprintln(rest...)); got != "7 https://api.acme.example/payroll PUT X-Request-Key replace [{3 1s 0.5} {200 1m0s 0}] 30m0s [503 500] 2 2" {
		t.Error(got)
	}
	if !p.Limits.Min.Equal(decimal.RequireFromString("-100")) || !p.Limits.Max.Equal(decimal.RequireFromString("9999.99")) {
		t.Errorf("%v", p.Limits)
	}
}

func TestChunkDefaults(t *testing.T) {
	t.Parallel()
	for submit, want := range map[string]Chunking{
		"":                                     {100, 250},
		", atomic: true":                       {25, 50},
		", chunk: {max: 20}":                   {20, 20},
		", chunk: {min: 300}":                  {300, 300},
		", chunk: {min: 1, max: 1}":            {1, 1},
		", chunk: {min: 30}, atomic: true":     {30, 50},
		", chunk: {max: 10000}, atomic: false": {100, 10000},
	} {
		p := parsed(t, strings.Replace(minimal, "lines}", "lines"+submit+"}", 1))
		if p.Submit.Chunk != want {
			t.Errorf("%q: %v, want %v", submit, p.Submit.Chunk, want)
		}
	}
}

// All faults of a file at once, each with its place.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	const text = `name: acme
nam: twice
base_url: http://api.acme.example
auth:
  - {type: bearer, token: s3cr3t-literal}
  - type: bearer
    token: "${env:MISSING}"
  - {type: header, name: X-Empty, value: "${env:EMPTY}"}
  - {type: oauth2}
submit:
  path: v1/lines
  timeout: 30
  concurrency: 0
  chunk:
    min: 60
    max: 50
  timeout: 5s
idempotency: {scope: lines, retention: -1h, header: X}
corrections: delta
rate: {requests: 0, per: 1s, headroom: 1}
limits: {min_amount: 1e3}
retry:
  network: {max_retries: 51, base: 5m, cap: 1s, jitter: full}
lookup: {path: /x}
not_applied: [503, 409, 200, 503]
response: {rules: []}
revision: "1"
`
	_, err := Parse("acme.yaml", []byte(text), knownSecrets{"${env:EMPTY}": "\n"})
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	want := []string{
		"2:1 nam", "3:11 base_url", "5:27 auth[0].token", "7:12 auth[1].token", "6:5 auth[1]", "8:42 auth[2].value", "9:12 auth[3].type",
		"11:9 submit.path", "12:12 submit.timeout", "13:16 submit.concurrency", "15:10 submit.chunk.min", "17:3 submit.timeout",
		"18:22 idempotency.scope", "18:40 idempotency.retention", "19:14 corrections",
		"20:18 rate.requests", "20:40 rate.headroom", "21:22 limits.min_amount",
		"23:26 retry.network.max_retries", "23:12 retry.network", "23:49 retry.network.jitter",
		"24:9 lookup", "25:20 not_applied[1]", "25:25 not_applied[2]", "25:30 not_applied[3]", "26:11 response", "27:11 revision",
	}
	var got []string
	for _, f := range faults {
		got = append(got, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Path))
		if f.File != "acme.yaml" || f.Message == "" {
			t.Errorf("%+v", f)
		}
	}
	slices.Sort(want)
	sorted := slices.Sorted(slices.Values(got))
	if !slices.Equal(sorted, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(sorted, "\n"), strings.Join(want, "\n"))
	}
	if !slices.IsSortedFunc(faults, func(a, b Fault) int { return a.Line - b.Line }) {
		t.Error("not in the order of the file")
	}
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("a value is shown: %v", err)
	}
}

// One fault a file: what it says, in the words that a person searches for.
func TestFaults(t *testing.T) {
	t.Parallel()
	with := func(line string) string { return minimal + line + "\n" }
	in := func(section, key string) string {
		return strings.Replace(minimal, "submit: {", "submit: {"+key+", ", 1) + section
	}
	cases := []struct{ name, text, want string }{
		{"empty", "", "must be one YAML document"},
		{"two documents", minimal + "---\n" + minimal, "must be one YAML document"},
		{"a list", "- a", "must be a mapping of keys"},
		{"not YAML", "name: [", "1:7: is not YAML"},
		{"not UTF-8", "name: \xff", "is not UTF-8"},
		{"too long", minimal + "#" + strings.Repeat("x", maxProfile), "is longer than"},
		{"too deep", "a: " + strings.Repeat("[", 100), "levels of brackets"},
		{"doubled key", with("name: b"), "5:1: name: is given twice, first on line 1"},
		{"doubled key below", with("limits: {min_amount: 1, min_amount: 2}"), "limits.min_amount: is given twice"},
		{"unknown key below", with("limits: {min: 1}"), "5:10: limits.min: is not a key"},
		{"anchor and alias", with("limits: &a {min_amount: 1}\nretry: *a"), "must be a mapping"},
		{"merge", with("<<: {revision: 2}"), "anchors, aliases, tags and merged keys are not read"},
		{"no name", strings.Replace(minimal, "name: acme\n", "", 1), "1:1: name: is required"},
		{"null is absent", strings.Replace(minimal, "name: acme", "name: ~", 1), "1:1: name: is required"},
		{"no path", strings.Replace(minimal, "submit: {path: /v1/payroll/lines}\n", "", 1), "1:1: submit.path: is required"},
		{"no rate", strings.Replace(minimal, "rate: {requests: 10, per: 1s}\n", "", 1), "rate: is required"},
		{"no window", strings.Replace(minimal, ", per: 1s", "", 1), "rate.per: is required"},
		{"no limit in the list", strings.Replace(minimal, "{requests: 10, per: 1s}", "[]", 1), "must hold at least one limit"},
		{"a window of 0", strings.Replace(minimal, "per: 1s", "per: 0s", 1), "rate.per: must be a length of time"},
		{"a rate of 0 in a list", strings.Replace(minimal, "{requests: 10, per: 1s}", "[{requests: 5, per: 1s}, {requests: 0, per: 1m}]", 1), "rate[1].requests"},
		{"negative headroom", strings.Replace(minimal, "per: 1s", "per: 1s, headroom: -0.1", 1), "rate.headroom: must be a share"},
		{"headroom in words", strings.Replace(minimal, "per: 1s", "per: 1s, headroom: NaN", 1), "rate.headroom: must be a share"},
		{"name as a number", strings.Replace(minimal, "acme\n", "7\n", 1), "name: must be a text: put it in quotes"},
		{"name with a slash", strings.Replace(minimal, "name: acme", "name: a/b", 1), "name: must be 1 to 64"},
		{"octal", with("revision: 010"), "revision: must be a whole number"},
		{"hexadecimal", with("revision: 0x10"), "revision: must be a whole number"},
		{"too large", with("revision: 2147483648"), "revision: must be a whole number"},
		{"base with a user", strings.Replace(minimal, "https://", "https://u:p@", 1), "must not hold a credential"},
		{"base with a query", strings.Replace(minimal, ".example", ".example?a=b", 1), "must not have a query"},
		{"base without a host", strings.Replace(minimal, "https://api.acme.example", "https://", 1), "base_url: must be a URL"},
		{"base of another kind", strings.Replace(minimal, "https:", "ftp:", 1), "base_url: must be a URL"},
		{"http beyond this machine", strings.Replace(minimal, "https:", "http:", 1), "must be https"},
		{"path that ends in a slash", strings.Replace(minimal, "lines}", "lines/}", 1), "submit.path: must be a path"},
		{"path with a query", strings.Replace(minimal, "lines}", `lines?x=1}`, 1), "submit.path: must be a path"},
		{"method", in("", "method: GET"), "submit.method: must be one of [POST PUT PATCH]"},
		{"duration without a unit", in("", "timeout: 30"), "submit.timeout: must be a length of time"},
		{"timeout of 0", in("", "timeout: 0s"), "submit.timeout: must be a length of time"},
		{"settle below the timeout", in("", "settle: 5s"), "submit.settle: must be a length of time from 30s"},
		{"atomic in words", in("", `atomic: "yes"`), "submit.atomic: must be true or false"},
		{"yes is a text", in("", "atomic: yes"), "submit.atomic: must be true or false"},
		{"min above max", in("", "chunk: {min: 60, max: 50}"), "submit.chunk.min: must not be above max"},
		{"request scope without a header", with("idempotency: {scope: request}"), "idempotency.header: is required"},
		{"request scope with a bad header", with(`idempotency: {scope: request, header: "A B"}`), "idempotency.header: must be the name of a header"},
		{"a request key that a credential overwrites", with(`idempotency: {scope: request, header: x-key}` + "\nauth: [{type: header, name: X-Key, value: \"${env:X}\"}]"), "idempotency.header: is set by auth"},
		{"line scope with a header", with("idempotency: {scope: line, header: Key}"), "idempotency.header: is for the scope request"},
		{"retention without keys", with("idempotency: {retention: 24h}"), "idempotency.retention: contradicts the scope none"},
		{"partial without request keys", with("idempotency: {scope: line, partial: true}"), "idempotency.partial: is for the scope request"},
		{"retention too short", in("idempotency: {scope: line, retention: 10m}\n", "settle: 10m"), "idempotency.retention: is too short"},
		{"conflict", with("idempotency: {scope: line, conflict: maybe}"), "must be one of [done in_progress unknown]"},
		{"an amount with an exponent", with("limits: {max_amount: 1e9}"), "limits.max_amount: must be a plain decimal"},
		{"limits the wrong way round", with(`limits: {min_amount: "5", max_amount: "4"}`), "limits: min_amount must not be above max_amount"},
		{"max_wait beyond what a gate waits", with("retry: {max_wait: 169h}"), "retry.max_wait: must be a length of time"},
		{"lookup as a mapping", with("lookup: {path: /x}"), "a mapping is not read by this version"},
		{"lookup in words", with("lookup: yes"), "lookup: must be one of [none standard]"},
		{"request mapping", with("request: \"{}\""), "request: is not read by this version"},
		{"response rules", with("response: {rules: []}"), "response: is not read by this version"},
		{"not_applied 400", with("not_applied: [400]"), "is for submit.atomic to say"},
		{"not_applied no list", with("not_applied: 503"), "not_applied: must be a list"},
		{"auth no list", with("auth: {type: bearer}"), "auth: must be a list"},
		{"auth without type", with("auth: [{token: x}]"), "auth[0].type: is required"},
		{"no token", with("auth: [{type: bearer}]"), "auth[0].token: is required"},
		{"no password", with("auth: [{type: basic, username: u}]"), "auth[0].password: is required"},
		{"blank password of a plain user", with(`auth: [{type: basic, username: u, password: ""}]`), "auth[0].password: must be a reference"},
		{"a colon in the user name", with(`auth: [{type: basic, username: "a:b", password: "${env:X}"}]`), "auth[0].username: must be a text without a colon"},
		{"no source of secrets", with(`auth: [{type: bearer, token: "${env:X}"}]`), "no source of secrets"},
		{"a header of the request itself", with(`auth: [{type: header, name: content-type, value: "${env:X}"}]`), "must not be Content-Type"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, err := Parse("acme.yaml", []byte(c.text), nil)
			if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestSecretsAreChecked(t *testing.T) {
	t.Parallel()
	secrets := knownSecrets{"${env:EMPTY}": "\r\n", "${env:TWO}": "a\nb", "${env:NUL}": "a\x00b", "${env:GOOD}": "good\n"}
	for ref, want := range map[string]string{
		"${env:EMPTY}": "is empty", "${env:TWO}": "more than one line", "${env:NUL}": "a control character", "${env:NONE}": "does not exist", "${env:GOOD}": "",
	} {
		_, err := Parse("f", []byte(minimal+`auth: [{type: bearer, token: "`+ref+`"}]`), secrets)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", ref, err, want)
		}
	}
	_, err := Parse("f", []byte(minimal+`auth: [{type: basic, username: "${env:GOOD}", password: ""}]`), secrets)
	if err != nil {
		t.Errorf("a key as the user name beside a blank password: %v", err)
	}
}

func TestLoadDir(t *testing.T) {
	t.Parallel()
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	named := func(name string) *fstest.MapFile { return file(strings.Replace(minimal, "acme", name, 1)) }
	good := fstest.MapFS{
		"first.yaml": named("acme"), "second.yml": named("beta"), "README.md": file("# not a profile"),
		"below/third.yaml": file("nonsense"), ".keep": file(""),
	}
	profiles, err := LoadDir(good, nil)
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(profiles)); !slices.Equal(names, []string{"acme", "beta"}) {
		t.Errorf("%v", names)
	}
	bad := fstest.MapFS{
		"a.yaml": named("acme"), "b.yaml": named("acme"), "c.yaml": file("x: 1"), "d.yaml": file("name: ["),
		"e.yaml": file("#" + strings.Repeat("x", 2*maxProfile)),
	}
	_, err = LoadDir(bad, nil)
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	for _, want := range []string{`b.yaml: name: "acme" is the name of the profile in a.yaml too`, "c.yaml:1:1: x: ", "c.yaml:1:1: name: ", "d.yaml:1:7: ", "e.yaml: is longer"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if _, err := LoadDir(os.DirFS(t.TempDir()+"/none"), nil); err == nil {
		t.Error("a directory that is not there")
	}
}

func TestTheBuiltInSandbox(t *testing.T) {
	t.Parallel()
	p := BuiltinSandbox("http://127.0.0.1:4010")
	if p.Name != "sandbox" || p.BaseURL != "http://127.0.0.1:4010" || p.Idempotency.Scope != retry.KeyLine ||
		p.Idempotency.Retention != 24*time.Hour || !p.LookUp || p.Corrections != payroll.CorrectionsReplace || len(p.Text) == 0 {
		t.Errorf("%+v", p)
	}
	defer func() {
		if recover() == nil {
			t.Error("an address beyond this machine is taken")
		}
	}()
	BuiltinSandbox("http://sandbox.example")
}

// The page for integrators is true: its profiles are read, its keys are ours.
func TestTheDocumentedProfiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/vendor-profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 2 {
		t.Fatalf("%d profiles on the page", len(blocks))
	}
	anything := resolver(func(ref string) (Secret, error) { return NewSecret("x"), nil })
	for i, b := range blocks {
		if _, err := Parse(fmt.Sprintf("profile %d of the page", i+1), []byte(b[1]), anything); err != nil {
			t.Error(err)
		}
	}
	for _, key := range regexp.MustCompile(`(?m)^ *(?:- \{)?([a-z_]+):`).FindAllStringSubmatch(everyKey, -1) {
		if !regexp.MustCompile("`([a-z]+[.])?" + key[1] + "[`.:]").Match(page) {
			t.Errorf("the page does not explain %s", key[1])
		}
	}
}

type resolver func(ref string) (Secret, error)

func (r resolver) Resolve(ref string) (Secret, error) { return r(ref) }
