package retry

import "time"

// Rand is a source of uniform numbers in [0,1).
type Rand func() float64

// Ceiling is the largest wait before retry n (0 = the first): min(cap, base·2^n)
// for any n, without overflow.
func (b Budget) Ceiling(n int) time.Duration {
	ceiling := b.Base
	for range n {
		if ceiling >= b.Cap-ceiling {
			return b.Cap
		}
		ceiling *= 2
	}
	return min(ceiling, b.Cap)
}

// Wait draws the wait before retry n with full jitter: Uniform(0, Ceiling(n)).
// A hint (Retry-After) is a floor of its own: the hint plus up to a tenth of
// it, never less and not bounded by the cap.
func (b Budget) Wait(n int, hint time.Duration, rng Rand) time.Duration {
	wait := time.Duration(rng() * float64(b.Ceiling(n)))
	if hint > 0 {
		wait = max(wait, hint, hint+time.Duration(rng()*float64(hint)/10)) // hint itself: the sum may overflow
	}
	return wait
}
