package ratelimit

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPaceOf(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := []struct {
		name   string
		limits []Limit
		want   Pace
	}{
		{"one a second", []Limit{{1, time.Second, 0.2}}, Pace{All: 1020 * ms, Fresh: 1250 * ms, Slack: 20 * ms}},
		{"ten a second", []Limit{{10, time.Second, 0.2}}, Pace{All: 102 * ms, Fresh: 125 * ms, Slack: 20 * ms}},
		{"slack is two per cent of a long window", []Limit{{200, time.Minute, 0.2}}, Pace{All: 306 * ms, Fresh: 375 * ms, Slack: 1200 * ms}},
		{"slack is never below 20 ms", []Limit{{1, 100 * ms, 0}}, Pace{All: 120 * ms, Fresh: 100 * ms, Slack: 20 * ms}},
		{"a list asks for its widest spacing", []Limit{{10, time.Second, 0.2}, {200, time.Minute, 0.2}}, Pace{All: 306 * ms, Fresh: 375 * ms, Slack: 1200 * ms}},
		{"fresh and all may come from different limits", []Limit{{10, time.Second, 0.75}, {200, time.Minute, 0}}, Pace{All: 306 * ms, Fresh: 400 * ms, Slack: 1200 * ms}},
		{"spacing is rounded up", []Limit{{3, time.Second, 0}}, Pace{All: 340 * ms, Fresh: 333333334, Slack: 20 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := must[Pace](t)(PaceOf(tt.limits...)); got != tt.want {
				t.Errorf("pace = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestLimitRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		limit Limit
		want  string
	}{
		{"negative rate", Limit{-1, time.Second, 0.2}, "requests is -1"},
		{"no window", Limit{1, 0, 0.2}, "per is 0s"},
		{"negative window", Limit{1, -time.Second, 0.2}, "per is -1s"},
		{"window beyond a year", Limit{1, 1000 * 24 * time.Hour, 0.2}, "per is 24000h0m0s"},
		{"negative headroom", Limit{1, time.Second, -0.1}, "headroom is -0.1"},
		{"headroom of everything", Limit{1, time.Second, 1}, "headroom is 1"},
		{"headroom no number", Limit{1, time.Second, math.NaN()}, "headroom is NaN"},
		{"finer than a clock", Limit{2_000_000, time.Second, 0}, "finer than a clock"},
		{"headroom of nearly everything", Limit{1, time.Hour, 1 - 1e-12}, "leaves fresh lines less than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			good := Limit{Requests: 1, Per: time.Second}
			for _, limits := range [][]Limit{{tt.limit}, {good, tt.limit}} {
				if _, err := NewLocal(limits...); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("NewLocal(%v) = %v, want an error with %q", limits, err, tt.want)
				}
			}
		})
	}
}

func TestEveryFaultOfALimitIsNamed(t *testing.T) {
	t.Parallel()
	err := Limit{Requests: 0, Per: 0, Headroom: 2}.Validate()
	for _, want := range []string{"requests", "per", "headroom"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}

func TestAnEmptyListOfLimitsIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := PaceOf(); err == nil {
		t.Error("no limit at all was accepted")
	}
}

// L+1 sends spaced by All, the first late by anything below Slack and the last
// not at all, are more than a window apart, for every limit of the list.
func TestSpacingLeavesTheSlackOfEveryLimit(t *testing.T) {
	t.Parallel()
	limit := rapid.Custom(func(t *rapid.T) Limit {
		return Limit{
			Requests: rapid.IntRange(1, 5000).Draw(t, "requests"),
			Per:      time.Duration(rapid.Int64Range(int64(10*time.Millisecond), int64(24*time.Hour)).Draw(t, "per")),
			Headroom: rapid.Float64Range(0, 0.95).Draw(t, "headroom"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.SliceOfN(limit, 1, 4).Draw(t, "limits")
		pace, err := PaceOf(limits...)
		if err != nil {
			return // too fine to space: refused, which is tested above
		}
		if pace.Slack < leastSlack {
			t.Fatalf("slack %v is below %v", pace.Slack, leastSlack)
		}
		for _, l := range limits {
			span := float64(l.Requests) * float64(pace.All)
			if span-float64(pace.Slack) < float64(l.Per) {
				t.Fatalf("%+v: %d sends span %v less slack %v, within the window", l, l.Requests+1, time.Duration(span), pace.Slack)
			}
			if fresh := float64(pace.Fresh); fresh*(1-l.Headroom)*float64(l.Requests) < float64(l.Per)*(1-1e-9) {
				t.Fatalf("%+v: fresh spacing %v leaves no headroom", l, pace.Fresh)
			}
		}
	})
}
