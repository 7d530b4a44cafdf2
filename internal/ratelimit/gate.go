package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrClosed is what every refusal of a gate is (errors.Is).
var ErrClosed = errors.New("ratelimit: the gate is closed")

// ClosedError is a refusal with the state that caused it.
type ClosedError struct{ Gate Snapshot }

func (e *ClosedError) Error() string {
	if e.Gate.Reason != "" {
		return fmt.Sprintf("%v: %v: %s", ErrClosed, e.Gate.State, e.Gate.Reason)
	}
	return fmt.Sprintf("%v: %v", ErrClosed, e.Gate.State)
}

// Unwrap makes a ClosedError an ErrClosed.
func (e *ClosedError) Unwrap() error { return ErrClosed }

// GateConfig is what a gate does not know by itself.
type GateConfig struct {
	// Backoff is the wait before a probe, and after a refusal that names no
	// hint. Required.
	Backoff Backoff
	// Now is the clock that hints and snapshots are told in; nil: time.Now.
	// Give it the store's time to make snapshots fit for keeping. It must run
	// at the speed of the monotonic clock.
	Now func() time.Time
	// Random draws from [0, 1). Required.
	Random func() float64
}

// Gate says whether a connection may be used. It is told events, and lets
// workers know at once when it closes. It is safe for concurrent use, owns no
// goroutine and stores nothing: who reports an event keeps the snapshot it gets
// back.
type Gate struct {
	config GateConfig

	mu      sync.Mutex
	facts   facts
	changed chan struct{}
	watches map[*watch]struct{}
}

// watch ends the context of someone who waits for a turn or a token.
type watch struct {
	kind Kind
	end  context.CancelCauseFunc
}

// NewGate makes an open gate.
func NewGate(config GateConfig) (*Gate, error) {
	if config.Backoff == nil || config.Random == nil {
		return nil, errors.New("ratelimit: a gate needs a backoff and a source of randomness")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Gate{config: config, changed: make(chan struct{}), watches: map[*watch]struct{}{}}, nil
}

// Restore puts a new gate into a state that was kept, told in the gate's own
// clock. It refuses a state that does not exist.
func (g *Gate) Restore(s Snapshot) error {
	f := facts{since: s.Since, until: s.Until}
	switch s.State {
	case Open:
		f.until = time.Time{}
	case Throttled:
	case Suspended:
		f.suspend(s.Reason)
	case Outage:
		f.down, f.probeAt = true, s.Until
	case Backpressure:
		f.until = time.Time{}
		f.pressed, f.rejections[0] = true, s.Until.Add(-quietWindow)
	default:
		return fmt.Errorf("ratelimit: no gate has the state %v", s.State)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	f.batches = g.facts.batches
	g.replace(f)
	return nil
}

// Snapshot is the gate's state now.
func (g *Gate) Snapshot() Snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.facts.settle(g.config.Now()).snapshot()
}

// Report tells the gate an event. It returns the state after it, and whether
// that differs from the state after the report before, and so has to be kept.
// When it returns, no request that the new state forbids can take a token.
func (g *Gate) Report(e Event) (now Snapshot, changed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.facts.snapshot()
	g.apply(e)
	after := g.facts.snapshot()
	return after, !after.equal(before)
}

// Allows says whether a request of the kind may be begun now, for a batch that
// is under way.
func (g *Gate) Allows(kind Kind) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.facts.allows(kind, g.config.Now())
}

// BeginBatch counts a batch as under way until end is called: when it is at
// rest, finished or waiting for nothing but time. A batch of which nothing was
// sent yet is refused (ErrClosed) unless the gate is open; one begun earlier is
// not, whatever the state, since backpressure lets those finish.
func (g *Gate) BeginBatch(begunEarlier bool) (end func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.config.Now()
	if !begunEarlier && !g.facts.allowsBatch(now) {
		return nil, g.refusal(now)
	}
	g.apply(Event{kind: batchBegun})
	return sync.OnceFunc(func() { g.Report(Event{kind: batchEnded}) }), nil
}

// Changed is closed at the next event that alters anything. Time alters things
// too: see Snapshot.Until, or use the Wait functions.
func (g *Gate) Changed() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// Wait returns when a request of the kind may be begun, or with the cause when
// ctx ends. It is for schedulers: a worker that waits here holds no place, and
// has to expect that Enter refuses it all the same.
func (g *Gate) Wait(ctx context.Context, kind Kind) error {
	return g.waitUntil(ctx, func(f facts, now time.Time) bool { return f.allows(kind, now) })
}

// WaitForNewBatch is Wait for BeginBatch of a new batch.
func (g *Gate) WaitForNewBatch(ctx context.Context) error {
	return g.waitUntil(ctx, facts.allowsBatch)
}

func (g *Gate) waitUntil(ctx context.Context, allowed func(facts, time.Time) bool) error {
	for {
		ok, changed, expired, stop := g.look(allowed)
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-expired:
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		}
		stop()
	}
}

// look is one turn of waitUntil: the answer, or the two things to wait for.
func (g *Gate) look(allowed func(facts, time.Time) bool) (ok bool, changed <-chan struct{}, expired <-chan time.Time, stop func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.config.Now()
	if allowed(g.facts, now) {
		return true, nil, nil, func() {}
	}
	next, timed := g.facts.settle(now).nextChange(now)
	if !timed {
		return false, g.changed, nil, func() {}
	}
	timer := time.NewTimer(next.Sub(now))
	return false, g.changed, timer.C, func() { timer.Stop() }
}

// enter begins a request: it refuses, or returns the number of the probe that
// this request is now (0: none).
func (g *Gate) enter(kind Kind) (probe uint64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.config.Now()
	if !g.facts.allows(kind, now) {
		return 0, g.refusal(now)
	}
	if kind != Probe || !g.facts.down {
		return 0, nil
	}
	g.apply(Event{kind: probeSent})
	return g.facts.probes, nil
}

// watch derives a context that ends, with a ClosedError as its cause, as soon
// as the gate forbids what was begun. The caller calls stop when it has stopped
// waiting.
func (g *Gate) watch(ctx context.Context, kind Kind) (watched context.Context, stop func()) {
	watched, end := context.WithCancelCause(ctx)
	w := &watch{kind: kind, end: end}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watches[w] = struct{}{}
	g.endForbidden(g.config.Now())
	return watched, func() {
		g.mu.Lock()
		delete(g.watches, w)
		g.mu.Unlock()
		end(nil)
	}
}

func (g *Gate) apply(e Event) {
	g.replace(g.facts.apply(e, g.config.Now(), g.config.Random(), g.config.Backoff))
}

func (g *Gate) replace(f facts) {
	if f == g.facts {
		return
	}
	g.facts = f
	close(g.changed)
	g.changed = make(chan struct{})
	g.endForbidden(g.config.Now())
}

func (g *Gate) endForbidden(now time.Time) {
	for w := range g.watches {
		if g.facts.blocks(w.kind, now) {
			w.end(g.refusal(now))
		}
	}
}

func (g *Gate) refusal(now time.Time) error {
	return &ClosedError{Gate: g.facts.settle(now).snapshot()}
}
