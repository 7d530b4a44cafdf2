package retry_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// world is one line between a worker that follows the decisions and a vendor
// that is not our code: it only knows requests, keys and payments.
type world struct {
	t        *rapid.T
	now      time.Time
	policy   retry.Policy
	s        payroll.Standing
	vendor   vendor
	underWay []request // written and not yet arrived
}

type request struct {
	arrives time.Time
	key     int
	begun   bool // the vendor has it already, and is done with it then
}

// vendor pays what it is asked to, once per key that it remembers.
type vendor struct {
	keys     bool          // honours them
	memory   time.Duration // from a key's first arrival
	conflict bool          // answers 409 to the repetition of a paid key
	known    map[int]record
	payments []payment
}

type record struct {
	since   time.Time
	answer  payroll.Reading
	pending time.Time // still being worked on until then
}

type payment struct {
	at  time.Time
	key int
}

// read is the vendor's handling of a request that has arrived.
func (v *vendor) read(t *rapid.T, key int, at time.Time, storesAll bool) payroll.Reading {
	r, ok := v.known[key]
	switch remembered := v.keys && ok; {
	case remembered && at.Before(r.pending):
		return conflict
	case remembered && at.Sub(r.since) <= v.memory && v.conflict && r.answer.Verdict == payroll.VerdictSettled:
		return conflict
	case remembered && at.Sub(r.since) <= v.memory:
		return r.answer
	}
	return v.execute(t, key, at, storesAll)
}

func (v *vendor) execute(t *rapid.T, key int, at time.Time, storesAll bool) payroll.Reading {
	delete(v.known, key)
	answer := rapid.SampledFrom([]payroll.Reading{paid, paid, paid, rejected, busy, tooMany}).Draw(t, "vendor")
	if answer.Verdict == payroll.VerdictSettled {
		v.payments = append(v.payments, payment{at, key})
	}
	if v.keys && (answer.Verdict == payroll.VerdictSettled || storesAll) {
		v.known[key] = record{since: at, answer: answer}
	}
	return answer
}

var (
	busy    = payroll.Reading{Verdict: payroll.VerdictRetry, Class: payroll.ClassVendorError, Status: 503, Decisive: true}
	tooMany = payroll.Reading{Verdict: payroll.VerdictRetry, Class: payroll.ClassRateLimited, Status: 429}
)

func newWorld(t *rapid.T) *world {
	w := &world{t: t, now: now, policy: three(keyed()), s: fresh()}
	w.s.State = payroll.Pending
	w.vendor = vendor{known: map[int]record{}, keys: rapid.Bool().Draw(t, "keys"), conflict: rapid.Bool().Draw(t, "answers 409")}
	w.policy.LookUp = rapid.Bool().Draw(t, "look-up")
	w.policy.Conflict = rapid.SampledFrom([]retry.Conflict{retry.ConflictDone, retry.ConflictInProgress, retry.ConflictUnknown}).Draw(t, "conflict")
	w.policy.Retention = 0
	if w.vendor.keys {
		w.vendor.memory = rapid.SampledFrom([]time.Duration{2 * time.Second, 10 * time.Minute, 24 * time.Hour}).Draw(t, "memory")
		w.policy.StoresAll = rapid.Bool().Draw(t, "stores all")
		w.policy.Retention = w.vendor.memory
		if rapid.Bool().Draw(t, "memory not known to us") {
			w.policy.Retention = 0
		}
	} else {
		w.policy.Keys = retry.KeyNone
	}
	if rapid.Bool().Draw(t, "with a cut-off") {
		w.s.CutoffAt = now.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "cut-off")) * time.Second)
	}
	return w
}

// TestNobodyIsPaidTwiceOrForgotten lets a line live between lost answers, late
// requests, crashes, people and five kinds of vendor, as long as a request that
// we gave up arrives within the settle time or never. At the end there is one
// payment at most, a settled line has it, and no other end state hides one but
// outcome_unknown.
func TestNobodyIsPaidTwiceOrForgotten(t *testing.T) {
	t.Parallel()
	for range 100 { // of a hundred lives each
		rapid.Check(t, live)
	}
}

func live(t *rapid.T) {
	w := newWorld(t)
	for steps := 0; !w.s.State.AtRest(); steps++ {
		if steps > 500 {
			t.Fatalf("no end after %d steps: %s %+v", steps, w.s.State, w.s.Trouble)
		}
		w.step()
	}
	w.pass(w.now.Add(48 * time.Hour))
	n := len(w.vendor.payments)
	switch {
	case n > 1:
		t.Fatalf("paid %d times: %+v", n, w.vendor.payments)
	case n == 0 && w.s.State == payroll.Settled:
		t.Fatal("settled and never paid")
	case n == 1 && w.s.State != payroll.Settled && w.s.Reason != payroll.OutcomeUnknown:
		t.Fatalf("paid, and the line says %s, %s", w.s.State, w.s.Reason)
	}
}

// step lets people act, the line's time come, and the worker do what is planned.
func (w *world) step() {
	switch rapid.IntRange(0, 40).Draw(w.t, "people") {
	case 38:
		w.s.Cancelled = true
	case 39:
		w.s.Superseded = true
	case 40:
		w.pass(w.now.Add(time.Duration(rapid.IntRange(1, 100_000).Draw(w.t, "gate closed for")) * time.Second))
	}
	if w.s.Trouble != nil && w.s.Trouble.DueAt.After(w.now) {
		w.pass(w.s.Trouble.DueAt)
	}
	if c, ok := w.decider().Reconsider(w.s); ok {
		w.s = after(w.s, c)
		return
	}
	if w.s.Trouble != nil && w.s.Trouble.LookUpNext {
		w.lookUp()
		return
	}
	w.send()
}

func (w *world) decider() retry.Decider {
	return retry.Decider{Policy: w.policy, Now: w.now, Rand: func() float64 {
		return rapid.Float64Range(0, 0.999).Draw(w.t, "jitter")
	}}
}

// pass moves the clock; what is under way arrives.
func (w *world) pass(to time.Time) {
	slices.SortFunc(w.underWay, func(a, b request) int { return a.arrives.Compare(b.arrives) })
	var left []request
	for _, r := range w.underWay {
		if r.arrives.After(to) {
			left = append(left, r)
			continue
		}
		if r.begun {
			w.vendor.execute(w.t, r.key, r.arrives, w.policy.StoresAll)
			continue
		}
		w.vendor.read(w.t, r.key, r.arrives, w.policy.StoresAll)
	}
	w.underWay, w.now = left, to
}

func (w *world) send() {
	w.s = taken(w.s, w.now)
	key := 1
	if w.s.Trouble != nil {
		key = max(1, w.s.Trouble.Generation)
	}
	a := attemptAt(payroll.Submit, w.now)
	a.WrittenAt = w.now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(w.t, "written after")) * time.Millisecond)
	w.pass(a.WrittenAt)
	late := func() time.Time {
		ms := a.SendBefore.Add(settle).Sub(w.now).Milliseconds()
		return w.now.Add(time.Duration(rapid.Int64Range(0, ms-1).Draw(w.t, "under way")) * time.Millisecond)
	}
	answer := noAnswer
	switch fault := rapid.SampledFrom(faults).Draw(w.t, "fault"); fault {
	case "none":
		answer = w.vendor.read(w.t, key, w.now, w.policy.StoresAll)
	case "answer lost":
		w.vendor.read(w.t, key, w.now, w.policy.StoresAll)
	case "late":
		w.underWay = append(w.underWay, request{arrives: late(), key: key})
	case "slow":
		answer = w.begin(key, late())
	case "edge":
		answer = rapid.SampledFrom([]payroll.Reading{throttled, limited, refused, notSent}).Draw(w.t, "edge")
	case "crash":
		w.underWay = append(w.underWay, request{arrives: late(), key: key})
		w.s = after(w.s, w.decider().Abandoned(w.s, a))
		return
	}
	w.pass(w.now.Add(time.Duration(rapid.IntRange(0, 30).Draw(w.t, "answered after")) * time.Second))
	w.s = after(w.s, w.decider().Decide(w.s, a, answer))
}

var faults = []string{"none", "none", "answer lost", "late", "slow", "lost on the way", "edge", "crash"}

// begin is a request that the vendor works on until the given time, with the
// key locked; nobody hears how it went.
func (w *world) begin(key int, until time.Time) payroll.Reading {
	r, known := w.vendor.known[key]
	if w.vendor.keys && known && (w.now.Before(r.pending) || w.now.Sub(r.since) <= w.vendor.memory) {
		return w.vendor.read(w.t, key, w.now, w.policy.StoresAll)
	}
	w.vendor.known[key] = record{since: w.now, pending: until}
	w.underWay = append(w.underWay, request{arrives: until, key: key, begun: true})
	return noAnswer
}

func (w *world) lookUp() {
	a := attemptAt(payroll.LookUp, w.now)
	answer := absent
	seen := w.now.Add(-time.Duration(rapid.IntRange(0, int(lag/time.Second)).Draw(w.t, "lag")) * time.Second)
	for _, p := range w.vendor.payments {
		if p.key == w.s.Trouble.LookedUp+1 && !p.at.After(seen) {
			answer = paid
			answer.As = payroll.LookedUp
		}
	}
	if rapid.IntRange(0, 4).Draw(w.t, "look-up") == 0 {
		answer = noAnswer
	}
	w.pass(w.now.Add(time.Duration(rapid.IntRange(0, 30).Draw(w.t, "found after")) * time.Second))
	w.s = after(w.s, w.decider().Decide(w.s, a, answer))
}
