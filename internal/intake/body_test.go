package intake

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	for _, r := range []Request{
		{ContentType: ""},
		{ContentType: "text/plain"},
		{ContentType: "application/json; charset=latin1"},
		{ContentType: "text/csv; charset"},
		{ContentType: mediaJSON, ContentEncoding: "br"},
		{ContentType: mediaJSON, ContentEncoding: "gzip, gzip"},
		{ContentType: mediaJSON, ContentEncoding: "identity"},
	} {
		r.Body = strings.NewReader("{}")
		newDesk(t).mustRefuse(r, UnsupportedMediaType)
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	whole := zip([]byte(goodRow + "\n"))
	d.mustSubmit(Request{ContentType: mediaNDJSON, ContentEncoding: "GZIP", Query: envelopeQuery(), Body: bytes.NewReader(whole)})

	second := zip([]byte(strings.ReplaceAll(goodRow, `"7"`, `"8"`)))
	members := Request{ContentType: mediaNDJSON, ContentEncoding: "gzip", Query: envelopeQuery(), Body: io.MultiReader(bytes.NewReader(whole), bytes.NewReader(second))}
	if rows := d.mustSubmit(members); len(rows) != 2 {
		t.Errorf("%d rows of two members", len(rows))
	}
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-6] ^= 1
	for name, body := range map[string][]byte{
		"empty": nil, "no gzip": []byte(goodRow), "damaged": damaged, "trailing data": append(bytes.Clone(whole), "garbage"...),
	} {
		refused := d.mustRefuse(Request{ContentType: mediaNDJSON, ContentEncoding: "gzip", Query: envelopeQuery(), Body: bytes.NewReader(body)}, InvalidBody)
		if !strings.Contains(refused.Faults[0].Detail, "gzip") {
			t.Errorf("%s: %v", name, refused.Faults)
		}
	}
}

// A body cut at any byte stores nothing, in each format, zipped or not, unless
// what is left is a whole body by itself. Then only control totals can tell.
func TestBodyCutAnywhere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	whole := zip([]byte(strings.Repeat(goodRow+"\n", 3)))
	for n := range whole {
		r := Request{ContentType: mediaNDJSON, ContentEncoding: "gzip", Query: envelopeQuery(), Body: bytes.NewReader(whole[:n])}
		d.mustRefuse(r, InvalidBody)
	}
	text, err := io.ReadAll(document("control_totals", `{"lines":1}`).Body)
	if err != nil {
		t.Fatal(err)
	}
	for n := range text {
		d.mustRefuse(jsonRequest(string(text[:n])), InvalidBody)
	}
	for n := range text {
		r := document()
		r.Body = io.MultiReader(bytes.NewReader(text[:n]), iotest.ErrReader(io.ErrUnexpectedEOF))
		d.mustRefuse(r, InvalidBody)
	}
	csv := csvHead + "7,1,2,A\n"
	for n := range csv {
		r := csvRequest("")
		r.Body = io.MultiReader(strings.NewReader(csv[:n]), iotest.ErrReader(io.ErrUnexpectedEOF))
		d.mustRefuse(r, InvalidBody)
	}
}

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	small := Limits{Lines: 3, Bytes: 4096, RowBytes: 512, RatioFree: 64, Ratio: 4}
	rows := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"employee_id":"%d","line_version":1,"gross_pay":1}`+"\n", i)
		}
		return b.String()
	}
	array := func(s string) string {
		return "[" + strings.ReplaceAll(strings.TrimSpace(s), "\n", ",") + "]"
	}
	longRow := `{"employee_id":"7","line_version":1,"gross_pay":1,"metadata":{"a":"` + strings.Repeat("x", 600) + `"}}`
	tests := map[string]struct {
		request Request
		ordinal int32
	}{
		"lines":                     {ndjsonRequest(rows(4)), 0},
		"lines in JSON":             {document("lines", array(rows(4))), 0},
		"lines before the envelope": {jsonRequest(`{"lines":` + array(rows(4)) + `}`), 0},
		"bytes":                     {ndjsonRequest(strings.Repeat(" \n", 3000)), 0},
		"a long row":                {ndjsonRequest(rows(1) + longRow + "\n"), 2},
		"a long row without end":    {ndjsonRequest(rows(1) + strings.Repeat("x", 3000)), 2},
		"a long row in JSON":        {document("lines", "["+rows(1)+","+longRow+"]"), 2},
		"a long row in CSV":         {csvRequest(csvHead + "7,1,1,A\n8,1,1," + strings.Repeat("x", 600) + "\n"), 2},
		"a long member":             {document("vendor", `"`+strings.Repeat("x", 600)+`"`), 0},
		"a long stranger":           {document("a", "["+strings.Repeat("1,", 600)+"1]"), 0},
		"a bomb":                    {zipped(t, ndjsonRequest(strings.Repeat("\n", 4000))), 0},
		"a bomb in JSON":            {zipped(t, jsonRequest(strings.Repeat(" ", 500)+"{}")), 0},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.service.Limits = small
			refused := d.mustRefuse(c.request, BodyTooLarge)
			if refused.Faults[0].Ordinal != c.ordinal {
				t.Errorf("%+v", refused.Faults)
			}
		})
	}
	d := newDesk(t)
	d.service.Limits = small
	d.mustSubmit(ndjsonRequest(rows(3) + "\n\n"))
	d.mustSubmit(document("lines", array(rows(3))))
	d.mustSubmit(zipped(t, ndjsonRequest(goodRow)))
}

// A row as long as a row may be is taken, wherever the reader's buffers end.
func TestLongestRow(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pad := strings.Repeat(" ", 2000)
	for size := 90; size < 180; size++ {
		d.service.Limits = Limits{RowBytes: size}
		row := goodRow[:len(goodRow)-1] + strings.Repeat(" ", size-len(goodRow)-2) + "}"
		rows := row + "," + strings.ReplaceAll(row, `"7"`, `"8"`)
		got := d.mustSubmit(jsonRequest(`{"vendor":"acme","pay_period_id":"1","run_attempt_group":"1","currency":"USD","lines":[` + rows + `]}` + pad[:size-2]))
		if len(got) != 2 || got[1].Line == nil {
			t.Fatalf("at %d bytes: %v", size, got)
		}
	}
}

// slowBody sends one piece at a time and moves the clock before each.
type slowBody struct {
	now    time.Time
	pieces int
	piece  string
	wait   time.Duration
}

func (s *slowBody) Read(p []byte) (int, error) {
	if s.pieces == 0 {
		return 0, io.EOF
	}
	s.pieces--
	s.now = s.now.Add(s.wait)
	return copy(p, s.piece), nil
}

func TestSlowBody(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body slowBody
		slow bool
	}{
		"1 KiB a second":          {slowBody{pieces: 200, piece: strings.Repeat("\n", 1024), wait: time.Second}, false},
		"just below":              {slowBody{pieces: 200, piece: strings.Repeat("\n", 1000), wait: time.Second}, true},
		"one byte a second":       {slowBody{pieces: 200, piece: "\n", wait: time.Second}, true},
		"short and slow":          {slowBody{pieces: 50, piece: "\n", wait: time.Second}, false},
		"pauses between bursts":   {slowBody{pieces: 50, piece: strings.Repeat("\n", 32<<10), wait: 30 * time.Second}, false},
		"a pause longer than all": {slowBody{pieces: 3, piece: strings.Repeat("\n", 32<<10), wait: 5 * time.Minute}, true},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			body := c.body
			d.service.Clock = func() time.Time { return body.now }
			r := ndjsonRequest("")
			r.Body = &body
			if c.slow {
				d.mustRefuse(r, BodyTooSlow)
			} else {
				d.mustRefuse(r, EmptyBatch)
			}
		})
	}
}

// A fast start does not pay for a slow end: each window counts.
func TestPaceLooksAtEveryWindow(t *testing.T) {
	t.Parallel()
	p := newPace(1<<10, time.Minute)
	if p.tooSlow(100<<20, time.Second) {
		t.Error("the first second is judged")
	}
	seconds := 1
	for ; !p.tooSlow(1, time.Second); seconds++ {
		if seconds > 200 {
			t.Fatal("never too slow")
		}
	}
	if seconds < 59 || seconds > 61 {
		t.Errorf("too slow after %d seconds", seconds)
	}
}

func TestReadDeadlineMeansTooSlow(t *testing.T) {
	t.Parallel()
	r := document()
	r.Body = iotest.ErrReader(fmt.Errorf("read tcp: %w", os.ErrDeadlineExceeded))
	newDesk(t).mustRefuse(r, BodyTooSlow)
}

// A full disk is no fault of the caller: nothing is stored, and it is no *Error.
func TestSpoolThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.service.SpoolDir += "/missing"
	d.service.Limits.Memory = 100
	_, err := d.submit(ndjsonRequest(goodRow + "\n" + goodRow))
	var refused *Error
	if err == nil || errors.As(err, &refused) || !errors.Is(err, os.ErrNotExist) || d.accepted != 0 {
		t.Errorf("%v", err)
	}
}

// Bodies that arrive byte by byte, from memory or from a file, are the same.
func TestSpoolInAFile(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 {
		fmt.Fprintf(&body, `{"employee_id":"%d","line_version":1,"gross_pay":%d,"details":{"d%d":"%s"}}`+"\n", i/2, i, random.IntN(9), strings.Repeat("x\\n", random.IntN(300)))
	}
	d := newDesk(t)
	var want []string
	for _, row := range d.mustSubmit(ndjsonRequest(body.String())) {
		want = append(want, tell(row))
	}
	hash := d.last.Batch.ContentHash
	d.service.Limits.Memory = 1000
	r := ndjsonRequest("")
	r.Body = iotest.OneByteReader(strings.NewReader(body.String()))
	for i, row := range d.mustSubmit(r) {
		if got := tell(row); got != want[i] {
			t.Fatalf("\n got %s\nwant %s", got, want[i])
		}
	}
	if d.last.Batch.ContentHash != hash {
		t.Error("another content hash")
	}
	d.nothingLeft()
}

// The file is gone before the first byte is in it, and closed after the answer.
func TestSpoolFileIsUnlinked(t *testing.T) {
	t.Parallel()
	s := &spool{dir: t.TempDir(), max: 10}
	for range 3 {
		if err := s.append([]byte("12345678")); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(s.dir)
	if err != nil || len(left) != 0 || s.file == nil {
		t.Errorf("%v %v", left, err)
	}
	if err := s.seal(); err != nil {
		t.Error(err)
	}
	s.close()
	if _, err := s.file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("still open: %v", err)
	}
}
