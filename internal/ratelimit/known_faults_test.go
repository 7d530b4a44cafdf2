package ratelimit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// redis_rate#24: a bucket as large as the limit lets a full burst and a full
// refill into the same window.
func TestABucketOfCapacityLimitAdmitsTwiceTheLimitInOneWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := must[*Local](t)(NewLocal(Limit{10, time.Second, 0}))
		pause(time.Hour) // whatever can fill up is full now
		start, sent := time.Now(), 0
		for time.Since(start) < time.Second {
			take(t, p, Retry)
			sent++
		}
		if sent > 11 { // the last one ended the second
			t.Errorf("%d requests in a second of 10", sent)
		}
	})
}

// golang/time#22: a reservation that is given up still pushes later ones back.
func TestAFailedReservationStillCosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := must[*Local](t)(NewLocal(Limit{10, time.Second, 0}))
		take(t, p, Retry)
		start := time.Now()
		for range 100 {
			ticket := must[Ticket](t)(p.Admit(t.Context(), Retry))
			ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
			if err := ticket.Take(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Take = %v", err)
			}
			cancel()
		}
		for range 10 {
			take(t, p, Retry)
		}
		if took := time.Since(start); !near(took, 1020*time.Millisecond) {
			t.Errorf("ten requests took %v after failed takes, want 1.02 s", took)
		}
	})
}

// A rate of zero once meant "send nothing, ever, without a word".
func TestARateOfZeroIsRefused(t *testing.T) {
	t.Parallel()
	_, err := NewLocal(Limit{Requests: 0, Per: time.Second, Headroom: 0.2})
	if err == nil || !strings.Contains(err.Error(), "requests is 0") {
		t.Errorf("error = %v", err)
	}
}

// go-gitlab#1837, golang/go#80698: a burst derived from a small rate rounds to
// zero, and a cost above the burst waits for ever or is never counted. Here a
// request costs one and the burst is one, however little headroom leaves.
func TestCostAboveBurstNeverAdmits(t *testing.T) {
	t.Parallel()
	for _, limit := range []Limit{{1, time.Second, 0.99}, {1, time.Hour, 0.5}, {3, time.Minute, 0.999}} {
		synctest.Test(t, func(t *testing.T) {
			p := must[*Local](t)(NewLocal(limit))
			take(t, p, Fresh)
			start := time.Now()
			take(t, p, Fresh)
			want := time.Duration(limit.freshSpacing())
			if took := time.Since(start); !near(took, want) {
				t.Errorf("%+v: a fresh line after %v, want %v", limit, took, want)
			}
		})
	}
}

// A process killed right after a send and started again at once used to send
// into the same window, since a new bucket is full.
func TestARestartForgetsTheSendsBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := Limit{3, time.Second, 0}
		r := seeded(1)
		var sent []sending
		for range 200 {
			p := must[*Local](t)(NewLocal(limit))
			for range 1 + r.IntN(4) {
				take(t, p, Retry)
				sent = append(sent, sending{arrived: time.Now()})
			}
		}
		checkWindows(t, sent, []Limit{limit})
	})
}

// Timers fire late. A pacer that spaces from the instant it woke up loses every
// delay for good: 5 ms of 102 are 5 % of the rate.
func TestLateTimersLoseRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := Limit{10, time.Second, 0}
		p := must[*Local](t)(NewLocal(limit))
		take(t, p, Retry)
		start := time.Now()
		for range 1000 {
			ticket := must[Ticket](t)(p.Admit(t.Context(), Retry))
			pause(time.Until(p.tokenAt(false, time.Now())) + p.pace.Slack/4)
			take1(t, ticket)
		}
		took := time.Since(start)
		if rate := float64(1000*p.pace.All) / float64(took); rate < 0.999 {
			t.Errorf("%.2f %% of the rate was used", 100*rate)
		}
	})
}
