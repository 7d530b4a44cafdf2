package ratelimit

import (
	"fmt"
	"time"
)

// State is what a gate shows to people and schedulers.
type State int

const (
	// Open lets everything through.
	Open State = iota
	// Throttled lets nothing through until an instant, then opens by itself.
	Throttled
	// Backpressure lets started batches go on and no new one begin.
	Backpressure
	// Outage lets one probe through at a time, when it is due.
	Outage
	// Suspended lets nothing through until an operator releases it.
	Suspended
)

var stateNames = [...]string{"open", "throttled", "backpressure", "outage", "suspended"}

func (s State) String() string {
	if s < Open || s > Suspended {
		return fmt.Sprintf("State(%d)", int(s))
	}
	return stateNames[s]
}

// Snapshot is a gate's state at an instant, for status pages and for keeping.
type Snapshot struct {
	State State
	// Until is when the state may change by itself: the end of a throttle, the
	// next probe of an outage, the earliest end of backpressure; when
	// suspended, the hint that still stands after a release. Zero: no such
	// instant.
	Until time.Time
	// Reason says why a gate is suspended; empty otherwise.
	Reason string
	// Since is when State began; zero for a gate that was never anything else
	// than open.
	Since time.Time
}

func (s Snapshot) equal(o Snapshot) bool {
	return s.State == o.State && s.Reason == o.Reason && s.Until.Equal(o.Until) && s.Since.Equal(o.Since)
}

const (
	// outageAfter whole-request failures in a row are an outage.
	outageAfter = 5
	// pressureAfter 429s within quietWindow are backpressure, which lasts until
	// a quietWindow has passed without one.
	pressureAfter = 3
	quietWindow   = 60 * time.Second
	// longestHint is the longest wait a vendor may ask for; beyond it a person
	// looks.
	longestHint = 7 * 24 * time.Hour
	// hintSpread is the share of a hint that is added at random, so that
	// waiters do not come back in step.
	hintSpread = 0.1
)

// facts is all a gate knows. Its parts are independent of each other; the state
// is read off them, strongest first, so that a hint outlives a suspension and
// an outage does not end a throttle. The zero value is an open gate. It is a
// value: every change makes a new one.
type facts struct {
	suspendedFor string
	until        time.Time // the longest hint that stands; zero: none
	refusals     int       // throttles in a row since the last success

	rejections [pressureAfter]time.Time // the latest 429s, newest first
	pressed    bool
	batches    int // batches under way

	failures int // whole-request failures in a row
	down     bool
	probes   uint64 // probes ever sent; the newest one's number
	probing  bool   // that one is out
	failed   int    // probes failed in this outage
	probeAt  time.Time

	since time.Time
}

func (f facts) state() State {
	switch {
	case f.suspendedFor != "":
		return Suspended
	case f.down:
		return Outage
	case !f.until.IsZero():
		return Throttled
	case f.pressed:
		return Backpressure
	}
	return Open
}

func (f facts) snapshot() Snapshot {
	s := Snapshot{State: f.state(), Reason: f.suspendedFor, Since: f.since}
	switch s.State {
	case Suspended, Throttled:
		s.Until = f.until
	case Outage:
		s.Until = latest(f.until, f.probeAt)
	case Backpressure:
		s.Until = f.quietAt()
	case Open:
	}
	return s
}

// quietAt is the earliest end of backpressure.
func (f facts) quietAt() time.Time { return f.rejections[0].Add(quietWindow) }

// change applies a change of the facts and dates the state it leads to.
func (f facts) change(at time.Time, apply func(*facts)) facts {
	before := f.state()
	apply(&f)
	if f.state() != before {
		f.since = at
	}
	return f
}

// settle applies what time alone has changed up to now.
func (f facts) settle(now time.Time) facts {
	if !f.until.IsZero() && !now.Before(f.until) {
		f = f.change(f.until, func(f *facts) { f.until = time.Time{} })
	}
	if f.pressed && f.batches == 0 && !now.Before(f.quietAt()) {
		f = f.change(f.quietAt(), func(f *facts) { f.pressed = false })
	}
	return f
}

// nextChange is the next instant at which settle, or a probe's becoming due,
// may allow more than now; false when only an event can.
func (f facts) nextChange(now time.Time) (time.Time, bool) {
	var next time.Time
	consider := func(applies bool, at time.Time) {
		if applies && at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	consider(!f.until.IsZero(), f.until)
	consider(f.pressed && f.batches == 0, f.quietAt())
	consider(f.down && !f.probing, f.probeAt)
	return next, !next.IsZero()
}

// blocks says whether a request of the kind that was let through before must
// not be sent any more.
func (f facts) blocks(kind Kind, now time.Time) bool {
	f = f.settle(now)
	return f.suspendedFor != "" || !f.until.IsZero() || (f.down && kind != Probe)
}

// allows says whether a request of the kind may be begun. Of a batch already
// begun, that is: see allowsBatch.
func (f facts) allows(kind Kind, now time.Time) bool {
	if f.blocks(kind, now) {
		return false
	}
	return !f.down || (!f.probing && !now.Before(f.probeAt))
}

// allowsBatch says whether a batch of which nothing was sent may be begun.
func (f facts) allowsBatch(now time.Time) bool { return f.settle(now).state() == Open }
