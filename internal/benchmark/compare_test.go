package benchmark

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for _, c := range []struct {
		share float64
		want  time.Duration
	}{{0, 1}, {0.5, 50}, {0.99, 99}, {0.991, 100}, {1, 100}} {
		if got := percentile(hundred, c.share); got != c.want {
			t.Errorf("percentile %v: %v, want %v", c.share, got, c.want)
		}
	}
	if got := percentile(nil, 0.99); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestSidesTakeTurns: a machine that is disturbed for longer than a round must
// disturb both sides, and the first round counts for neither.
func TestSidesTakeTurns(t *testing.T) {
	t.Parallel()
	var turns []string
	side := func(name string, took ...time.Duration) run {
		return func() (time.Duration, error) {
			turns = append(turns, name)
			d := took[0]
			took = took[1:]
			return d, nil
		}
	}
	c, err := compare(2, 100, side("bare", time.Hour, time.Second, time.Second), side("ours", time.Second, 2*time.Second, 4*time.Second))
	if err != nil || !slices.Equal(c.ratios, []float64{0.5, 0.25}) {
		t.Errorf("ratios %v, %v", c.ratios, err)
	}
	if want := []string{"bare", "ours", "bare", "ours", "bare", "ours"}; !slices.Equal(turns, want) {
		t.Errorf("turns %v", turns)
	}
}

func TestAFailedSideEndsTheComparison(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	good := func() (time.Duration, error) { return time.Second, nil }
	bad := func() (time.Duration, error) { return 0, broken }
	for _, c := range [][2]run{{good, bad}, {bad, good}} {
		if _, err := compare(1, 1, c[0], c[1]); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	}
}
