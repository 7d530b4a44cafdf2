package vendor

import (
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// FuzzJudge feeds vendor answers: nothing panics, every line gets a reading,
// and none is decided by an answer that does not contain its key.
func FuzzJudge(f *testing.F) {
	c := chunkOf(3)
	for _, body := range []string{
		itemsOf(c, 201, 422, 503), `{"results":[]}`, `{"results":null}`, `{"results":[{"key":1}]}`, `{}{}`, `<html>`, ``,
		`{"detail":"no","results":[{"key":"` + c.Lines[0].Key + `","status":"409","retry_after":"Sat, 31 Jan 2026 12:00:07 GMT"}]}`,
		recordOf(c.Lines[0], ""),
	} {
		for _, status := range []int{200, 207, 400, 404, 409, 503} {
			f.Add(status, body, "5", byte(0))
		}
	}
	f.Fuzz(func(t *testing.T, status int, body, hint string, flags byte) {
		p := profileWith([]retry.KeyScope{retry.KeyNone, retry.KeyLine, retry.KeyRequest}[flags%3], func(p *Profile) {
			p.Submit.Atomic = flags&4 != 0
			p.Idempotency.Retention = time.Duration(flags&8) * time.Hour
		})
		x := reply(status, body, "Retry-After", hint)
		x.Truncated = flags&16 != 0
		j := p.Judge(c, x)
		if len(j.Lines) != len(c.Lines) {
			t.Fatalf("%d readings", len(j.Lines))
		}
		named := 0
		for _, r := range j.Lines {
			checkReading(t, r, payroll.VerdictAbsent, payroll.VerdictMismatch)
			if r.Verdict == payroll.VerdictSettled || r.Verdict == payroll.VerdictRetry || r.Verdict == payroll.VerdictRejected {
				named++
			}
		}
		if named > 0 && (x.Truncated || !readObject([]byte(body), func(_ string, d *jsontext.Decoder) error { return d.SkipValue() })) {
			t.Fatalf("%d lines decided by %q", named, body)
		}
		checkReading(t, p.JudgeLookUp(c.Lines[0], x).Lines[0], payroll.VerdictRetry, payroll.VerdictRejected)
	})
}

func checkReading(t *testing.T, r payroll.Reading, never ...payroll.Verdict) {
	t.Helper()
	for _, v := range append(never, 0) {
		if r.Verdict == v {
			t.Fatalf("verdict %v", r.Verdict)
		}
	}
	if len(r.Detail) > 4*maxDetail || len(r.Reference) > 4*maxDetail || r.Hint < 0 || r.Hint > longestHint {
		t.Fatalf("%+v", r)
	}
	if r.As != 0 && r.Verdict != payroll.VerdictSettled || r.As == 0 && r.Verdict == payroll.VerdictSettled {
		t.Fatalf("%v as %v", r.Verdict, r.As)
	}
}

// FuzzProfile feeds files: nothing panics, and what is taken can be used.
func FuzzProfile(f *testing.F) {
	f.Add(minimal)
	f.Add(everyKey)
	f.Add("a: &x [*x]\n<<: {b: c}\n? d\n: !!str e\n--- \n%YAML 1.2\n")
	secrets := resolver(func(string) (Secret, error) { return NewSecret("x"), nil })
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("f", []byte(text), secrets)
		var faults Faults
		if err != nil {
			if p != nil || !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("%v", err)
			}
			return
		}
		if _, err := p.Render(chunkOf(2)); err != nil {
			t.Fatal(err)
		}
		c, err := NewClient(p, ClientOptions{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		least, most := p.ChunkBounds()
		if least < 1 || most < least || p.Submit.Settle < p.Submit.Timeout || len(p.Rate) == 0 || p.Submit.Concurrency < 1 {
			t.Fatalf("%+v", p)
		}
	})
}
