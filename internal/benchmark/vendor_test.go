package benchmark

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/vendor"
)

// TestVendorSettlesEveryLine: an answer that the judge does not take for a clean
// one would have every figure measure something else.
func TestVendorSettlesEveryLine(t *testing.T) {
	t.Parallel()
	for _, a := range []account{open, shut, paced} {
		p, err := vendor.Parse(a.name, a.profile("http://127.0.0.1:1"), nil)
		if err != nil {
			t.Fatal(err)
		}
		c := vendor.Chunk{BatchKey: "batch_P-1_x", PayPeriod: "P-1"}
		for n := range chunkSize {
			l := lineOf(n + 1).payment("P-1")
			c.Lines = append(c.Lines, vendor.ChunkLine{Line: l, Key: l.Natural(tenant, "P-1").Key()})
		}
		sent, err := p.Render(c)
		if err != nil {
			t.Fatal(err)
		}
		var answer bytes.Buffer
		answerStandard(&answer, sent.Body)
		j := p.Judge(c, vendor.Exchange{
			WrittenAt: time.Now(), Sent: vendor.MaybeSent, Status: http.StatusOK,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: answer.Bytes(),
		})
		for i, l := range j.Lines {
			if l.Verdict != payroll.VerdictSettled {
				t.Fatalf("%s: line %d: %v", a.name, i, l.Verdict)
			}
		}
	}
}

func TestLinesAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	first, err := io.ReadAll(newNDJSON(1000))
	if err != nil {
		t.Fatal(err)
	}
	again, err := io.ReadAll(newNDJSON(1000))
	if err != nil || !bytes.Equal(first, again) {
		t.Error("the same pay run came out differently")
	}
	lines := bytes.Count(first, []byte("\n"))
	if size := len(first) / lines; lines != 1000 || size < 180 || size > 220 {
		t.Errorf("%d lines of %d bytes, want 1000 of about 200", lines, size)
	}
	details := lineOf(1).details()
	if !slices.IsSortedFunc(details, func(a, b payroll.Detail) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) }) {
		t.Error("details must be sorted, as intake sorts them")
	}
}

func TestArrivals(t *testing.T) {
	t.Parallel()
	at := func(ms ...int64) (nanos []int64) {
		for _, m := range ms {
			nanos = append(nanos, m*int64(time.Millisecond))
		}
		return nanos
	}
	for _, c := range []struct {
		arrivals []int64
		most     int
		rate     float64
	}{
		{nil, 0, 0},
		{at(0), 1, 0},
		{at(0, 999, 1000), 2, 0},
		{at(0, 1000, 1500, 2000, 2500), 2, 2},
		{at(0, 100, 200, 1000, 1100), 3, 10},
	} {
		most, rate := mostWithin(c.arrivals, time.Second), steadyRate(c.arrivals, time.Second)
		if most != c.most || fmt.Sprintf("%.3f", rate) != fmt.Sprintf("%.3f", c.rate) {
			t.Errorf("%v: %d within a second, %v a second", c.arrivals, most, rate)
		}
	}
}

func TestStatementsBetweenBracketsAreCounted(t *testing.T) {
	t.Parallel()
	var s statements
	for _, sql := range []string{"begin", "BEGIN ISOLATION LEVEL READ COMMITTED", "commit;", "rollback", " select 1", "WITH t AS (SELECT 1) SELECT 2"} {
		s.count(sql)
	}
	if n := s.n.Load(); n != 2 {
		t.Errorf("counted %d, want 2", n)
	}
}
