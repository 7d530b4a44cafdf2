package ratelimit

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newConnection(t *testing.T, concurrency int, limits ...Limit) *Connection {
	t.Helper()
	return NewConnection(newGate(t), must[*Turns](t)(NewTurns(concurrency, 0)), must[*Local](t)(NewLocal(limits...)))
}

func TestAPassHoldsItsPlaceUntilItLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnection(t, 1, Limit{10, time.Second, 0})
		first := must[*Pass](t)(c.Enter(t.Context(), flowA, Fresh))
		if err := first.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		var second sync.WaitGroup
		start := time.Now()
		second.Go(func() {
			pass, err := c.Enter(t.Context(), flowB, Fresh)
			if err != nil {
				t.Error(err)
				return
			}
			pass.Leave()
		})
		pause(time.Minute) // the vendor answers
		if c.InFlight() != 1 {
			t.Errorf("%d in flight", c.InFlight())
		}
		first.Leave()
		first.Leave()
		second.Wait()
		if waited := time.Since(start); waited != time.Minute || c.InFlight() != 0 {
			t.Errorf("the second entered after %v, %d in flight", waited, c.InFlight())
		}
	})
}

func TestAClosedGateHoldsNoWorker(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		event Event
		state State
	}{
		{"throttled", Throttle(18 * time.Hour), Throttled},
		{"suspended", Suspend("unexpected_redirect"), Suspended},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newConnection(t, 3, Limit{1, time.Hour, 0})
				// Of four, two wait to be admitted and two for a turn.
				pause(time.Hour + 72*time.Second)
				holder := must[*Pass](t)(c.Enter(t.Context(), flowA, Fresh))
				if err := holder.Take(t.Context()); err != nil {
					t.Fatal(err)
				}
				var waiting sync.WaitGroup
				for range 4 {
					waiting.Go(func() { wantClosed(t, c, tt.state) })
				}
				synctest.Wait()
				start := time.Now()
				holder.Report(tt.event)
				waiting.Wait()
				wantClosed(t, c, tt.state)
				if waited := time.Since(start); waited != 0 {
					t.Errorf("workers were held for %v", waited)
				}
				holder.Leave()
				if c.InFlight() != 0 || len(c.gate.watches) != 0 {
					t.Errorf("left behind: %d in flight, %d watches", c.InFlight(), len(c.gate.watches))
				}
			})
		})
	}
}

func wantClosed(t *testing.T, c *Connection, state State) {
	t.Helper()
	var closed *ClosedError
	if _, err := c.Enter(t.Context(), flowA, Fresh); !errors.As(err, &closed) || closed.Gate.State != state {
		t.Errorf("Enter = %v, want closed: %v", err, state)
	}
}

// A hint that arrives between an attempt's commit and its token still holds it.
func TestNoTokenIsTakenBehindAClosedGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnection(t, 2, Limit{1, time.Second, 0})
		before := must[*Pass](t)(c.Enter(t.Context(), flowA, Fresh))
		defer before.Leave()
		c.Gate().Report(Throttle(time.Minute))
		if err := before.Take(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Take = %v", err)
		}
		if err := before.Take(t.Context()); err == nil {
			t.Error("a pass that was refused took a token later")
		}
	})
}

func TestATakeThatWaitsIsEndedByTheGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnection(t, 2, Limit{1, time.Second, 0})
		pass := must[*Pass](t)(c.Enter(t.Context(), flowA, Fresh)) // due in 100 ms
		defer pass.Leave()
		var report sync.WaitGroup
		report.Go(func() { pause(50 * time.Millisecond); c.Gate().Report(Suspend("x")) })
		start := time.Now()
		if err := pass.Take(t.Context()); !errors.Is(err, ErrClosed) || time.Since(start) != 50*time.Millisecond {
			t.Errorf("Take = %v after %v", err, time.Since(start))
		}
		report.Wait()
	})
}

func TestBackpressureLetsPassesThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnection(t, 1, Limit{1, time.Second, 0})
		end := must[func()](t)(c.Gate().BeginBatch(false))
		defer end()
		for range pressureAfter {
			c.Gate().Report(RateLimited(time.Second))
		}
		pause(time.Minute)
		if got := c.Gate().Snapshot().State; got != Backpressure {
			t.Fatalf("state %v", got)
		}
		pass := must[*Pass](t)(c.Enter(t.Context(), flowA, Fresh))
		defer pass.Leave()
		if err := pass.Take(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestAnOutageLetsOneProbeThroughAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnection(t, 4, Limit{100, time.Second, 0})
		g := c.Gate()
		takeDown(g)
		enter := func(kind Kind) (*Pass, error) { return c.Enter(t.Context(), flowA, kind) }
		refused := func(kind Kind, when string) {
			t.Helper()
			if _, err := enter(kind); !errors.Is(err, ErrClosed) {
				t.Errorf("%v %s: %v", kind, when, err)
			}
		}
		refused(Probe, "before it is due")
		if err := g.Wait(t.Context(), Probe); err != nil {
			t.Fatal(err)
		}
		refused(Fresh, "in an outage")
		refused(Retry, "in an outage")

		probe := must[*Pass](t)(enter(Probe))
		refused(Probe, "beside another")
		if err := probe.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		probe.Report(Failed())
		probe.Leave()
		if err := g.Wait(t.Context(), Probe); err != nil {
			t.Fatal(err)
		}
		void := must[*Pass](t)(enter(Probe)) // never written
		void.Leave()
		if err := g.Wait(t.Context(), Probe); err != nil {
			t.Fatal(err)
		}
		good := must[*Pass](t)(enter(Probe))
		defer good.Leave()
		if err := good.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		if now, changed := good.Report(Succeeded()); now.State != Open || !changed {
			t.Errorf("after a good probe: %v %v", now.State, changed)
		}
		must[*Pass](t)(enter(Fresh)).Leave()
	})
}

func TestAProbeThatIsNotLetInIsNotOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnection(t, 1, Limit{100, time.Second, 0})
		stuck := must[*Pass](t)(c.Enter(t.Context(), flowA, Fresh))
		defer stuck.Leave()
		takeDown(c.Gate())
		pause(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Enter(ctx, flowA, Probe); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Enter = %v", err)
		}
		if err := c.Gate().Wait(t.Context(), Probe); err != nil {
			t.Fatal(err)
		}
	})
}

// A small batch behind a large one, through gate, turns and pacer: the small
// one's four workers get half of the sends, not one in ten.
func TestTurnsHoldAcrossTheWholeConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnection(t, 4, Limit{10, time.Second, 0.2})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var mu sync.Mutex
		sent := map[Flow]int{}
		var workers sync.WaitGroup
		work := func(flow Flow, seed uint64) {
			r := seeded(seed)
			for {
				pass, err := c.Enter(ctx, flow, Fresh)
				if err != nil {
					return
				}
				pause(within(r, 20*time.Millisecond)) // commit
				if pass.Take(ctx) == nil {
					mu.Lock()
					sent[flow]++
					mu.Unlock()
					pause(within(r, 200*time.Millisecond)) // the vendor
				}
				pass.Leave()
			}
		}
		for i := range uint64(40) {
			workers.Go(func() { work(flowA, i) })
		}
		for i := range uint64(4) {
			workers.Go(func() { work(flowB, 100+i) })
		}
		workers.Wait()
		total := sent[flowA] + sent[flowB]
		if total < 940 || sent[flowB] < total*48/100 {
			t.Errorf("large %d, small %d; 960 were permitted", sent[flowA], sent[flowB])
		}
	})
}
