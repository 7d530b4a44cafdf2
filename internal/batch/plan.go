package batch

import (
	"time"

	"payrollgateway/internal/retry"
	"payrollgateway/internal/store"
)

// nextSize is the size of the next chunk when so many lines are known to be
// left and more says that there are others behind them. Chunks are balanced:
// 251 lines at a maximum of 250 travel as 126 + 125, never 250 + 1.
func nextSize(left int, more bool, maximum int) int {
	if more || left <= 0 {
		return min(left, maximum)
	}
	chunks := (left + maximum - 1) / maximum
	return (left + chunks - 1) / chunks
}

// readAhead is how many lines are read at a time so that nextSize sees the end
// of a batch at least two chunks before it.
func readAhead(maximum int) int { return 4 * maximum }

// linger is how long the first due line waits for company.
const linger = time.Second

// pickDue chooses which of a batch's due lines travel together: those that
// belong to one request that must be repeated whole; else lines with the same
// bound on the size of their request. It returns nothing, and when to ask
// again, while fewer than minimum lines are due and the first has waited less
// than a second. Lines that are to be looked up are not in due.
func pickDue(due []store.Due, minimum, maximum int, now time.Time) (chosen []store.Due, again time.Time) {
	if len(due) == 0 {
		return nil, time.Time{}
	}
	first := due[0].Trouble
	if first.FrozenWith > 0 {
		return due[:1], time.Time{}
	}
	bound := maximum
	if first.MaxChunk > 0 {
		bound = min(bound, first.MaxChunk)
	}
	for _, d := range due {
		if d.Trouble.MaxChunk == first.MaxChunk && d.Trouble.FrozenWith == 0 {
			chosen = append(chosen, d)
		}
	}
	ripe := first.DueAt.Add(linger)
	if first.MaxChunk == 0 && len(chosen) < min(minimum, bound) && now.Before(ripe) {
		return nil, ripe
	}
	return chosen[:nextSize(len(chosen), false, bound)], time.Time{}
}

// probeSize is how many lines a probe of a vendor in outage risks: one where an
// unknown outcome could only be parked, else a small chunk.
func probeSize(p retry.Policy, minimum int) int {
	if p.Resolves() {
		return minimum
	}
	return 1
}
