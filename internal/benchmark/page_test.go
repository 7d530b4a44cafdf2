package benchmark

import (
	"strings"
	"testing"
)

func TestBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bound Bound
		value float64
		met   bool
	}{
		{AtLeast(0.4), 0.4, true},
		{AtLeast(0.4), 0.39, false},
		{AtMost(900), 900, true},
		{AtMost(900), 901, false},
		{Bound{}, -1, true},
	} {
		if c.bound.Met(c.value) != c.met {
			t.Errorf("%s and %v: not %v", c.bound.in(Count), c.value, c.met)
		}
	}
}

func TestVerdictNamesTheTargetThatIsMissed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now, final Bound
		value      float64
		want       string
	}{
		{AtLeast(0.4), AtLeast(0.6), 0.7, "met"},
		{AtLeast(0.4), AtLeast(0.6), 0.5, "met; final not yet"},
		{AtLeast(0.4), AtLeast(0.6), 0.3, "MISSED"},
		{Bound{}, AtLeast(0.5), 0.3, "not yet"},
		{Bound{}, AtLeast(0.5), 0.5, "met"},
	} {
		if got := verdict(Result{Figure: Figure{Now: c.now, Final: c.final}, Reading: Reading{Value: c.value}}); got != c.want {
			t.Errorf("%v: %q, want %q", c.value, got, c.want)
		}
	}
}

func TestPageHasARowPerFigure(t *testing.T) {
	t.Parallel()
	var results []Result
	for _, e := range experiments {
		for _, f := range e.figures {
			results = append(results, Result{f, Reading{1, "noted"}, e.name})
		}
	}
	page := Page(Where{"a machine", "PostgreSQL 0", "2026-07-13", "abc"}, results)
	for _, r := range results {
		if !strings.Contains(page, "| "+r.What+" | "+r.Unit.Format(1)+" | ") {
			t.Errorf("no row for %s", r.What)
		}
	}
	for _, word := range []string{"a machine", "PostgreSQL 0", "2026-07-13", "abc", "scripts/bench.sh -only wal"} {
		if !strings.Contains(page, word) {
			t.Errorf("the page does not say %q", word)
		}
	}
}

func TestAnUnknownExperimentIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := choose([]string{"intake", "speed"}); err == nil || !strings.Contains(err.Error(), "speed") {
		t.Errorf("%v", err)
	}
	if all, err := choose(nil); err != nil || len(all) != len(experiments) {
		t.Errorf("%d experiments, %v", len(all), err)
	}
}
