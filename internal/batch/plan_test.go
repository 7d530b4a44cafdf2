package batch

import (
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
	"payrollgateway/internal/store"
)

// sizes cuts n lines that are all known into chunks.
func sizes(n, maximum int) []int {
	var out []int
	for n > 0 {
		size := nextSize(n, n >= readAhead(maximum), maximum)
		out = append(out, size)
		n -= size
	}
	return out
}

// 251 lines travel as 126 + 125, never 250 + 1.
func TestChunksAreBalanced(t *testing.T) {
	t.Parallel()
	if got := sizes(251, 250); len(got) != 2 || got[0] != 126 || got[1] != 125 {
		t.Errorf("251 lines travel as %v", got)
	}
	for n := 1; n < 3000; n++ {
		total, smallest := 0, n
		for _, size := range sizes(n, 250) {
			if size > 250 {
				t.Fatalf("%d lines: a chunk of %d", n, size)
			}
			total += size
			smallest = min(smallest, size)
		}
		if total != n {
			t.Fatalf("%d lines became %d", n, total)
		}
		if n >= 250 && smallest < 125 {
			t.Fatalf("%d lines: a chunk of %d", n, smallest)
		}
	}
}

func due(ordinal int32, t payroll.Trouble) store.Due {
	return store.Due{Line: payroll.Line{Ordinal: ordinal}, State: payroll.Retrying, Trouble: t}
}

func TestRetriesWaitForCompany(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	late, fresh := now.Add(-linger), now.Add(-linger/2)
	many := func(n int, trouble payroll.Trouble) []store.Due {
		out := make([]store.Due, n)
		for i := range out {
			out[i] = due(int32(i+1), trouble)
		}
		return out
	}
	for _, c := range []struct {
		name  string
		due   []store.Due
		want  int
		again time.Time
	}{
		{"nothing due", nil, 0, time.Time{}},
		{"few and just due: wait for others", many(3, payroll.Trouble{DueAt: fresh}), 0, fresh.Add(linger)},
		{"few and due for a second", many(3, payroll.Trouble{DueAt: late}), 3, time.Time{}},
		{"as many as the minimum", many(100, payroll.Trouble{DueAt: fresh}), 100, time.Time{}},
		{"more than the maximum: balanced", many(251, payroll.Trouble{DueAt: fresh}), 126, time.Time{}},
		{"half of a refused request does not wait", many(3, payroll.Trouble{DueAt: fresh, MaxChunk: 2}), 2, time.Time{}},
		{"a frozen request is repeated alone", many(3, payroll.Trouble{DueAt: fresh, FrozenWith: 7}), 1, time.Time{}},
		{
			"only lines with the same bound travel together",
			append(many(2, payroll.Trouble{DueAt: late, MaxChunk: 4}), many(2, payroll.Trouble{DueAt: late})...), 2,
			time.Time{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, again := pickDue(c.due, 100, 250, now)
			if len(got) != c.want || !again.Equal(c.again) {
				t.Errorf("got %d lines, again at %v; want %d, %v", len(got), again, c.want, c.again)
			}
		})
	}
}

func TestProbeRisksOneLineAtABlindVendor(t *testing.T) {
	t.Parallel()
	if n := probeSize(retry.Policy{Keys: retry.KeyNone}, 100); n != 1 {
		t.Errorf("a blind vendor is probed with %d lines", n)
	}
	if n := probeSize(retry.Policy{Keys: retry.KeyLine, Retention: time.Hour}, 100); n != 100 {
		t.Errorf("a vendor that remembers keys is probed with %d lines", n)
	}
	if n := probeSize(retry.Policy{Keys: retry.KeyNone, LookUp: true}, 100); n != 100 {
		t.Errorf("a vendor that can be asked is probed with %d lines", n)
	}
}

// The cursor errs low: it passes a line only when the line and all before it
// have left pending and in_flight.
func TestCursorIsNeverAhead(t *testing.T) {
	t.Parallel()
	c := newCursor()
	c.next, c.floor = 101, 40
	if c.position() != 39 {
		t.Errorf("a pending line was passed: %d", c.position())
	}
	c.floor = 0
	if c.position() != 100 {
		t.Errorf("everything planned is done: %d", c.position())
	}
	c.flying[7] = 91
	if c.position() != 90 {
		t.Errorf("an attempt in flight was passed: %d", c.position())
	}
	c.back[12] = true
	if c.position() != 11 {
		t.Errorf("a line that came back was passed: %d", c.position())
	}
}
