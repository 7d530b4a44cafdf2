package benchmark

import (
	"fmt"
	"slices"
	"time"
)

// run does its work once and says how long it took. What comes before and after
// the work is not in it.
type run func() (time.Duration, error)

// comparison is what interleaved runs of two sides came to: per round, how fast
// ours was over how fast theirs was.
type comparison struct {
	ratios []float64
	ours   []float64 // lines/s
	theirs []float64
}

// compare runs both sides in turns, with the same number of lines each. Ratios
// are of runs next to each other, so that what disturbs the machine for longer
// than a round disturbs both. The first round is for caches and plans.
func compare(rounds, lines int, theirs, ours run) (c comparison, err error) {
	for round := range rounds + 1 {
		b, err := theirs()
		if err != nil {
			return c, err
		}
		a, err := ours()
		if err != nil {
			return c, err
		}
		if round > 0 {
			c.add(speed(lines, a), speed(lines, b))
		}
	}
	return c, nil
}

func (c *comparison) add(ours, theirs float64) {
	c.ours, c.theirs, c.ratios = append(c.ours, ours), append(c.theirs, theirs), append(c.ratios, ours/theirs)
}

// reading is the median of the ratios.
func (c *comparison) reading() Reading {
	return Reading{median(c.ratios), fmt.Sprintf("%.0f over %.0f lines/s, ratios %.2f to %.2f in %d rounds",
		median(c.ours), median(c.theirs), slices.Min(c.ratios), slices.Max(c.ratios), len(c.ratios))}
}

// speed is lines per second.
func speed(lines int, d time.Duration) float64 { return float64(lines) / d.Seconds() }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// percentile is the smallest value that the given share (0..1) of all is at or below.
func percentile(values []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	at := int(share*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}
