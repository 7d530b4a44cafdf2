package vendor

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// expectedItem is the item half of DESIGN section 4's table, a second time.
func expectedItem(status int, scope retry.KeyScope, means retry.Conflict, harmless bool) payroll.Reading {
	unknown := payroll.Reading{Verdict: payroll.VerdictUnknown, Class: payroll.ClassVendorError}
	retried := payroll.Reading{Verdict: payroll.VerdictRetry, Class: payroll.ClassVendorError}
	switch {
	case status == 200 || status == 201 || status == 204:
		return payroll.Reading{Verdict: payroll.VerdictSettled, Class: payroll.ClassNone, As: payroll.Created}
	case status == 208:
		return payroll.Reading{Verdict: payroll.VerdictSettled, Class: payroll.ClassNone, As: payroll.Duplicate}
	case status == 409 && means == retry.ConflictDone:
		return payroll.Reading{Verdict: payroll.VerdictSettled, Class: payroll.ClassNone, As: payroll.Duplicate, Conflict: true}
	case status == 409:
		return unknown
	case status == 429:
		retried.Class = payroll.ClassRateLimited
		return retried
	case status == 425 || status == 503:
		return retried
	case status == 401:
		return payroll.Reading{Verdict: payroll.VerdictReturned, Class: payroll.ClassNone}
	case status >= 400 && status <= 499 && status != 408:
		return payroll.Reading{Verdict: payroll.VerdictRejected, Class: payroll.ClassNone, Decisive: scope == retry.KeyLine}
	case harmless:
		return retried
	}
	return unknown
}

// Under a request key whose mixed answers are remembered, an item's "no" in the
// answer to a repeat is what became of the line: otherwise a stored 503 is
// asked for again until nothing is left to ask with.
func TestARememberedNoIsDecisive(t *testing.T) {
	t.Parallel()
	c := chunkOf(2)
	for _, status := range []int{503, 429, 422} {
		for _, remembered := range []bool{false, true} {
			p := profileWith(retry.KeyRequest, func(p *Profile) { p.Idempotency.Partial = remembered })
			j := p.Judge(c, reply(207, fmt.Sprintf(`{"results":[{"key":%q,"status":%d}]}`, c.Lines[0].Key, status)))
			if j.Lines[0].Decisive != remembered {
				t.Errorf("item %d, remembered %v: decisive %v", status, remembered, j.Lines[0].Decisive)
			}
		}
	}
}

// Every item status, as a number and as digits in a text, with every flag.
func TestItemTable(t *testing.T) {
	t.Parallel()
	c := chunkOf(2)
	for status := 100; status < 1000; status++ {
		for _, scope := range []retry.KeyScope{retry.KeyNone, retry.KeyLine, retry.KeyRequest} {
			for _, means := range []retry.Conflict{retry.ConflictDone, retry.ConflictInProgress, retry.ConflictUnknown} {
				for _, harmless := range []bool{false, true} {
					harmless = harmless && status >= 300 && elsewhere[status] == ""
					p := profileWith(scope, func(p *Profile) {
						p.Idempotency.Conflict = means
						if harmless {
							p.NotApplied = []int{status}
						}
					})
					want := expectedItem(status, scope, means, harmless)
					want.Status = status
					for _, form := range []string{"%d", `"%d"`} {
						spelled := fmt.Sprintf(form, status)
						x := reply(207, fmt.Sprintf(`{"results":[{"key":%q,"status":%s}]}`, c.Lines[0].Key, spelled))
						j := p.Judge(c, x)
						got := j.Lines[0]
						got.Detail = ""
						if got != want {
							t.Fatalf("%s, %s, %s: got %+v, want %+v", spelled, scope, means, got, want)
						}
						if j.Lines[1].Verdict != payroll.VerdictUnknown {
							t.Fatalf("the line that is not named is %v", j.Lines[1].Verdict)
						}
						if refresh := j.Gate.Kind == GateRefresh; refresh != (status == 401) {
							t.Fatalf("%d: gate %v", status, j.Gate.Kind)
						}
					}
				}
			}
		}
	}
}

func TestItemStatusesThatAreNone(t *testing.T) {
	t.Parallel()
	p, c := profileWith(retry.KeyLine), chunkOf(1)
	for _, status := range []string{
		`null`, `true`, `{}`, `[200]`, `{"code":200}`, `"ok"`, `"SUCCESS"`, `""`, `" 200"`, `"200 "`, `"+200"`, `"0200"`, `"２００"`,
		`200.0`, `2e2`, `-200`, `0`, `-1`, `20`, `2000`, `1e400`, `99999999999999999999`,
	} {
		j := p.Judge(c, reply(200, fmt.Sprintf(`{"results":[{"key":%q,"status":%s}]}`, c.Lines[0].Key, status)))
		if r := j.Lines[0]; r.Verdict != payroll.VerdictUnknown || r.Status != 200 {
			t.Errorf("status %s: %+v", status, r)
		}
	}
	if j := p.Judge(c, reply(200, fmt.Sprintf(`{"results":[{"key":%q}]}`, c.Lines[0].Key))); j.Lines[0].Verdict != payroll.VerdictUnknown {
		t.Errorf("no status: %+v", j.Lines[0])
	}
}

func TestItemsInAnyOrderMissingDoubledForeign(t *testing.T) {
	t.Parallel()
	p, c := profileWith(retry.KeyLine), chunkOf(6)
	key := func(i int) string { return c.Lines[i].Key }
	body := `{"meta":{"results":[1]},"results":[` + strings.Join([]string{
		`{"status":422,"detail":"no such employee","key":"` + key(4) + `"}`,
		`{"key":"` + key(0) + `","status":201,"reference":"R0"}`,
		`{"key":"` + key(1) + `","status":201,"reference":"R1"}`,
		`{"key":"` + key(1) + `","status":"201","reference":"R1","detail":"again"}`,
		`{"key":"` + key(2) + `","status":201}`, `{"key":"` + key(2) + `","status":422}`, `{"key":"` + key(2) + `","status":201}`,
		`{"key":"` + key(3) + `","status":201,"reference":"A"}`, `{"key":"` + key(3) + `","status":201,"reference":"B"}`,
		`{"key":"` + strings.ToUpper(key(5)) + `","status":200}`,
		`{"key":"pl_other","status":200}`, `{"status":200}`, `"` + key(5) + `"`,
	}, ",") + `],"more":null}`
	j := p.Judge(c, reply(207, body))
	want := []payroll.Verdict{
		payroll.VerdictSettled, payroll.VerdictSettled, payroll.VerdictUnknown,
		payroll.VerdictUnknown, payroll.VerdictRejected, payroll.VerdictUnknown,
	}
	for i, w := range want {
		if j.Lines[i].Verdict != w {
			t.Errorf("line %d: %+v, want %v", i, j.Lines[i], w)
		}
	}
	if j.Foreign != 3 {
		t.Errorf("%d foreign items, want 3", j.Foreign)
	}
	if j.Lines[0].Reference != "R0" || j.Lines[4].Detail != "no such employee" {
		t.Errorf("%+v, %+v", j.Lines[0], j.Lines[4])
	}
}

// gocardless-nodejs#91: a conflict read as something else.
func TestAnItemsConflictIsLeftToTheDecision(t *testing.T) {
	t.Parallel()
	c := chunkOf(1)
	j := profileWith(retry.KeyLine).Judge(c, reply(200, itemsOf(c, 409)))
	if r := j.Lines[0]; r.Verdict != payroll.VerdictSettled || r.As != payroll.Duplicate || !r.Conflict {
		t.Errorf("%+v", r)
	}
}

// Xero-NetStandard#359: the wait is lost on the way to the scheduler.
func TestAnItemsOwnHintArrives(t *testing.T) {
	t.Parallel()
	p, c := profileWith(retry.KeyLine), chunkOf(1)
	for text, want := range map[string]time.Duration{
		`7`: 7 * time.Second, `"7"`: 7 * time.Second, `"Sat, 31 Jan 2026 12:00:07 GMT"`: 7 * time.Second,
		`-7`: 0, `1.5`: 0, `"soon"`: 0, `null`: 0, `{}`: 0, `99999999999999999999999`: longestHint,
	} {
		j := p.Judge(c, reply(207, fmt.Sprintf(`{"results":[{"key":%q,"status":429,"retry_after":%s}]}`, c.Lines[0].Key, text)))
		if r := j.Lines[0]; r.Hint != want || r.Class != payroll.ClassRateLimited {
			t.Errorf("%s: %+v", text, r)
		}
	}
	paid := p.Judge(c, reply(207, fmt.Sprintf(`{"results":[{"key":%q,"status":201,"retry_after":7}]}`, c.Lines[0].Key)))
	if paid.Lines[0].Hint != 0 {
		t.Error("a paid line waits")
	}
}

func TestTwoLinesWithOneKeyAreBothUnknown(t *testing.T) {
	t.Parallel()
	c := chunkOf(3)
	c.Lines[2].Key = c.Lines[0].Key
	j := profileWith(retry.KeyLine).Judge(c, reply(200, itemsOf(c, 201, 201)))
	for i, want := range []payroll.Verdict{payroll.VerdictUnknown, payroll.VerdictSettled, payroll.VerdictUnknown} {
		if j.Lines[i].Verdict != want {
			t.Errorf("line %d: %v, want %v", i, j.Lines[i].Verdict, want)
		}
	}
}

// Whatever comes back: a line is settled, or refused for good, only by a whole
// answer that names it, or by a status for a request that carried it alone.
func TestNoLineIsDecidedByAnAnswerThatDoesNotNameIt(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		c := chunkOf(1 + rng.IntN(5))
		p := randomProfile(rng)
		x, named := randomAnswer(rng, c)
		j := p.Judge(c, x)
		for i, r := range j.Lines {
			decided := r.Verdict == payroll.VerdictSettled || r.Verdict == payroll.VerdictRetry || r.Verdict == payroll.VerdictRejected
			alone := len(c.Lines) == 1 && r.Verdict == payroll.VerdictRejected
			if decided && !named[i] && !alone {
				t.Fatalf("status %d, line %d of %d: %+v from %s", x.Status, i, len(c.Lines), r, x.Body)
			}
		}
	}
}

func randomProfile(rng *rand.Rand) *Profile {
	scopes := []retry.KeyScope{retry.KeyNone, retry.KeyLine, retry.KeyRequest}
	return profileWith(scopes[rng.IntN(3)], func(p *Profile) {
		p.Submit.Atomic = rng.IntN(2) == 0
		p.Idempotency.Retention = time.Duration(rng.IntN(2)) * 24 * time.Hour
		if rng.IntN(2) == 0 {
			p.NotApplied = []int{500 + rng.IntN(5)}
		}
	})
}

// randomAnswer names some of the lines, some only in part of the answers spoilt.
func randomAnswer(rng *rand.Rand, c Chunk) (Exchange, []bool) {
	named := make([]bool, len(c.Lines))
	var items []string
	for i, l := range c.Lines {
		if rng.IntN(2) == 0 {
			named[i] = true
			items = append(items, `{"key":"`+l.Key+`","status":`+strconv.Itoa(statusesToTry[rng.IntN(len(statusesToTry))])+`}`)
		}
	}
	rng.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	body := `{"results":[` + strings.Join(items, ",") + `]}`
	x := reply(statusesToTry[rng.IntN(len(statusesToTry))], body)
	if rng.IntN(3) == 0 && len(body) > 1 {
		x.Body = x.Body[:rng.IntN(len(body))]
		named = make([]bool, len(c.Lines))
	}
	return x, named
}
