package ratelimit

import (
	"testing"
	"time"
)

// Who of those waiting, oldest first (f fresh, r other), may pass at noon.
func TestWhoPassesAStage(t *testing.T) {
	t.Parallel()
	const due, later = -time.Second, time.Second
	tests := []struct {
		name         string
		waiting      string
		fresh, other time.Duration // when each class is due, from noon
		passes       int           // index; -1: nobody
	}{
		{"nobody is due", "fr", later, later, -1},
		{"the only one", "r", later, due, 0},
		{"due in this instant", "r", later, 0, 0},
		{"the oldest of a class", "rr", later, due, 0},
		{"the older of two classes", "fr", due, due, 0},
		{"the older of two classes, other way", "rf", due, due, 0},
		{"a retry before fresh lines that must wait", "frr", later, due, 1},
		{"a fresh line before retries that must wait", "rrf", due, later, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			passed := 0
			s := &stage{
				due: func(fresh bool, _ time.Time) time.Time {
					if fresh {
						return in(tt.fresh)
					}
					return in(tt.other)
				},
				pass: func(bool, time.Time) { passed++ },
			}
			var waiters []*waiter
			for _, class := range tt.waiting {
				waiters = append(waiters, s.join(class == 'f'))
			}
			for i := len(waiters) - 1; i >= 0; i-- { // the youngest looks first
				if ok, _ := s.attempt(waiters[i], noon); ok != (i == tt.passes) {
					t.Errorf("waiter %d: passed = %v", i, ok)
				}
			}
			if want := min(tt.passes+1, 1); passed != want {
				t.Errorf("%d booked, want %d", passed, want)
			}
		})
	}
}

func TestAStageWaitsForTheInstantAndNotLess(t *testing.T) {
	t.Parallel()
	for grain, want := range map[time.Duration]time.Duration{0: time.Microsecond, time.Millisecond: time.Millisecond} {
		s := &stage{due: func(bool, time.Time) time.Time { return in(time.Microsecond) }, grain: grain}
		if ok, wait := s.attempt(s.join(true), noon); ok || wait != want {
			t.Errorf("grain %v: passed %v, wait %v, want %v", grain, ok, wait, want)
		}
	}
}
