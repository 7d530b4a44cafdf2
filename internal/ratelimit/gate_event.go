package ratelimit

import "time"

// Reasons for a suspension that the gate gives itself. Callers have others of
// their own; a reason is a machine-readable word.
const (
	ReasonRetryAfterTooLong = "retry_after_too_long"
	ReasonCredentials       = "credentials"
	ReasonUnclassified      = "unclassified"
)

// Event is something that bears on a gate: the effect of an answer, or a
// person's act. Make one with the functions below.
type Event struct {
	kind   eventKind
	hint   time.Duration
	reason string
	probe  uint64 // the number of the probe it came from; 0: none
}

type eventKind int

const (
	succeeded eventKind = iota
	failed
	throttled
	rateLimited
	suspended
	released
	probeSent
	probeAbandoned
	batchBegun
	batchEnded
)

// Succeeded: the vendor took a request and answered it, whatever became of the
// lines. The first one ends an outage.
func Succeeded() Event { return Event{kind: succeeded} }

// Failed: a whole request failed without an answer that could be read as the
// vendor's. Five in a row are an outage.
func Failed() Event { return Event{kind: failed} }

// Throttle: the vendor asked to wait so long, and it was not a 429. A hint of
// zero or less is none: our own backoff takes its place.
func Throttle(hint time.Duration) Event { return Event{kind: throttled, hint: hint} }

// RateLimited: a whole request was answered 429, with the hint if it had one.
// Beside the throttle, three of them within 60 s are backpressure.
func RateLimited(hint time.Duration) Event { return Event{kind: rateLimited, hint: hint} }

// Suspend: the configuration or the account is wrong, a person has to look. An
// empty reason is ReasonUnclassified; of several, the first stands.
func Suspend(reason string) Event { return Event{kind: suspended, reason: reason} }

// CredentialsRefused: the refresh of a credential failed, or did not help.
func CredentialsRefused() Event { return Suspend(ReasonCredentials) }

// Release: an operator clears a suspension. Nothing else does, and it clears
// nothing else: an outage outlives it, and so does a hint, unless it was the one
// too long to be waited for.
func Release() Event { return Event{kind: released} }

// Backoff is our own wait before try n, n from 0; random lies in [0, 1).
type Backoff func(n int, random float64) time.Duration

// apply is the whole behaviour of a gate: what it knows after an event. random
// lies in [0, 1).
func (f facts) apply(e Event, now time.Time, random float64, backoff Backoff) facts {
	return f.settle(now).change(now, func(f *facts) {
		switch e.kind {
		case succeeded:
			f.succeed()
		case failed:
			f.fail(e.probe, now, random, backoff)
		case throttled:
			f.throttle(e.hint, now, random, backoff)
		case rateLimited:
			f.reject(now)
			f.throttle(e.hint, now, random, backoff)
		case suspended:
			f.suspend(e.reason)
		case released:
			f.suspendedFor = ""
		case probeSent:
			f.probes++
			f.probing = true
		case probeAbandoned:
			f.abandon(e.probe, now, random, backoff)
		case batchBegun:
			f.batches++
		case batchEnded:
			f.endBatch(now)
		}
	})
}

func (f *facts) succeed() {
	f.failures, f.refusals, f.failed = 0, 0, 0
	f.down, f.probing, f.probeAt = false, false, time.Time{}
}

// fail counts towards an outage; during one, only the probe that is out says
// anything new, and stragglers sent before it do not.
func (f *facts) fail(probe uint64, now time.Time, random float64, backoff Backoff) {
	if f.down {
		if f.isOut(probe) {
			f.failed++
			f.scheduleProbe(now, random, backoff)
		}
		return
	}
	f.failures++
	if f.failures >= outageAfter {
		f.down, f.failed = true, 0
		f.scheduleProbe(now, random, backoff)
	}
}

// abandon: a probe ended without news of the outage. The next one waits its
// backoff, which does not grow.
func (f *facts) abandon(probe uint64, now time.Time, random float64, backoff Backoff) {
	if f.down && f.isOut(probe) {
		f.scheduleProbe(now, random, backoff)
	}
}

func (f *facts) isOut(probe uint64) bool { return f.probing && probe == f.probes }

func (f *facts) scheduleProbe(now time.Time, random float64, backoff Backoff) {
	f.probing = false
	f.probeAt = now.Add(backoff(f.failed, random))
}

// throttle waits the hint and up to a tenth more, never less; a hint that ends
// earlier than one that stands changes nothing. An answer that asks to wait is
// an answer: it interrupts a row of failures, but does not end an outage.
func (f *facts) throttle(hint time.Duration, now time.Time, random float64, backoff Backoff) {
	f.failures = 0
	if hint > longestHint {
		f.suspend(ReasonRetryAfterTooLong)
		return
	}
	wait := hint + time.Duration(hintSpread*random*float64(hint))
	if hint <= 0 {
		wait = backoff(f.refusals, random)
	}
	// Answers to requests that were in flight together are one refusal.
	if f.until.IsZero() {
		f.refusals++
	}
	f.until = latest(f.until, now.Add(wait))
}

func (f *facts) reject(now time.Time) {
	copy(f.rejections[1:], f.rejections[:pressureAfter-1])
	f.rejections[0] = now
	oldest := f.rejections[pressureAfter-1]
	if !oldest.IsZero() && now.Sub(oldest) <= quietWindow {
		f.pressed = true
	}
}

func (f *facts) suspend(reason string) {
	if f.suspendedFor != "" {
		return
	}
	if reason == "" {
		reason = ReasonUnclassified
	}
	f.suspendedFor = reason
}

// endBatch also ends backpressure, if this was the last one it waited for.
func (f *facts) endBatch(now time.Time) {
	f.batches--
	if f.batches == 0 && !now.Before(f.quietAt()) {
		f.pressed = false
	}
}
