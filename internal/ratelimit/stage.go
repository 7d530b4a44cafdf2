package ratelimit

import (
	"context"
	"slices"
	"time"
)

// untilWoken is the wait of someone whose turn depends on others, not on time.
const untilWoken time.Duration = -1

// stage is one of the two points a send waits at. Waiters pass in order of
// arrival within their class, fresh or not; between the classes, whichever is
// due first passes first, and the older of two that are both due. So fresh
// lines that must leave headroom do not hold up retries that may use it, and
// neither can starve the other.
//
// Its fields are guarded by the mutex of the Local that owns it.
type stage struct {
	waiting []*waiter
	// due is the instant from which a waiter of the class may pass.
	due func(fresh bool, now time.Time) time.Time
	// pass books that it passed; called only when it is due.
	pass func(fresh bool, now time.Time)
	// grain is the shortest wait worth a timer.
	grain time.Duration
}

type waiter struct {
	fresh bool
	wake  chan struct{}
}

func (s *stage) join(fresh bool) *waiter {
	w := &waiter{fresh: fresh, wake: make(chan struct{}, 1)}
	s.waiting = append(s.waiting, w)
	return w
}

func (s *stage) leave(w *waiter) {
	if i := slices.Index(s.waiting, w); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
}

// front is the oldest waiter of a class, or nil.
func (s *stage) front(fresh bool) *waiter {
	for _, w := range s.waiting {
		if w.fresh == fresh {
			return w
		}
	}
	return nil
}

// wakeFronts makes those who may be next look again.
func (s *stage) wakeFronts() {
	for _, fresh := range []bool{true, false} {
		if w := s.front(fresh); w != nil {
			w.signal()
		}
	}
}

// attempt lets w pass if it may, and says how long to wait otherwise.
func (s *stage) attempt(w *waiter, now time.Time) (passed bool, wait time.Duration) {
	if s.front(w.fresh) != w {
		return false, untilWoken
	}
	if at := s.due(w.fresh, now); at.After(now) {
		return false, max(at.Sub(now), s.grain)
	}
	// If an older one of the other class is due as well it is already awake,
	// or its timer fires now; leaving, it wakes us.
	if oldest := s.waiting[0]; oldest != w && !s.due(oldest.fresh, now).After(now) {
		oldest.signal()
		return false, untilWoken
	}
	s.pass(w.fresh, now)
	return true, 0
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// sleep returns when the time is over, someone woke us, or ctx ended.
func (w *waiter) sleep(ctx context.Context, wait time.Duration) {
	var expired <-chan time.Time
	if wait != untilWoken {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-expired:
	case <-w.wake:
	case <-ctx.Done():
	}
}
