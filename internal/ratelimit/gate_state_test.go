package ratelimit

import (
	"testing"
	"time"
)

var (
	noon     = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	longAgo  = noon.Add(-time.Hour)
	half     = 0.5
	doubling = Backoff(func(n int, random float64) time.Duration {
		return time.Duration(random * float64(2*time.Second<<n))
	})
)

func in(d time.Duration) time.Time { return noon.Add(d) }

// gateStates are the states a gate can be in, at noon; each with whatever makes
// events act differently on it.
func gateStates() map[string]facts {
	pressed := facts{pressed: true, batches: 1, since: longAgo}
	pressed.rejections = [3]time.Time{in(-10 * time.Second), in(-20 * time.Second), in(-30 * time.Second)}
	quiet := pressed
	quiet.rejections[0] = in(-time.Minute)
	down := facts{failures: 5, down: true, probeAt: in(-time.Second), since: longAgo, probes: 7}
	probing := down
	probing.probing = true
	return map[string]facts{
		"open":               {since: longAgo},
		"open, four failed":  {failures: 4, since: longAgo},
		"open, two 429s":     {rejections: [3]time.Time{in(-20 * time.Second), in(-40 * time.Second)}, since: longAgo},
		"throttled":          {until: in(10 * time.Second), refusals: 1, since: longAgo},
		"throttled till now": {until: noon, refusals: 1, since: longAgo},
		"backpressure":       pressed,
		"backpressure quiet": quiet,
		"outage":             down,
		"outage, probe out":  probing,
		"suspended":          {suspendedFor: "unexpected_redirect", since: longAgo},
		"suspended, hint":    {suspendedFor: "unexpected_redirect", until: in(time.Hour), since: longAgo},
	}
}

// gateEvents are all events there are, as seen by the probe that is out if one
// is.
func gateEvents() map[string]Event {
	return map[string]Event{
		"succeeded":       Succeeded(),
		"failed":          Failed(),
		"probe failed":    {kind: failed, probe: 7},
		"throttle":        Throttle(30 * time.Second),
		"throttle 8d":     Throttle(8 * 24 * time.Hour),
		"429":             RateLimited(0),
		"suspend":         Suspend("everything_rejected"),
		"credentials":     CredentialsRefused(),
		"release":         Release(),
		"probe sent":      {kind: probeSent},
		"probe abandoned": {kind: probeAbandoned, probe: 7},
		"batch begun":     {kind: batchBegun},
		"batch ended":     {kind: batchEnded},
	}
}

// gateTable is the state after each event. An event not named leaves the state
// as it is: open for "throttled till now".
var gateTable = map[string]map[string]State{
	"open": {"throttle": Throttled, "throttle 8d": Suspended, "429": Throttled, "suspend": Suspended, "credentials": Suspended},
	"open, four failed": {
		"failed": Outage, "probe failed": Outage,
		"throttle": Throttled, "throttle 8d": Suspended, "429": Throttled, "suspend": Suspended, "credentials": Suspended,
	},
	"open, two 429s":     {"throttle": Throttled, "throttle 8d": Suspended, "429": Throttled, "suspend": Suspended, "credentials": Suspended},
	"throttled":          {"throttle 8d": Suspended, "suspend": Suspended, "credentials": Suspended},
	"throttled till now": {"throttle": Throttled, "throttle 8d": Suspended, "429": Throttled, "suspend": Suspended, "credentials": Suspended},
	"backpressure":       {"throttle": Throttled, "throttle 8d": Suspended, "429": Throttled, "suspend": Suspended, "credentials": Suspended},
	"backpressure quiet": {
		"batch ended": Open,
		"throttle":    Throttled, "throttle 8d": Suspended, "429": Throttled, "suspend": Suspended, "credentials": Suspended,
	},
	"outage":            {"succeeded": Open, "throttle 8d": Suspended, "suspend": Suspended, "credentials": Suspended},
	"outage, probe out": {"succeeded": Open, "throttle 8d": Suspended, "suspend": Suspended, "credentials": Suspended},
	"suspended":         {"release": Open},
	"suspended, hint":   {"release": Throttled},
}

func TestEveryStateMeetsEveryEvent(t *testing.T) {
	t.Parallel()
	for state, before := range gateStates() {
		for event, e := range gateEvents() {
			t.Run(state+" / "+event, func(t *testing.T) {
				t.Parallel()
				settled := before.settle(noon)
				want, named := gateTable[state][event]
				if !named {
					want = settled.state()
				}
				after := before.apply(e, noon, half, doubling)
				if got := after.state(); got != want {
					t.Fatalf("%v became %v, want %v", settled.state(), got, want)
				}
				checkDated(t, settled, after)
				checkNoEarlierThanHint(t, settled, after)
			})
		}
	}
	for state, row := range gateTable {
		for event := range row {
			if _, ok := gateEvents()[event]; !ok || gateStates()[state].since.IsZero() {
				t.Errorf("the table names %s / %s, which is not tested", state, event)
			}
		}
	}
}

// checkDated: since is the instant of the last change of state, and of no other.
func checkDated(t *testing.T, before, after facts) {
	t.Helper()
	want := before.since
	if after.state() != before.state() {
		want = noon
	}
	if !after.since.Equal(want) {
		t.Errorf("since %v, want %v", after.since, want)
	}
}

// checkNoEarlierThanHint: no event, of whatever kind, shortens a hint.
func checkNoEarlierThanHint(t *testing.T, before, after facts) {
	t.Helper()
	if after.until.Before(before.until) {
		t.Errorf("a hint until %v became %v", before.until, after.until)
	}
	for _, kind := range []Kind{Fresh, Retry, Probe} {
		if before.until.After(noon) && after.allows(kind, before.until.Add(-1)) {
			t.Errorf("%v allowed before the hint's end", kind)
		}
	}
}

func TestWhatEachStateAllows(t *testing.T) {
	t.Parallel()
	type allowed struct{ fresh, retry, probe, batch bool }
	want := map[string]allowed{
		"open":               {true, true, true, true},
		"open, four failed":  {true, true, true, true},
		"open, two 429s":     {true, true, true, true},
		"throttled":          {},
		"throttled till now": {true, true, true, true},
		"backpressure":       {true, true, true, false},
		"backpressure quiet": {true, true, true, false},
		"outage":             {false, false, true, false},
		"outage, probe out":  {},
		"suspended":          {},
		"suspended, hint":    {},
	}
	for name, f := range gateStates() {
		got := allowed{f.allows(Fresh, noon), f.allows(Retry, noon), f.allows(Probe, noon), f.allowsBatch(noon)}
		if got != want[name] {
			t.Errorf("%s allows %+v, want %+v", name, got, want[name])
		}
	}
}

func TestHints(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	tests := []struct {
		name   string
		before time.Duration // a hint that stands; 0: none
		event  Event
		random float64
		want   time.Duration
		reason string
	}{
		{"never less than the hint", 0, Throttle(time.Minute), 0, time.Minute, ""},
		{"up to a tenth more", 0, RateLimited(time.Minute), 0.5, 63 * time.Second, ""},
		{"the longer one stands", time.Hour, RateLimited(time.Minute), 0.5, time.Hour, ""},
		{"a longer one takes over", time.Minute, Throttle(time.Hour), 0, time.Hour, ""},
		{"a week is waited for", 0, Throttle(week), 0, week, ""},
		{"more than a week is not", 0, Throttle(week + 1), 0.5, 0, ReasonRetryAfterTooLong},
		{"nor does it shorten one that stands", time.Hour, Throttle(1 << 62), 0.5, time.Hour, ReasonRetryAfterTooLong},
		{"without a hint: our backoff", 0, RateLimited(0), 0.5, time.Second, ""},
		{"a negative hint is none", 0, Throttle(-time.Hour), 0.5, time.Second, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var f facts
			if tt.before > 0 {
				f.until = in(tt.before)
			}
			f = f.apply(tt.event, noon, tt.random, doubling)
			var want time.Time
			if tt.want > 0 {
				want = in(tt.want)
			}
			if !f.until.Equal(want) || f.suspendedFor != tt.reason {
				t.Errorf("until %v reason %q, want %v %q", f.until, f.suspendedFor, want, tt.reason)
			}
		})
	}
}

// Refusals without a hint back off further each time the gate has opened to be
// refused again, not with each of several answers that were in flight together.
func TestRefusalsWithoutHintBackOffFurther(t *testing.T) {
	t.Parallel()
	now, f := noon, facts{}
	for n := range 4 {
		for range 3 {
			f = f.apply(Throttle(0), now, half, func(n int, _ float64) time.Duration { return time.Second << n })
		}
		if f.refusals != n+1 {
			t.Fatalf("%d rounds of refusals were counted as %d", n+1, f.refusals)
		}
		now = f.until
	}
	if f = f.apply(Succeeded(), now, half, doubling); f.refusals != 0 {
		t.Error("a success did not end the row of refusals")
	}
}

func TestThree429sWithinAMinuteAreBackpressure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		at   []time.Duration
		want bool
	}{
		{"two", []time.Duration{0, time.Second}, false},
		{"three at once", []time.Duration{0, 0, 0}, true},
		{"three in a minute", []time.Duration{0, 30 * time.Second, time.Minute}, true},
		{"three in more", []time.Duration{0, 30 * time.Second, time.Minute + 1}, false},
		{"the last three count", []time.Duration{0, 50 * time.Second, 70 * time.Second, 100 * time.Second}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var f facts
			for _, d := range tt.at {
				f = f.apply(RateLimited(time.Second), in(d), 0, doubling)
			}
			if f.pressed != tt.want {
				t.Errorf("pressed = %v", f.pressed)
			}
		})
	}
}

func TestBackpressureEndsDrainedAndQuiet(t *testing.T) {
	t.Parallel()
	begun, ended := Event{kind: batchBegun}, Event{kind: batchEnded}
	press := func(batches int) facts {
		var f facts
		for range batches {
			f = f.apply(begun, noon, 0, doubling)
		}
		for range 3 {
			f = f.apply(RateLimited(time.Second), noon, 0, doubling)
		}
		return f
	}
	state := func(f facts, at time.Duration) State { return f.settle(in(at)).state() }

	f := press(1)
	if got := state(f, 2*time.Second); got != Backpressure {
		t.Errorf("after the throttle: %v", got)
	}
	if got := state(f, 2*time.Minute); got != Backpressure {
		t.Errorf("quiet but not drained: %v", got)
	}
	if drained := f.apply(ended, in(2*time.Minute), 0, doubling); state(drained, 2*time.Minute) != Open || !drained.since.Equal(in(2*time.Minute)) {
		t.Errorf("quiet, then drained: %+v", drained.snapshot())
	}
	f = f.apply(ended, in(10*time.Second), 0, doubling)
	if got := state(f, time.Minute-1); got != Backpressure {
		t.Errorf("drained but not quiet: %v", got)
	}
	if f = f.settle(in(2 * time.Minute)); f.state() != Open || !f.since.Equal(in(time.Minute)) {
		t.Errorf("drained, then quiet: %+v", f.snapshot())
	}
	if late := press(0).apply(RateLimited(time.Second), in(50*time.Second), 0, doubling); state(late, 109*time.Second) != Backpressure || state(late, 110*time.Second) != Open {
		t.Error("the quiet window is not counted from the last 429")
	}
}

func TestFiveFailuresInARowAreAnOutage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		events []Event
		want   State
	}{
		"four":                      {[]Event{Failed(), Failed(), Failed(), Failed()}, Open},
		"five":                      {[]Event{Failed(), Failed(), Failed(), Failed(), Failed()}, Outage},
		"a success between":         {[]Event{Failed(), Failed(), Failed(), Failed(), Succeeded(), Failed()}, Open},
		"an answer between":         {[]Event{Failed(), Failed(), Failed(), Failed(), Throttle(time.Second), Failed()}, Throttled},
		"a suspension does not end": {[]Event{Failed(), Failed(), Failed(), Failed(), Failed(), Suspend("x"), Release()}, Outage},
	} {
		var f facts
		for _, e := range tt.events {
			f = f.apply(e, noon, half, doubling)
		}
		if f.state() != tt.want {
			t.Errorf("%s: %v, want %v", name, f.state(), tt.want)
		}
	}
}

func TestProbesBackOffUntilASuccess(t *testing.T) {
	t.Parallel()
	var f facts
	for range 5 {
		f = f.apply(Failed(), noon, half, doubling)
	}
	now := noon
	for n := range 4 {
		wait := time.Second << n
		if got := f.probeAt.Sub(now); got != wait {
			t.Fatalf("probe %d is due after %v, want %v", n+1, got, wait)
		}
		if f.allows(Probe, f.probeAt.Add(-1)) || !f.allows(Probe, f.probeAt) {
			t.Fatalf("probe %d is not allowed exactly when it is due", n+1)
		}
		now = f.probeAt
		f = f.apply(Event{kind: probeSent}, now, half, doubling)
		if f.allows(Probe, now.Add(time.Hour)) {
			t.Fatal("two probes at once")
		}
		f = f.apply(Failed(), now, half, doubling) // a request sent before the outage
		f = f.apply(Event{kind: failed, probe: f.probes - 1}, now, half, doubling)
		if f.failed != n || !f.probing {
			t.Fatal("a straggler was taken for the probe")
		}
		f = f.apply(Event{kind: failed, probe: f.probes}, now, half, doubling)
	}
	f = f.apply(Event{kind: probeSent}, now, half, doubling)
	f = f.apply(Event{kind: probeAbandoned, probe: f.probes}, now, half, doubling)
	if got := f.probeAt.Sub(now); got != 16*time.Second || f.failed != 4 {
		t.Errorf("after an abandoned probe the next is due after %v with %d failed", got, f.failed)
	}
	f = f.apply(Succeeded(), now, half, doubling)
	if f.state() != Open || f.failed != 0 || f.failures != 0 {
		t.Errorf("after a success: %+v", f)
	}
}

func TestTheFirstReasonOfASuspensionStands(t *testing.T) {
	t.Parallel()
	var f facts
	for _, e := range []Event{Suspend(""), Suspend("unexpected_redirect"), CredentialsRefused(), Throttle(30 * 24 * time.Hour)} {
		f = f.apply(e, noon, half, doubling)
	}
	if f.suspendedFor != ReasonUnclassified {
		t.Errorf("reason %q", f.suspendedFor)
	}
}

func TestStateNames(t *testing.T) {
	t.Parallel()
	for s, want := range map[State]string{Open: "open", Throttled: "throttled", Backpressure: "backpressure", Outage: "outage", Suspended: "suspended", 9: "State(9)", -1: "State(-1)"} {
		if s.String() != want {
			t.Errorf("%d is called %q", int(s), s)
		}
	}
	for k, want := range map[Kind]string{Fresh: "fresh", Retry: "retry", Probe: "probe", 9: "unknown"} {
		if k.String() != want {
			t.Errorf("%d is called %q", int(k), k)
		}
	}
}
