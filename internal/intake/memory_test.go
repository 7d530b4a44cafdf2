package intake

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"testing"

	"payrollgateway/internal/store"
)

// Rows are streamed: what 200,000 lines need while they are read and stored is
// far from what they are, in each format and with the rows before their envelope.
func TestMemoryIsBounded(t *testing.T) {
	const lines, limit = 200_000, 24 << 20
	rows := ndjsonRows(lines)
	array := bytes.ReplaceAll(bytes.TrimSpace(rows), []byte("\n"), []byte(","))
	envelope := `"vendor":"acme","pay_period_id":"2026-W28","run_attempt_group":"1","currency":"USD"`
	bodies := map[string]Request{
		"ndjson":     {ContentType: mediaNDJSON, Query: envelopeQuery(), Body: bytes.NewReader(rows)},
		"csv":        {ContentType: mediaCSV, Query: envelopeQuery(), Body: bytes.NewReader(csvRows(lines))},
		"json":       {ContentType: mediaJSON, Body: io.MultiReader(strings.NewReader("{"+envelope+`,"lines":[`), bytes.NewReader(array), strings.NewReader("]}"))},
		"json, late": {ContentType: mediaJSON, Body: io.MultiReader(strings.NewReader(`{"lines":[`), bytes.NewReader(array), strings.NewReader("],"+envelope+"}"))},
	}
	for name, r := range bodies {
		d := newDesk(t)
		w := &watch{}
		d.service.Store = w
		r.Body = watchedBody{r.Body, w}
		base := heapInUse()
		if _, err := d.submit(r); err != nil || w.rows != lines {
			t.Fatalf("%s: %d rows, %v", name, w.rows, err)
		}
		if grown := max(w.highest, base) - base; grown > limit {
			t.Errorf("%s: grew by %d MiB", name, grown>>20)
		}
	}
}

// watch is a store that keeps no rows and looks at the memory in use now and
// then, while it reads them and while the body arrives.
type watch struct {
	rows, looks int
	highest     uint64
}

func (w *watch) Accept(_ context.Context, sub store.Submission) (store.Receipt, error) {
	for _, err := range sub.Rows() {
		if err != nil {
			return store.Receipt{}, err
		}
		if w.rows++; w.rows%20_000 == 0 {
			w.look()
		}
	}
	return store.Receipt{}, nil
}

func (w *watch) look() { w.highest = max(w.highest, heapInUse()) }

type watchedBody struct {
	from io.Reader
	*watch
}

func (b watchedBody) Read(p []byte) (int, error) {
	if b.looks++; b.looks%50 == 0 {
		b.look()
	}
	return b.from.Read(p)
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
