package ratelimit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var flowA, flowB, flowC = Flow{"acme", "2026-07"}, Flow{"acme", "2026-08"}, Flow{"zeta", "2026-07"}

func TestTurnsRefuseWhatNeverGrants(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]int{{0, 0}, {-1, 1}, {1, -1}} {
		if _, err := NewTurns(c[0], c[1]); err == nil {
			t.Errorf("NewTurns(%d, %d) was accepted", c[0], c[1])
		}
	}
}

// asking queues up for a turn and notes, in order, who got one; each holds it
// until its test says leave.
type asking struct {
	turns *Turns
	mu    sync.Mutex
	got   []string
	held  []*Turn
	wg    sync.WaitGroup
}

func (a *asking) ask(t *testing.T, ctx context.Context, flow Flow, name string) {
	t.Helper()
	a.wg.Go(func() {
		turn, err := a.turns.Enter(ctx, flow)
		a.mu.Lock()
		defer a.mu.Unlock()
		if err != nil {
			a.got = append(a.got, "-"+name)
			return
		}
		a.got = append(a.got, name)
		a.held = append(a.held, turn)
	})
	synctest.Wait()
}

func (a *asking) leaveOldest() {
	a.mu.Lock()
	turn := a.held[0]
	a.held = a.held[1:]
	a.mu.Unlock()
	turn.Leave()
	synctest.Wait()
}

func (a *asking) want(t *testing.T, names ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.got, names) {
		t.Fatalf("turns went to %v, want %v", a.got, names)
	}
}

// finish lets everyone through and checks that nothing is left behind.
func (a *asking) finish(t *testing.T) {
	t.Helper()
	for len(a.held) > 0 {
		a.leaveOldest()
	}
	a.wg.Wait()
	if a.turns.InFlight() != 0 || len(a.turns.flows) != 0 || len(a.turns.ring) != 0 {
		t.Errorf("left behind: %d in flight, %d flows, %d in the ring", a.turns.InFlight(), len(a.turns.flows), len(a.turns.ring))
	}
}

func TestTurnsGoRoundRobinOverFlows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &asking{turns: must[*Turns](t)(NewTurns(1, 0))}
		for _, name := range []string{"a1", "a2", "a3", "a4"} {
			a.ask(t, t.Context(), flowA, name)
		}
		a.ask(t, t.Context(), flowB, "b1")
		a.ask(t, t.Context(), flowB, "b2")
		a.ask(t, t.Context(), flowC, "c1")
		a.want(t, "a1")
		for range 6 {
			a.leaveOldest()
		}
		a.want(t, "a1", "a2", "b1", "c1", "a3", "b2", "a4")
		a.finish(t)
	})
}

// A flow whose only worker comes back for each request gets every second turn
// beside one with many waiting.
func TestAFlowOfOneIsNotStarvedByAFlowOfMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := must[*Turns](t)(NewTurns(2, 0))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		var mu sync.Mutex
		served := map[Flow]int{}
		var workers sync.WaitGroup
		work := func(flow Flow) {
			for {
				turn, err := turns.Enter(ctx, flow)
				if err != nil {
					return
				}
				pause(time.Second)
				turn.Leave()
				mu.Lock()
				served[flow]++
				mu.Unlock()
			}
		}
		for range 50 {
			workers.Go(func() { work(flowA) })
		}
		workers.Go(func() { work(flowB) })
		workers.Wait()
		// Alone, one worker does a hundred in a hundred seconds; here it also
		// waits for a place, never for more than one other.
		if served[flowB] < 49 {
			t.Errorf("the flow of one was served %d times, the flow of fifty %d times", served[flowB], served[flowA])
		}
	})
}

func TestTurnsCapEachFlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &asking{turns: must[*Turns](t)(NewTurns(3, 2))}
		for _, name := range []string{"a1", "a2", "a3"} {
			a.ask(t, t.Context(), flowA, name)
		}
		a.want(t, "a1", "a2")
		a.ask(t, t.Context(), flowB, "b1")
		a.ask(t, t.Context(), flowB, "b2")
		a.want(t, "a1", "a2", "b1")
		a.leaveOldest()
		a.want(t, "a1", "a2", "b1", "a3")
		if n := a.turns.InFlight(); n != 3 {
			t.Errorf("%d in flight, want 3", n)
		}
		a.finish(t)
	})
}

func TestWithdrawnRequestsForATurnLeaveNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &asking{turns: must[*Turns](t)(NewTurns(1, 0))}
		reason := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		a.ask(t, t.Context(), flowA, "a1")
		a.ask(t, ctx, flowA, "a2")
		a.ask(t, ctx, flowB, "b1")
		a.ask(t, t.Context(), flowC, "c1")
		cancel(reason)
		synctest.Wait()
		a.leaveOldest()
		a.finish(t)
		if got := a.got[len(a.got)-1]; got != "c1" {
			t.Errorf("turns went to %v", a.got)
		}
		if _, err := a.turns.Enter(ctx, flowA); !errors.Is(err, reason) {
			t.Errorf("Enter = %v, want the cause", err)
		}
	})
}

func TestATurnIsLeftOnce(t *testing.T) {
	t.Parallel()
	turns := must[*Turns](t)(NewTurns(2, 0))
	first := must[*Turn](t)(turns.Enter(t.Context(), flowA))
	must[*Turn](t)(turns.Enter(t.Context(), flowA))
	first.Leave()
	first.Leave()
	if n := turns.InFlight(); n != 1 {
		t.Errorf("%d in flight after one of two left twice", n)
	}
}

// A turn granted in the instant its asker gave up goes on to the next.
func TestATurnGrantedTooLateIsPassedOn(t *testing.T) {
	t.Parallel()
	turns := must[*Turns](t)(NewTurns(1, 0))
	late := turns.queue(flowA)
	turns.withdraw(late)
	if n := turns.InFlight(); n != 0 {
		t.Fatalf("%d in flight", n)
	}
	must[*Turn](t)(turns.Enter(t.Context(), flowB)).Leave()
}
