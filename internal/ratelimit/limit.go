package ratelimit

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// The slack a spacing carries beyond the vendor's window: what lateness on
	// the way may eat without two windows' worth arriving in one.
	slackShare = 0.02
	leastSlack = 20 * time.Millisecond

	// Bounds within which the arithmetic is exact enough to keep its promise.
	narrowestSpacing = time.Microsecond
	widestSpacing    = 366 * 24 * time.Hour
)

// Limit is a vendor's rule "at most Requests in any window of length Per".
// Headroom, in [0, 1), is the share of it that fresh lines leave to everything
// else: retries, look-ups, polls, probes. One request costs one, whatever it
// carries; there is no burst to configure.
type Limit struct {
	Requests int
	Per      time.Duration
	Headroom float64
}

// Validate refuses a limit that cannot be kept or would never let anything
// pass. It names every fault at once.
func (l Limit) Validate() error {
	var faults []error
	if l.Requests <= 0 {
		faults = append(faults, fmt.Errorf("requests is %d, it must be at least 1: a rate of zero would never send anything", l.Requests))
	}
	if l.Per <= 0 || l.Per > widestSpacing {
		faults = append(faults, fmt.Errorf("per is %v, it must be above zero and at most %v", l.Per, widestSpacing))
	}
	if !(l.Headroom >= 0 && l.Headroom < 1) {
		faults = append(faults, fmt.Errorf("headroom is %v, it must lie in [0, 1): the share of the limit kept for retries", l.Headroom))
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	return l.validateSpacing()
}

func (l Limit) validateSpacing() error {
	if l.spacing() < narrowestSpacing {
		return fmt.Errorf("%d requests per %v is more than one each %v, which is finer than a clock can space", l.Requests, l.Per, narrowestSpacing)
	}
	if fresh := l.freshSpacing(); fresh > float64(widestSpacing) {
		return fmt.Errorf("headroom %v of %d requests per %v leaves fresh lines less than one request each %v", l.Headroom, l.Requests, l.Per, widestSpacing)
	}
	return nil
}

// slack is g = max(2 % of the window, 20 ms).
func (l Limit) slack() time.Duration {
	return max(time.Duration(slackShare*float64(l.Per)), leastSlack)
}

// spacing is (W + g) / L, rounded up.
func (l Limit) spacing() time.Duration {
	n := time.Duration(l.Requests)
	return (l.Per + l.slack() + n - 1) / n
}

// freshSpacing is W / ((1 - headroom) · L) in nanoseconds, unrounded because it
// may be too wide for a Duration until Validate has looked at it.
func (l Limit) freshSpacing() float64 {
	return float64(l.Per) / ((1 - l.Headroom) * float64(l.Requests))
}

// Pace is what a list of limits comes down to.
//
// Every limit is kept by spacing, with a burst of one, so a list asks for its
// widest spacing and nothing else: All between any two sends, and Fresh between
// any two fresh lines.
//
// Slack is how much later than its neighbours a send may reach the vendor while
// every limit still holds: L+1 sends spaced by All span L·All, and stay out of
// one window W as long as no one of them is delayed by L·All - W or more. Slack
// is the smallest of these over the list; for a single limit it is g.
type Pace struct {
	All, Fresh, Slack time.Duration
}

// PaceOf is the pace that keeps all the limits at once. It refuses an empty
// list and any limit that Validate refuses.
func PaceOf(limits ...Limit) (Pace, error) {
	if len(limits) == 0 {
		return Pace{}, errors.New("rate: at least one limit is needed")
	}
	var p Pace
	for i, l := range limits {
		if err := l.Validate(); err != nil {
			return Pace{}, fmt.Errorf("rate %d: %w", i+1, err)
		}
		p.All = max(p.All, l.spacing())
		p.Fresh = max(p.Fresh, time.Duration(math.Ceil(l.freshSpacing())))
	}
	p.Slack = slackOf(p.All, limits)
	return p, nil
}

// slackOf is the smallest L·spacing - W; in floating point, since the product
// may pass the end of a Duration for every limit but the narrowest.
func slackOf(spacing time.Duration, limits []Limit) time.Duration {
	least := math.Inf(1)
	for _, l := range limits {
		least = min(least, float64(l.Requests)*float64(spacing)-float64(l.Per))
	}
	return time.Duration(least)
}
