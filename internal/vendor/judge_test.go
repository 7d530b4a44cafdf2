package vendor

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// shape is a kind of body. names says which lines a whole and readable body
// names; json says that it is exactly one JSON object, list that this has a list of results.
type shape struct {
	name  string
	json  bool
	list  bool // with a list of results
	names func(i int) bool
	body  func(c Chunk) string
	spoil func(x *Exchange)
}

func none(int) bool { return false }
func all(int) bool  { return true }

func fixed(s string) func(Chunk) string { return func(Chunk) string { return s } }

// paid names the first n lines as paid.
func paid(n int) func(Chunk) string {
	return func(c Chunk) string { return itemsOf(c, slices.Repeat([]int{201}, min(n, len(c.Lines)))...) }
}

var shapes = []shape{
	{"no body", false, false, none, fixed(""), nil},
	{"HTML", false, false, none, fixed("<html><body>200 OK, paid</body></html>"), nil},
	{"an object without results", true, false, none, fixed(`{"status":"ok","key":"pl_t1_2026-01_00000000000000000000abc0"}`), nil},
	{"results that are no list", true, false, none, fixed(`{"results":{"status":200}}`), nil},
	{"results that are null", true, false, none, fixed(`{"results":null}`), nil},
	{"an empty list", true, true, none, fixed(`{"results":[]}`), nil},
	{"a list of texts", true, true, none, fixed(`{"results":["200",200,null,["200"]]}`), nil},
	{"items without a key", true, true, none, fixed(`{"results":[{"status":200},{"key":null,"status":200},{"key":7,"status":200}]}`), nil},
	{"a list without an object around it", false, false, none, func(c Chunk) string { return "[" + paid(9)(c) + "]" }, nil},
	{"a text", false, false, none, fixed(`"paid"`), nil},
	{"all lines", true, true, all, paid(9), nil},
	{"the first line", true, true, func(i int) bool { return i == 0 }, paid(1), nil},
	{"all lines, cut off", false, false, none, func(c Chunk) string { s := paid(9)(c); return s[:len(s)-1] }, nil},
	{"all lines, then more", false, false, none, func(c Chunk) string { return paid(9)(c) + "x" }, nil},
	{"all lines, twice", false, false, none, func(c Chunk) string { return paid(9)(c) + paid(9)(c) }, nil},
	{"all lines, a name doubled", false, false, none, func(c Chunk) string { return strings.Replace(paid(9)(c), "{", `{"x":1,"x":2,`, 1) }, nil},
	{"all lines, not UTF-8", false, false, none, func(c Chunk) string { return strings.Replace(paid(9)(c), "{", "{\"x\":\"\xff\",", 1) }, nil},
	{"all lines, but the body was cut", false, false, none, paid(9), func(x *Exchange) { x.Truncated, x.Err = true, ErrBroken }},
}

// outcome is the part of a judgement that the table of the design speaks of.
type outcome struct {
	verdict   payroll.Verdict
	class     payroll.RetryClass
	as        payroll.SettledAs
	maxChunk  int
	finished  bool
	decisive  bool
	gate      GateKind
	reason    string
	wait      time.Duration
	failed    bool
	answered  bool
	throttled bool // the whole request was a 429
}

// situation is what the expectation is told: it does not see the tables.
type situation struct {
	status   int
	shape    shape
	lines    int
	line     int // which one is asked about
	atomic   bool
	scope    retry.KeyScope
	memory   bool // retention > 0
	hint     bool
	harmless bool // the status is in not_applied
}

// expected is the table of DESIGN section 4, written down a second time.
func expected(s situation) outcome {
	unknown := outcome{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError}
	returned := outcome{verdict: payroll.VerdictReturned, class: payroll.ClassNone}
	half := (s.lines + 1) / 2
	o := unknown
	switch {
	case s.status >= 200 && s.status <= 299:
		o.answered, o.failed = s.shape.list, !s.shape.list
		if s.shape.names(s.line) {
			o.verdict, o.class, o.as = payroll.VerdictSettled, payroll.ClassNone, payroll.Created
		}
		return o
	case s.status >= 300 && s.status <= 399:
		o.gate, o.reason = GateSuspend, "unexpected_redirect"
	case s.status == 409:
		o.answered = s.shape.json
		named := false
		for i := range s.lines {
			named = named || s.shape.names(i)
		}
		switch {
		case s.shape.names(s.line):
			o.verdict, o.class, o.as = payroll.VerdictSettled, payroll.ClassNone, payroll.Created
		case !named && s.scope == retry.KeyLine && s.lines > 1:
			o.class, o.maxChunk = payroll.ClassNone, half
		}
		return o
	case (s.status == 400 || s.status == 422) && s.lines > 1:
		o.answered = s.shape.json
		switch {
		case s.atomic:
			o.verdict, o.class, o.maxChunk, o.finished = payroll.VerdictReturned, payroll.ClassNone, half, true
		case s.scope == retry.KeyLine && s.memory:
			o.class, o.maxChunk, o.finished = payroll.ClassNone, half, true
		}
		return o
	case s.status == 400 || s.status == 422:
		o.answered = s.shape.json
		if s.atomic || s.scope == retry.KeyLine {
			honoured := s.scope == retry.KeyLine || s.scope == retry.KeyRequest && s.atomic
			o.verdict, o.class, o.decisive = payroll.VerdictRejected, payroll.ClassNone, honoured && s.shape.json
		}
		return o
	case s.status == 413 && s.lines > 1:
		o = returned
		o.maxChunk, o.answered = half, s.shape.json
	case s.status == 413:
		o = outcome{verdict: payroll.VerdictRejected, class: payroll.ClassNone, answered: s.shape.json}
	case s.status == 401:
		o = returned
		o.gate = GateRefresh
	case s.status == 403 || s.status == 404 || s.status == 405 || s.status == 410 || s.status == 415:
		o = returned
		o.gate = GateSuspend
		o.reason = map[int]string{403: "forbidden", 404: "not_found", 405: "method_not_allowed", 410: "gone", 415: "unsupported_media_type"}[s.status]
	case s.status == 429:
		o = returned
		o.gate, o.throttled = GateThrottle, true
	case s.status == 503 && s.hint:
		o.gate = GateThrottle
		if s.harmless {
			o.class = payroll.ClassNone
		}
	case slices.Contains([]int{408, 425, 500, 502, 503, 504}, s.status):
		o.failed = true
	default:
		o.gate, o.reason = GateSuspend, "unclassified"
	}
	if o.gate == GateThrottle && s.hint {
		o.wait = time.Minute
	}
	if o.verdict == payroll.VerdictUnknown && s.harmless {
		o.verdict = payroll.VerdictReturned
	}
	return o
}

func outcomeOf(j Judgement, i int) outcome {
	r := j.Lines[i]
	return outcome{
		r.Verdict, r.Class, r.As, r.MaxChunk, r.Finished, r.Decisive,
		j.Gate.Kind, j.Gate.Reason, j.Gate.Wait, j.Failed, j.Answered, j.RateLimited,
	}
}

var statusesToTry = []int{
	100, 101, 199, 200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 299, 300, 301, 302, 303, 304, 307, 308, 399,
	400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422, 423, 424, 425,
	426, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 599, 600, 999,
}

// Every status class x body shape x profile flag, against the expectation above.
func TestVerdictTable(t *testing.T) {
	t.Parallel()
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			eachSituation(func(s situation) { s.shape = shape; checkSituation(t, s) })
		})
	}
}

func eachSituation(visit func(situation)) {
	flags := []bool{false, true}
	for _, status := range statusesToTry {
		for _, lines := range []int{1, 2, 5} {
			for _, scope := range []retry.KeyScope{retry.KeyNone, retry.KeyLine, retry.KeyRequest} {
				for _, atomic := range flags {
					for _, memory := range flags {
						for _, hint := range flags {
							for _, harmless := range flags {
								visit(situation{status: status, lines: lines, scope: scope, atomic: atomic, memory: memory, hint: hint, harmless: harmless})
							}
						}
					}
				}
			}
		}
	}
}

func checkSituation(t *testing.T, s situation) {
	t.Helper()
	if elsewhere[s.status] != "" || s.status < 300 {
		s.harmless = false // no profile can say so
	}
	p := profileWith(s.scope, func(p *Profile) {
		p.Submit.Atomic = s.atomic
		if s.memory {
			p.Idempotency.Retention = 24 * time.Hour
		}
		if s.harmless {
			p.NotApplied = []int{s.status}
		}
	})
	c := chunkOf(s.lines)
	x := reply(s.status, s.shape.body(c))
	if s.hint {
		x.Header.Set("Retry-After", "60")
	}
	if s.shape.spoil != nil {
		s.shape.spoil(&x)
	}
	j := p.Judge(c, x)
	if len(j.Lines) != s.lines {
		t.Fatalf("%+v: %d readings", s, len(j.Lines))
	}
	for i := range c.Lines {
		s.line = i
		if got, want := outcomeOf(j, i), expected(s); got != want {
			t.Fatalf("%+v line %d:\ngot  %+v\nwant %+v", s, i, got, want)
		}
	}
}

func TestWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	returned := outcome{verdict: payroll.VerdictReturned, class: payroll.ClassNetwork, failed: true}
	unknown := outcome{verdict: payroll.VerdictUnknown, class: payroll.ClassVendorError, failed: true}
	kept := outcome{verdict: payroll.VerdictNotSent, class: payroll.ClassNone}
	cases := []struct {
		name string
		x    Exchange
		want outcome
	}{
		{"refused", Exchange{Sent: NothingSent, Err: ErrRefused}, returned},
		{"no such host", Exchange{Sent: NothingSent, Err: ErrResolve}, returned},
		{"TLS", Exchange{Sent: NothingSent, Err: ErrTLS}, returned},
		{"no connection", Exchange{Sent: NothingSent, Err: ErrConnect}, returned},
		{"an error that nobody knows, before the first byte", Exchange{Sent: NothingSent, Err: errors.New("?")}, returned},
		{"fence", Exchange{Sent: NothingSent, Err: ErrFence}, kept},
		{"stopped", Exchange{Sent: NothingSent, Err: ErrStopped}, kept},
		{"timeout", Exchange{Sent: MaybeSent, Err: ErrTimeout}, unknown},
		{"given up", Exchange{Sent: MaybeSent, Err: ErrGivenUp}, unknown},
		{"reset, EOF", Exchange{Sent: MaybeSent, Err: ErrBroken}, unknown},
		{"not HTTP", Exchange{Sent: MaybeSent, Err: ErrMalformed}, unknown},
		{"the fence's error after all that", Exchange{Sent: MaybeSent, Err: ErrFence}, unknown},
		{"nothing is known", Exchange{}, unknown},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, p := range []*Profile{profileWith(retry.KeyNone), profileWith(retry.KeyLine), profileWith(retry.KeyRequest)} {
				chunk := chunkOf(3)
				j := p.Judge(chunk, c.x)
				for i := range chunk.Lines {
					if got := outcomeOf(j, i); got != c.want {
						t.Errorf("got %+v, want %+v", got, c.want)
					}
				}
			}
		})
	}
}

func TestTheRequestsOwnVerdict(t *testing.T) {
	t.Parallel()
	p, c := profileWith(retry.KeyLine), chunkOf(2)
	for _, tt := range []struct {
		x    Exchange
		want payroll.Verdict
	}{
		{reply(200, itemsOf(c, 201, 422)), 0},
		{reply(409, itemsOf(c, 201, 409)), 0},
		{reply(200, `{}`), payroll.VerdictUnknown},
		{reply(429, ``), payroll.VerdictReturned},
		{Exchange{Sent: NothingSent, Err: ErrFence}, payroll.VerdictNotSent},
	} {
		if j := p.Judge(c, tt.x); j.Request != tt.want {
			t.Errorf("%d: got %v, want %v", tt.x.Status, j.Request, tt.want)
		}
	}
}

func TestJudgingChangesNothing(t *testing.T) {
	t.Parallel()
	p, c := keyed(t), chunkOf(3)
	x := reply(207, itemsOf(c, 201, 503, 422), "Retry-After", "5")
	before := fmt.Sprint(c, x)
	if first, second := p.Judge(c, x), p.Judge(c, x); !reflect.DeepEqual(first, second) || fmt.Sprint(c, x) != before {
		t.Error("the judge is not a function")
	}
}

func TestEveryRowOfTheTablesCanBeReached(t *testing.T) {
	t.Parallel()
	for name, table := range map[string][]rule{"requests": requestRules, "items": itemRules, "look-ups": lookUpRules} {
		reached := map[int]bool{}
		for _, status := range append(statusesToTry, -1) {
			for facts := range 2 * settles409 { // the last fact
				for i, r := range table {
					if r.status.has(status) && facts&r.with == r.with && facts&r.not == 0 {
						reached[i] = true
						break
					}
				}
			}
		}
		for i, r := range table {
			if !reached[i] {
				t.Errorf("%s: row %d (%s) is behind another one", name, i, r.name)
			}
		}
		if last := table[len(table)-1]; len(last.status) > 0 || last.with != 0 || last.not != 0 {
			t.Errorf("%s: the last row does not match everything", name)
		}
	}
}
