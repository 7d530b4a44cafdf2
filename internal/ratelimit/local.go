package ratelimit

import (
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// lead is how long before its token a send may commit its attempt.
	lead = 100 * time.Millisecond
	// forecastGrain: an admission is a forecast 100 ms ahead; looking at it
	// again more often than this gains nothing.
	forecastGrain = time.Millisecond
)

// Local is the Pacer of a process that works alone.
//
// A token is consumed at an effective instant
//
//	e = max(the instant it became due, now - Slack/4)
//
// rather than at now, so that a timer that fires late does not move all later
// sends: what was lost is caught up, up to Slack/4. No window breaks by it.
// Effective instants are at least All apart (to the nanosecond over any row of
// them), hence L+1 of them span at least L·All >= W + Slack. A send whose effective instant is e reaches the vendor at
// e + d with 0 <= d; if every d stays below Slack, the first and the last of the
// L+1 arrive more than W + Slack - Slack = W apart, so no window of length W
// holds both. d is made of the Slack/4 granted here and of what follows Take:
// writing and the network have three quarters of Slack between them, as far as
// they vary from one request to the next.
//
// Both limiters are read, and then both charged, at the same e under one lock:
// nothing is reserved ahead and nothing is consumed that is not used.
//
// Local begins empty, one spacing before its first token: the process may have
// replaced one that was killed in the instant after a send.
type Local struct {
	pace Pace

	mu         sync.Mutex
	all, fresh *rate.Limiter
	last       time.Time // newest effective instant
	out        ticketsOut
	admission  stage
	taking     stage
}

// ticketsOut counts tickets admitted and neither taken nor cancelled.
type ticketsOut struct{ fresh, other int }

func (o *ticketsOut) add(fresh bool, n int) {
	if fresh {
		o.fresh += n
	} else {
		o.other += n
	}
}

// NewLocal makes a pacer that keeps every one of the limits.
func NewLocal(limits ...Limit) (*Local, error) {
	pace, err := PaceOf(limits...)
	if err != nil {
		return nil, err
	}
	l := &Local{
		pace:  pace,
		all:   rate.NewLimiter(rate.Every(pace.All), 1),
		fresh: rate.NewLimiter(rate.Every(pace.Fresh), 1),
	}
	l.admission = stage{due: l.admissibleAt, pass: l.admit, grain: forecastGrain}
	l.taking = stage{due: l.tokenAt, pass: l.take}
	l.consume(true, time.Now())
	return l, nil
}

// Admit implements Pacer.
func (l *Local) Admit(ctx context.Context, kind Kind) (Ticket, error) {
	fresh := kind == Fresh
	if err := l.through(ctx, &l.admission, fresh); err != nil {
		return nil, err
	}
	return &localTicket{pacer: l, fresh: fresh}, nil
}

// through waits at a stage until the caller has passed it or ctx ends. The
// decision is made by the waiting goroutine itself, with ctx checked under the
// same lock: nothing is ever granted to someone who has gone.
func (l *Local) through(ctx context.Context, s *stage, fresh bool) error {
	w := l.join(s, fresh)
	defer l.leave(s, w)
	for {
		passed, wait, err := l.attempt(ctx, s, w)
		if passed || err != nil {
			return err
		}
		w.sleep(ctx, wait)
	}
}

func (l *Local) join(s *stage, fresh bool) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.join(fresh)
}

func (l *Local) leave(s *stage, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.leave(w)
	l.wakeFronts()
}

func (l *Local) attempt(ctx context.Context, s *stage, w *waiter) (bool, time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		return false, 0, context.Cause(ctx)
	}
	passed, wait := s.attempt(w, time.Now())
	return passed, wait, nil
}

// wakeFronts: a token taken or a ticket given back changes both forecasts.
func (l *Local) wakeFronts() {
	l.admission.wakeFronts()
	l.taking.wakeFronts()
}

// horizon is the oldest effective instant a token may be consumed at now.
func (l *Local) horizon(now time.Time) time.Time {
	return latest(l.last, now.Add(-l.pace.Slack/4))
}

// tokenAt is the effective instant of the next token of the class: the first
// one, not before the horizon, at which every limiter it pays has a whole one.
func (l *Local) tokenAt(fresh bool, now time.Time) time.Time {
	from := l.horizon(now)
	at := wholeToken(l.all, from)
	if fresh {
		at = latest(at, wholeToken(l.fresh, from))
	}
	return at
}

// admissibleAt is lead before the token would be due, if every ticket that is
// out takes one first.
func (l *Local) admissibleAt(fresh bool, now time.Time) time.Time {
	from := l.horizon(now)
	at := wholeToken(l.all, from).Add(times(l.out.fresh+l.out.other, l.pace.All))
	if fresh {
		at = latest(at, wholeToken(l.fresh, from).Add(times(l.out.fresh, l.pace.Fresh)))
	}
	return at.Add(-lead)
}

func (l *Local) admit(fresh bool, _ time.Time) { l.out.add(fresh, 1) }

func (l *Local) take(fresh bool, now time.Time) {
	l.consume(fresh, l.tokenAt(fresh, now))
	l.out.add(fresh, -1)
}

// consume charges every limiter the class pays, at one instant. A reservation
// at an instant when the token is there is the consumption itself: it has no
// delay, and unlike Allow it cannot leave a send unpaid over a rounding of less
// than a nanosecond.
func (l *Local) consume(fresh bool, at time.Time) {
	l.all.ReserveN(at, 1)
	if fresh {
		l.fresh.ReserveN(at, 1)
	}
	l.last = at
}

func (l *Local) giveBack(fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.add(fresh, -1)
	l.wakeFronts()
}

type localTicket struct {
	pacer *Local
	fresh bool
	spent bool
}

func (t *localTicket) Take(ctx context.Context) error {
	if t.spent {
		return ErrTicketSpent
	}
	if err := t.pacer.through(ctx, &t.pacer.taking, t.fresh); err != nil {
		t.Cancel()
		return err
	}
	t.spent = true
	return nil
}

func (t *localTicket) Cancel() {
	if t.spent {
		return
	}
	t.spent = true
	t.pacer.giveBack(t.fresh)
}

// wholeToken is the first instant from which on the limiter has a whole token;
// from must not lie before its last consumption.
func wholeToken(l *rate.Limiter, from time.Time) time.Time {
	missing := 1 - l.TokensAt(from)
	if missing <= 0 {
		return from
	}
	seconds := missing / float64(l.Limit())
	return from.Add(time.Duration(math.Ceil(seconds * float64(time.Second))))
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// times is n spacings.
func times(n int, spacing time.Duration) time.Duration {
	return time.Duration(int64(n) * int64(spacing))
}
