package vendor

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"payrollgateway/internal/payroll"
)

// framings are the three ways in which a body can end.
func framings(body string) map[string]string {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	half := len(body) / 2
	chunked := func(part string) string { return strconv.FormatInt(int64(len(part)), 16) + "\r\n" + part + "\r\n" }
	return map[string]string{
		"length":  head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body,
		"chunked": head + "Transfer-Encoding: chunked\r\n\r\n" + chunked(body[:half]) + chunked(body[half:]) + "0\r\n\r\n",
		"close":   head + "Connection: close\r\n\r\n" + body,
	}
}

// An answer cut at every byte settles nothing, and fails nothing; the whole one
// settles everything.
func TestAnAnswerCutAtEveryByte(t *testing.T) {
	t.Parallel()
	chunk := chunkOf(5)
	for name, answer := range framings(itemsOf(chunk, 201, 200, 204, 208, 422)) {
		for _, ending := range []string{"close", "reset"} {
			t.Run(name+", then "+ending, func(t *testing.T) {
				t.Parallel()
				cutEverywhere(t, chunk, answer, ending == "reset", name == "close" && ending == "close")
			})
		}
	}
}

func cutEverywhere(t *testing.T, chunk Chunk, answer string, reset, closeEnds bool) {
	t.Helper()
	var at atomic.Int64
	s := newRawVendor(t, func(v *visitor) {
		n := int(at.Load())
		v.say(answer[:n])
		switch {
		case reset:
			v.reset()
		case n < len(answer) || closeEnds:
			_ = v.Close()
		}
	})
	c := clientOf(t, s.profile())
	for n := range len(answer) {
		at.Store(int64(n))
		x := submit(t, c, chunk)
		for i, r := range c.profile.Judge(chunk, x).Lines {
			if r.Verdict != payroll.VerdictUnknown {
				t.Fatalf("cut after %d of %d bytes: line %d is %v", n, len(answer), i, r.Verdict)
			}
		}
	}
	if reset {
		return // whether the last bytes arrive before the reset is a race
	}
	at.Store(int64(len(answer)))
	j := c.profile.Judge(chunk, submit(t, c, chunk))
	for i, r := range j.Lines[:4] {
		if r.Verdict != payroll.VerdictSettled {
			t.Errorf("the whole answer: line %d is %v", i, r.Verdict)
		}
	}
	if j.Lines[4].Verdict != payroll.VerdictRejected {
		t.Errorf("the whole answer: line 4 is %v", j.Lines[4].Verdict)
	}
}
