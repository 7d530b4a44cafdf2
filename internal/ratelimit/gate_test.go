package ratelimit

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newGate(t *testing.T) *Gate {
	t.Helper()
	return must[*Gate](t)(NewGate(GateConfig{Backoff: doubling, Random: func() float64 { return 0.5 }}))
}

func TestAGateNeedsBackoffAndRandomness(t *testing.T) {
	t.Parallel()
	for _, c := range []GateConfig{{}, {Backoff: doubling}, {Random: func() float64 { return 0 }}} {
		if _, err := NewGate(c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func TestReportSaysWhatHasToBeKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		steps := []struct {
			event   Event
			state   State
			changed bool
		}{
			{Succeeded(), Open, false},
			{Failed(), Open, false},
			{Throttle(time.Minute), Throttled, true},
			{Throttle(time.Second), Throttled, false},
			{Throttle(time.Hour), Throttled, true},
			{Suspend("x"), Suspended, true},
			{Suspend("y"), Suspended, false},
			{Release(), Throttled, true},
		}
		for i, step := range steps {
			got, changed := g.Report(step.event)
			if got.State != step.state || changed != step.changed {
				t.Fatalf("step %d: %v changed %v, want %v %v", i, got.State, changed, step.state, step.changed)
			}
		}
		pause(2 * time.Hour) // the throttle ends by itself, and the next report says so
		if got, changed := g.Report(Succeeded()); got.State != Open || !changed {
			t.Errorf("after the throttle: %v changed %v", got.State, changed)
		}
	})
}

func TestRestoredGatesGoOnWhereTheyWere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, s := range []Snapshot{
			{State: Open, Since: now.Add(-time.Hour)},
			{State: Throttled, Until: now.Add(time.Minute), Since: now.Add(-time.Hour)},
			{State: Suspended, Reason: "credentials", Until: now.Add(time.Minute), Since: now.Add(-time.Hour)},
			{State: Suspended, Reason: "credentials", Since: now.Add(-time.Hour)},
			{State: Outage, Until: now.Add(time.Minute), Since: now.Add(-time.Hour)},
			{State: Backpressure, Until: now.Add(time.Minute), Since: now.Add(-time.Hour)},
		} {
			g := newGate(t)
			if err := g.Restore(s); err != nil {
				t.Fatal(err)
			}
			if got := g.Snapshot(); !got.equal(s) {
				t.Errorf("restored %+v as %+v", s, got)
			}
		}
	})
}

func TestRestoreEdges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		past := time.Now().Add(-time.Second)
		if err := g.Restore(Snapshot{State: Throttled, Until: past, Since: past.Add(-time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if got := g.Snapshot(); got.State != Open || !got.Since.Equal(past) {
			t.Errorf("a throttle that ended before the start: %+v", got)
		}
		if err := g.Restore(Snapshot{State: Suspended}); err != nil || g.Snapshot().Reason != ReasonUnclassified {
			t.Errorf("a suspension without a reason: %v %+v", err, g.Snapshot())
		}
		if err := g.Restore(Snapshot{State: 17}); err == nil {
			t.Error("an unknown state was restored")
		}
	})
}

// The gate's clock may be the store's: what it says is told in that clock.
func TestAGateTellsItsOwnClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		store := time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)
		g := must[*Gate](t)(NewGate(GateConfig{
			Backoff: doubling,
			Random:  func() float64 { return 0 },
			Now:     func() time.Time { return store.Add(time.Since(start)) },
		}))
		got, _ := g.Report(Throttle(time.Minute))
		if !got.Until.Equal(store.Add(time.Minute)) || !got.Since.Equal(store) {
			t.Errorf("snapshot %+v", got)
		}
		if err := g.Wait(t.Context(), Fresh); err != nil || time.Since(start) != time.Minute {
			t.Errorf("Wait = %v after %v", err, time.Since(start))
		}
	})
}

func TestWaitReturnsWhenTheGateAllows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		kind  Kind
		setup func(*Gate)
		later func(*Gate) // after ten seconds
		want  time.Duration
	}{
		{"open", Fresh, func(*Gate) {}, nil, 0},
		{"throttled", Fresh, func(g *Gate) { g.Report(Throttle(time.Minute)) }, nil, 63 * time.Second},
		{"throttled longer meanwhile", Fresh, func(g *Gate) { g.Report(Throttle(time.Minute)) }, func(g *Gate) { g.Report(Throttle(time.Hour)) }, 10*time.Second + 63*time.Minute},
		{"suspended until released", Retry, func(g *Gate) { g.Report(Suspend("x")) }, func(g *Gate) { g.Report(Release()) }, 10 * time.Second},
		{"outage: the probe", Probe, takeDown, nil, time.Second},
		{"outage: everyone else", Fresh, takeDown, func(g *Gate) { g.Report(Succeeded()) }, 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, start := newGate(t), time.Now()
				tt.setup(g)
				var later sync.WaitGroup
				if tt.later != nil {
					later.Go(func() { pause(10 * time.Second); tt.later(g) })
				}
				err := g.Wait(t.Context(), tt.kind)
				if waited := time.Since(start); err != nil || waited != tt.want {
					t.Errorf("Wait = %v after %v, want %v", err, waited, tt.want)
				}
				later.Wait()
			})
		})
	}
}

func takeDown(g *Gate) {
	for range outageAfter {
		g.Report(Failed())
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.Report(Suspend("x"))
		reason := errors.New("stopping")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, reason)
		defer cancel()
		if err := g.Wait(ctx, Fresh); !errors.Is(err, reason) {
			t.Errorf("Wait = %v", err)
		}
	})
}

func TestBackpressureLetsStartedBatchesFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, start := newGate(t), time.Now()
		end := must[func()](t)(g.BeginBatch(false))
		for range pressureAfter {
			g.Report(RateLimited(time.Second))
		}
		pause(2 * time.Second)
		if !g.Allows(Fresh) {
			t.Error("lines of a started batch do not go on")
		}
		var closed *ClosedError
		if _, err := g.BeginBatch(false); !errors.As(err, &closed) || closed.Gate.State != Backpressure {
			t.Errorf("a new batch: %v", err)
		}
		endResumed := must[func()](t)(g.BeginBatch(true))
		var drain sync.WaitGroup
		drain.Go(func() {
			pause(88 * time.Second)
			end()
			end() // does nothing: the other one is still under way
			pause(30 * time.Second)
			endResumed()
		})
		if err := g.WaitForNewBatch(t.Context()); err != nil || time.Since(start) != 2*time.Minute {
			t.Errorf("WaitForNewBatch = %v after %v", err, time.Since(start))
		}
		drain.Wait()
	})
}

func TestChangedIsClosedByEachChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		changed := g.Changed()
		g.Report(Succeeded()) // alters nothing
		select {
		case <-changed:
			t.Fatal("closed without a change")
		default:
		}
		g.Report(Suspend("x"))
		<-changed
	})
}

func TestAClosedErrorSaysWhy(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Snapshot{
		"ratelimit: the gate is closed: suspended: credentials": {State: Suspended, Reason: ReasonCredentials},
		"ratelimit: the gate is closed: outage":                 {State: Outage},
	} {
		if err := error(&ClosedError{Gate: s}); err.Error() != want || !errors.Is(err, ErrClosed) {
			t.Errorf("%q", err)
		}
	}
}
