package intake

import "time"

// paceSlots is how finely a window of the pace is watched.
const paceSlots = 60

// pace watches that a client sends at least rate bytes a second over every
// window. Its time is the time spent waiting for the client: what this side
// needs for the bytes in between is not held against the sender. A read that
// never returns is ended by the server's deadline, not here.
type pace struct {
	need   int64         // bytes in a window
	slot   time.Duration // a paceSlots-th of the window
	waited time.Duration
	at     int64 // number of the current slot
	bytes  [paceSlots]int64
	sum    int64 // of bytes
}

func newPace(rate int64, window time.Duration) pace {
	return pace{
		need: int64(float64(rate) * window.Seconds()),
		slot: max(window/paceSlots, 1),
	}
}

// tooSlow notes that n bytes came after a wait, and reports whether the window
// that ends now had too few. The first window is not judged before it is over.
func (p *pace) tooSlow(n int, wait time.Duration) bool {
	p.waited += max(wait, 0)
	p.turnTo(int64(p.waited / p.slot))
	p.bytes[p.at%paceSlots] += int64(n)
	p.sum += int64(n)
	return p.at >= paceSlots && p.sum < p.need
}

// turnTo forgets the slots that left the window.
func (p *pace) turnTo(slot int64) {
	for steps := min(slot-p.at, paceSlots); steps > 0; steps-- {
		i := (slot - steps + 1) % paceSlots
		p.sum -= p.bytes[i]
		p.bytes[i] = 0
	}
	p.at = slot
}
