package intake

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"payrollgateway/internal/payroll"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seeds are good bodies, to be damaged.
func seeds() []Request {
	json := `{"vendor":"acme","pay_period_id":"2026-W28","run_attempt_group":"1","currency":"USD","pay_date":"2026-07-17","control_totals":{"lines":2,"gross_pay":"3"},"lines":[` +
		`{"employee_id":"7","line_version":1,"gross_pay":"1.00","details":{"a":1830,"b":"x\u00e9\n"},"metadata":{"n":"A"}},{"employee_id":"8","line_version":1,"gross_pay":2,"line_ref":"r"}]}`
	ndjson := `{"employee_id":"7","line_version":1,"gross_pay":"1.00","details":{"a":1830,"b":"x"}}` + "\r\n\n" + `{"employee_id":"8","line_version":1,"gross_pay":2,"currency":"JPY"}`
	csv := "\xef\xbb\xbfemployee_id,line_version,gross_pay,title,line_ref\r\n7,1,119042.5,\"CLERK, \"\"A\"\"\",\r\n\r\n8,2,-1,\"x\ny\",bonus\r\n"
	return []Request{jsonRequest(json), ndjsonRequest(ndjson), csvRequest(csv)}
}

// fragments are what damage is made of.
var fragments = []string{
	`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, "\n", "\r\n", "\x00", "\xff", "\xed\xa0\x80", `\ud800`, "\xef\xbb\xbf", `""`, `null`, `true`, `1e999999999`, `-0`, `007`, `9007199254740993`,
	`"employee_id":"7",`, `"vendor":"acme",`, `"Lines":[]`, `{"lines":`, strings.Repeat("[", 11000), strings.Repeat("9", 400), strings.Repeat(`{"a":`, 300), strings.Repeat(" ", 5000), `,,,,,`, `"open`,
}

func damage(random *rand.Rand, body []byte) []byte {
	for range 1 + random.IntN(4) {
		at := random.IntN(len(body) + 1)
		switch to := at + random.IntN(min(20, len(body)-at)+1); random.IntN(5) {
		case 0:
			body = body[:at]
		case 1:
			body = append(bytes.Clone(body[:at]), body[to:]...)
		case 2:
			body = append(bytes.Clone(body[:to]), body[at:]...)
		case 3:
			body = bytes.Clone(body)
			if at < len(body) {
				body[at] = byte(random.IntN(256))
			}
		default:
			part := fragments[random.IntN(len(fragments))]
			body = append(append(bytes.Clone(body[:at]), part...), body[at:]...)
		}
	}
	return body
}

// Whatever is wrong with a body, it is refused by a typed error or accepted row
// by row, and leaves nothing behind.
func TestTenThousandMalformedBodies(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.service.Limits.Memory = 200 // so that files are used too
	random := rand.New(rand.NewPCG(2026, 28))
	var refused, accepted int
	for i := range 10_000 {
		r := seeds()[i%3]
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		body = damage(random, body)
		if i%7 == 0 {
			body, r.ContentEncoding = zip(body), "gzip"
			if i%2 == 0 {
				body = damage(random, body)
			}
		}
		r.Body = bytes.NewReader(body)
		if d.survives(r) {
			accepted++
		} else {
			refused++
		}
	}
	d.nothingLeft()
	if refused < 2000 || accepted < 2000 {
		t.Errorf("%d refused, %d accepted: the damage is one-sided", refused, accepted)
	}
}

// survives submits a body that may be anything and checks what must hold
// whatever it is. It reports whether the body was accepted.
func (d *desk) survives(r Request) bool {
	d.Helper()
	before := d.accepted
	a, err := d.submit(r)
	var refused *Error
	switch {
	case err == nil:
		d.checkAccepted(a.Batch)
		return true
	case !errors.As(err, &refused) || len(refused.Faults) == 0:
		d.Fatalf("an untyped error: %v", err)
	case d.accepted != before:
		d.Fatalf("refused, and stored: %v", err)
	}
	return false
}

func (d *desk) checkAccepted(b payroll.Batch) {
	d.Helper()
	if int(b.Total) != len(d.rows) || len(d.rows) == 0 {
		d.Fatalf("%d rows of %d", len(d.rows), b.Total)
	}
	keys := make(map[payroll.Digest]bool)
	for i, row := range d.rows {
		switch {
		case row.Line != nil && row.Reject != nil, row.Line == nil && row.Reject == nil:
			d.Fatalf("row %d is neither or both", i+1)
		case row.Reject != nil:
			if r := row.Reject; int(r.Ordinal) != i+1 || r.Detail == "" || len(r.Payload) > payroll.MaxPayload || r.Digest == (payroll.Hash{}) {
				d.Fatalf("reject %d: %+v", i+1, r)
			}
			keys[row.Reject.Key] = true
		default:
			d.checkLine(b, *row.Line, int32(i+1))
			if keys[row.Line.Key] {
				d.Fatalf("row %d has the key of another", i+1)
			}
			keys[row.Line.Key] = true
		}
	}
}

// checkLine works out a line's keys and hash again.
func (d *desk) checkLine(b payroll.Batch, l payroll.Line, ordinal int32) {
	d.Helper()
	n := l.Natural(b.Tenant, b.PayPeriod)
	switch {
	case l.Ordinal != ordinal, !payroll.ValidEmployeeID(l.EmployeeID), l.Version < 1, l.Details.Check() != nil:
		d.Fatalf("line %d: %+v", ordinal, l)
	case l.Key != n.Digest(), l.AnyVersion != n.AnyVersion(), l.Hash != payroll.RequestHash(l.Currency, l.Amount, l.Details):
		d.Fatalf("line %d: keys or hash differ", ordinal)
	}
	for _, m := range l.Details {
		if m.JSON != m.Text && m.JSON != payroll.QuoteJSON(m.Text) {
			d.Fatalf("line %d: detail %+v", ordinal, m)
		}
	}
}

func fuzz(f *testing.F, of int) {
	body, err := io.ReadAll(seeds()[of].Body)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	for _, part := range fragments {
		if len(part) < 100 { // long ones keep the fuzzer busy with shortening them
			f.Add(append(bytes.Clone(body[:len(body)/2]), part...))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d := newDesk(t)
		d.service.Limits = Limits{Memory: 200, RowBytes: 4 << 10, Lines: 100}
		r := seeds()[of]
		r.Body = bytes.NewReader(body)
		d.survives(r)
	})
}

func FuzzJSON(f *testing.F) { fuzz(f, 0) }

func FuzzNDJSON(f *testing.F) { fuzz(f, 1) }

func FuzzCSV(f *testing.F) { fuzz(f, 2) }
