package intake

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"payrollgateway/internal/store"
)

// sink is a store that reads every row once and keeps none.
type sink struct{ rows int }

func (s *sink) Accept(_ context.Context, sub store.Submission) (store.Receipt, error) {
	for _, err := range sub.Rows() {
		if err != nil {
			return store.Receipt{}, err
		}
		s.rows++
	}
	return store.Receipt{}, nil
}

func ndjsonRows(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"employee_id":"%07d","line_version":1,"gross_pay":"%d.%02d","details":{"regular_hours":"1830","overtime_hours":2.25,"cost_center":"DISTRICT ATTORNEY-MANHATTAN"}}`+"\n", i+1, 1000+i%90000, i%100)
	}
	return b.Bytes()
}

func csvRows(n int) []byte {
	var b bytes.Buffer
	b.WriteString("employee_id,line_version,gross_pay,regular_hours,overtime_hours,cost_center\n")
	for i := range n {
		fmt.Fprintf(&b, "%07d,1,%d.%02d,1830,2.25,DISTRICT ATTORNEY-MANHATTAN\n", i+1, 1000+i%90000, i%100)
	}
	return b.Bytes()
}

func benchmarkFormat(b *testing.B, media string, body []byte, lines int) {
	d := newDesk(b)
	d.service.Store = &sink{}
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r := Request{ContentType: media, Body: bytes.NewReader(body)}
		if media != mediaJSON {
			r.Query = envelopeQuery()
		}
		if _, err := d.submit(r); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(lines*b.N)/b.Elapsed().Seconds(), "lines/s")
}

func BenchmarkNDJSON(b *testing.B) { benchmarkFormat(b, mediaNDJSON, ndjsonRows(50_000), 50_000) }

func BenchmarkCSV(b *testing.B) { benchmarkFormat(b, mediaCSV, csvRows(50_000), 50_000) }

func BenchmarkJSON(b *testing.B) {
	rows := bytes.ReplaceAll(bytes.TrimSpace(ndjsonRows(50_000)), []byte("\n"), []byte(","))
	head := `{"vendor":"acme","pay_period_id":"2026-W28","run_attempt_group":"1","currency":"USD","lines":[`
	benchmarkFormat(b, mediaJSON, append(append([]byte(head), rows...), "]}"...), 50_000)
}
