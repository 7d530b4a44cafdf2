package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// newPacer makes a pacer of some kind, or fails the test.
type newPacer func(t *testing.T, limits ...Limit) Pacer

func TestLocalPacer(t *testing.T) {
	t.Parallel()
	testPacer(t, func(t *testing.T, limits ...Limit) Pacer {
		t.Helper()
		return must[*Local](t)(NewLocal(limits...))
	})
}

// testPacer is what every Pacer promises.
func testPacer(t *testing.T, create newPacer) {
	cases := []struct {
		name string
		test func(*testing.T, newPacer)
	}{
		{"no window over the limit", testWindows},
		{"permitted rate is used", testRate},
		{"first come first served within a kind", testOrder},
		{"retries pass fresh lines that leave headroom", testHeadroom},
		{"neither kind starves the other", testNoStarving},
		{"admitted when due within 100 ms", testLead},
		{"a ticket given back costs nothing", testCancelled},
		{"a ticket given back lets the next one in", testPlaceGivenBack},
		{"a take that ended costs nothing", testEndedTake},
		{"an ended context is refused", testEndedContext},
		{"a ticket serves once", testSpentTicket},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, create)
		})
	}
}

// limitLists are the limits every pacer is measured with.
func limitLists() [][]Limit {
	one, three, ten := Limit{1, time.Second, 0.2}, Limit{3, time.Second, 0.2}, Limit{10, time.Second, 0.2}
	minute := Limit{200, time.Minute, 0.2}
	return [][]Limit{
		{one},
		{three},
		{ten},
		{minute},
		{ten, minute},
		{three, {100, time.Minute, 0}},
		{{1, time.Second, 0}},
		{{500, time.Second, 0.2}},
	}
}

// traffic is a number of workers that send as fast as they are let.
type traffic struct {
	fresh, retry int
	commit       time.Duration // an attempt's commit takes up to so long
	idle         time.Duration // a worker rests up to so long between sends
}

type sending struct {
	taken   time.Time // the instant Take returned
	arrived time.Time // the instant the vendor read it
}

// run sends for so long of fake time. After Take, writing takes up to a quarter
// of the slack and the way up to a half: with the quarter a pacer may grant to
// late timers, all the slack there is.
func (tr traffic) run(t *testing.T, p Pacer, slack, length time.Duration, seed uint64) []sending {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var mu sync.Mutex
	var sent []sending
	var workers sync.WaitGroup
	for i := range tr.fresh + tr.retry {
		kind, r := Retry, seeded(seed<<16+uint64(i))
		if i < tr.fresh {
			kind = Fresh
		}
		workers.Go(func() {
			for tr.send(ctx, p, kind, r) == nil {
				taken := time.Now()
				arrived := taken.Add(within(r, slack/4) + within(r, slack/2))
				mu.Lock()
				sent = append(sent, sending{taken, arrived})
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return sent
}

func (tr traffic) send(ctx context.Context, p Pacer, kind Kind, r *rand.Rand) error {
	pause(within(r, tr.idle))
	ticket, err := p.Admit(ctx, kind)
	if err != nil {
		return err
	}
	defer ticket.Cancel()
	pause(within(r, tr.commit))
	return ticket.Take(ctx)
}

// checkWindows fails if a closed window of a limit's length saw more than its
// limit.
func checkWindows(t *testing.T, sent []sending, limits []Limit) {
	t.Helper()
	arrivals := make([]time.Time, len(sent))
	for i, s := range sent {
		arrivals[i] = s.arrived
	}
	slices.SortFunc(arrivals, time.Time.Compare)
	for _, l := range limits {
		for i := l.Requests; i < len(arrivals); i++ {
			if span := arrivals[i].Sub(arrivals[i-l.Requests]); span <= l.Per {
				t.Fatalf("%d requests within %v, limit %d per %v", l.Requests+1, span, l.Requests, l.Per)
			}
		}
	}
}

func testWindows(t *testing.T, create newPacer) {
	commits := map[string]traffic{
		"saturated":    {fresh: 8, retry: 3, commit: 40 * time.Millisecond},
		"slow commits": {fresh: 6, retry: 6, commit: 400 * time.Millisecond},
		"bursts":       {fresh: 12, retry: 4, commit: 5 * time.Millisecond, idle: 20 * time.Second},
	}
	for _, limits := range limitLists() {
		pace := must[Pace](t)(PaceOf(limits...))
		for name, tr := range commits {
			t.Run(fmt.Sprintf("%v %s", limits, name), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(3) {
					synctest.Test(t, func(t *testing.T) {
						sent := tr.run(t, create(t, limits...), pace.Slack, max(300*pace.All, time.Minute), seed)
						if len(sent) < 10 {
							t.Fatalf("only %d requests were sent", len(sent))
						}
						checkWindows(t, sent, limits)
					})
				}
			})
		}
	}
}

func testRate(t *testing.T, create newPacer) {
	for _, limits := range limitLists() {
		pace := must[Pace](t)(PaceOf(limits...))
		flows := []struct {
			name    string
			traffic traffic
			spacing float64 // of the permitted rate, ns
		}{
			{"fresh alone", traffic{fresh: 12, commit: 40 * time.Millisecond}, permittedSpacing(limits)},
			{"retries beside it", traffic{fresh: 12, retry: 4, commit: 40 * time.Millisecond}, float64(pace.All)},
			{"retries alone", traffic{retry: 6, commit: 40 * time.Millisecond}, float64(pace.All)},
		}
		for _, f := range flows {
			if pace.All < 10*time.Millisecond { // a worker sends no more often than it commits
				f.traffic.fresh, f.traffic.retry = 10*f.traffic.fresh, 10*f.traffic.retry
			}
			t.Run(fmt.Sprintf("%v %s", limits, f.name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					length := max(400*pace.All, 10*time.Second)
					start := time.Now()
					sent := f.traffic.run(t, create(t, limits...), pace.Slack, length, 1)
					checkWindows(t, sent, limits)
					checkUse(t, sent, start, length, f.spacing)
				})
			})
		}
	}
}

// permittedSpacing is W / ((1-headroom)·L) of the strictest limit, in ns.
func permittedSpacing(limits []Limit) float64 {
	var widest float64
	for _, l := range limits {
		widest = max(widest, float64(l.Per)/((1-l.Headroom)*float64(l.Requests)))
	}
	return widest
}

// checkUse wants 98 % of one send per spacing once the first tenth, in which a
// pacer may still be filling, is over.
func checkUse(t *testing.T, sent []sending, start time.Time, length time.Duration, spacing float64) {
	t.Helper()
	warm := length / 10
	n := 0
	for _, s := range sent {
		if s.taken.Sub(start) >= warm {
			n++
		}
	}
	permitted := float64(length-warm) / spacing
	if used := float64(n) / permitted; used < 0.98 {
		t.Errorf("%.2f %% of the permitted rate used (%d of %.0f), want 98 %%", 100*used, n, permitted)
	}
}

func testOrder(t *testing.T, create newPacer) {
	for _, kind := range []Kind{Fresh, Retry} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := create(t, Limit{1, time.Second, 0.2})
				var order []int
				var mu sync.Mutex
				var workers sync.WaitGroup
				for i := range 10 {
					workers.Go(func() {
						take(t, p, kind)
						mu.Lock()
						order = append(order, i)
						mu.Unlock()
					})
					synctest.Wait()
				}
				workers.Wait()
				if !slices.IsSorted(order) || len(order) != 10 {
					t.Errorf("passed in the order %v", order)
				}
			})
		})
	}
}

// Fresh lines of 10/1 s with headroom one half are 200 ms apart; a retry that
// arrives later goes in between.
func testHeadroom(t *testing.T, create newPacer) {
	synctest.Test(t, func(t *testing.T) {
		p := create(t, Limit{10, time.Second, 0.5})
		take(t, p, Fresh)
		start := time.Now()
		var fresh, retry time.Duration
		var workers sync.WaitGroup
		workers.Go(func() { take(t, p, Fresh); fresh = time.Since(start) })
		synctest.Wait()
		workers.Go(func() { take(t, p, Retry); retry = time.Since(start) })
		workers.Wait()
		if !near(retry, 102*time.Millisecond) || !near(fresh, 204*time.Millisecond) {
			t.Errorf("retry after %v, fresh line after %v; want 102 ms and the place after it, 204 ms", retry, fresh)
		}
	})
}

func testNoStarving(t *testing.T, create newPacer) {
	for _, tr := range []traffic{{fresh: 1, retry: 20}, {fresh: 20, retry: 1}} {
		t.Run(fmt.Sprintf("%d fresh %d retry", tr.fresh, tr.retry), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := create(t, Limit{10, time.Second, 0.2})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var sent [2]int
				var mu sync.Mutex
				var workers sync.WaitGroup
				for i := range tr.fresh + tr.retry {
					kind, r := Retry, seeded(uint64(i))
					if i < tr.fresh {
						kind = Fresh
					}
					workers.Go(func() {
						for tr.send(ctx, p, kind, r) == nil {
							mu.Lock()
							sent[kind]++
							mu.Unlock()
						}
					})
				}
				workers.Wait()
				// The fair share of one worker among 21 is 28 of 588.
				if min(sent[Fresh], sent[Retry]) < 25 {
					t.Errorf("in a minute: %d fresh, %d retries", sent[Fresh], sent[Retry])
				}
			})
		})
	}
}

func testLead(t *testing.T, create newPacer) {
	synctest.Test(t, func(t *testing.T) {
		p := create(t, Limit{20, time.Second, 0}) // 51 ms apart
		take(t, p, Retry)
		start := time.Now()
		var admitted []time.Duration
		var tickets []Ticket
		for range 4 {
			tickets = append(tickets, must[Ticket](t)(p.Admit(t.Context(), Retry)))
			admitted = append(admitted, time.Since(start))
			if len(tickets) == 3 { // someone takes: the next one is a place closer
				take1(t, tickets[0])
			}
		}
		// Due at 51 and 102 ms, so the second waits 2 ms; the third 51 ms more.
		want := []time.Duration{0, 2 * time.Millisecond, 53 * time.Millisecond, 104 * time.Millisecond}
		if !slices.EqualFunc(admitted, want, near) {
			t.Errorf("admitted at %v, want %v", admitted, want)
		}
		for _, ticket := range tickets {
			ticket.Cancel()
		}
	})
}

func testCancelled(t *testing.T, create newPacer) {
	synctest.Test(t, func(t *testing.T) {
		p := create(t, Limit{1, time.Second, 0.2})
		take(t, p, Fresh)
		start := time.Now()
		for range 50 {
			must[Ticket](t)(p.Admit(t.Context(), Fresh)).Cancel()
		}
		take(t, p, Fresh)
		if waited := time.Since(start); !near(waited, 1250*time.Millisecond) {
			t.Errorf("the next token came after %v, want 1.25 s", waited)
		}
	})
}

func testPlaceGivenBack(t *testing.T, create newPacer) {
	synctest.Test(t, func(t *testing.T) {
		p := create(t, Limit{1, time.Second, 0})
		pause(time.Minute) // a token is there
		first := must[Ticket](t)(p.Admit(t.Context(), Retry))
		start := time.Now()
		var second sync.WaitGroup
		second.Go(func() { take(t, p, Retry) })
		pause(500 * time.Millisecond)
		first.Cancel()
		second.Wait()
		if waited := time.Since(start); waited != 500*time.Millisecond {
			t.Errorf("the next one had its token after %v, want 500 ms", waited)
		}
	})
}

func testEndedTake(t *testing.T, create newPacer) {
	synctest.Test(t, func(t *testing.T) {
		p := create(t, Limit{1, time.Second, 0})
		take(t, p, Retry)
		start := time.Now()
		ticket := must[Ticket](t)(p.Admit(t.Context(), Retry))
		reason := errors.New("changed my mind")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, reason)
		defer cancel()
		if err := ticket.Take(ctx); !errors.Is(err, reason) {
			t.Fatalf("Take = %v, want the cause", err)
		}
		take(t, p, Retry)
		if waited := time.Since(start); !near(waited, 1020*time.Millisecond) {
			t.Errorf("the next token came after %v, want 1.02 s", waited)
		}
	})
}

func testEndedContext(t *testing.T, create newPacer) {
	synctest.Test(t, func(t *testing.T) {
		p := create(t, Limit{1, time.Second, 0})
		pause(time.Minute) // a token is there
		ctx, cancel := context.WithCancel(t.Context())
		ticket := must[Ticket](t)(p.Admit(ctx, Retry))
		cancel()
		if err := ticket.Take(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Take = %v", err)
		}
		if _, err := p.Admit(ctx, Retry); !errors.Is(err, context.Canceled) {
			t.Errorf("Admit = %v", err)
		}
	})
}

func testSpentTicket(t *testing.T, create newPacer) {
	synctest.Test(t, func(t *testing.T) {
		p := create(t, Limit{1, time.Second, 0})
		taken := must[Ticket](t)(p.Admit(t.Context(), Retry))
		take1(t, taken)
		taken.Cancel()
		cancelled := must[Ticket](t)(p.Admit(t.Context(), Retry))
		cancelled.Cancel()
		cancelled.Cancel()
		for name, ticket := range map[string]Ticket{"taken": taken, "cancelled": cancelled} {
			if err := ticket.Take(t.Context()); !errors.Is(err, ErrTicketSpent) {
				t.Errorf("%s: Take = %v", name, err)
			}
		}
	})
}

// take sends one request; it is used from the goroutines of a test too, where
// an ended test context is no fault.
func take(t *testing.T, p Pacer, kind Kind) {
	t.Helper()
	ticket, err := p.Admit(t.Context(), kind)
	if err != nil {
		t.Error(err)
		return
	}
	take1(t, ticket)
}

func take1(t *testing.T, ticket Ticket) {
	t.Helper()
	if err := ticket.Take(t.Context()); err != nil {
		t.Error(err)
	}
}
