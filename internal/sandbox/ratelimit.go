package sandbox

import "time"

// window admits at most Requests in every window of the length Per. Refused
// requests do not count, so that a caller that hammers still gets its share.
type window struct {
	limit RateLimit
	times []time.Time // admitted, oldest first, at most Requests of them
}

// admit returns 0, or how long to wait.
func (w *window) admit(now time.Time) time.Duration {
	if w.limit.Requests == 0 {
		return 0
	}
	if len(w.times) == w.limit.Requests {
		if wait := w.times[0].Add(w.limit.Per).Sub(now); wait > 0 {
			return wait
		}
		w.times = append(w.times[:0], w.times[1:]...)
	}
	w.times = append(w.times, now)
	return 0
}
