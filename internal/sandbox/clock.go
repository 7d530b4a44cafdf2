package sandbox

import "time"

// Clock is the vendor's time. After is a timer: fired becomes readable when d
// has passed, stop gives the timer up.
type Clock interface {
	Now() time.Time
	After(d time.Duration) (fired <-chan time.Time, stop func())
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) After(d time.Duration) (fired <-chan time.Time, stop func()) {
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}
