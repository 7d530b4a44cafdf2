package intake

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

var noon = time.Date(2026, 7, 13, 12, 0, 0, 0, time.UTC)

// ledger is a store that takes everything and keeps the rows of the last
// submission, read twice.
type ledger struct {
	accepted int
	last     store.Submission
	rows     []store.Row
	err      error // given instead of accepting
}

func (l *ledger) Accept(_ context.Context, s store.Submission) (store.Receipt, error) {
	if l.err != nil {
		return store.Receipt{}, l.err
	}
	first, err := drain(s)
	if err != nil {
		return store.Receipt{}, err
	}
	second, err := drain(s)
	if err != nil || len(second) != len(first) {
		return store.Receipt{}, fmt.Errorf("the second reading: %d rows of %d: %w", len(second), len(first), err)
	}
	l.accepted++
	l.last, l.rows = s, second
	return store.Receipt{BatchID: int64(l.accepted)}, nil
}

func drain(s store.Submission) (rows []store.Row, _ error) {
	for row, err := range s.Rows() {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// desk is a service over a ledger, with two vendors.
type desk struct {
	testing.TB
	*ledger
	service *Service
}

func newDesk(t testing.TB) *desk {
	l := &ledger{}
	return &desk{t, l, &Service{
		Store: l,
		Vendor: func(name string) (Vendor, bool) {
			return Vendor{Cap: payroll.DefaultCap(), Corrections: payroll.CorrectionsRefuse}, name == "acme" || name == "sandbox"
		},
		Known:    func() []string { return []string{"sandbox", "acme"} },
		SpoolDir: t.TempDir(),
	}}
}

func (d *desk) submit(r Request) (Accepted, error) {
	r.Tenant, r.Actor, r.Now = "city", "key-1", noon
	return d.service.Submit(context.Background(), r)
}

// mustSubmit returns the rows of a submission that is accepted.
func (d *desk) mustSubmit(r Request) []store.Row {
	d.Helper()
	a, err := d.submit(r)
	if err != nil {
		d.Fatalf("refused: %v", err)
	}
	if int(a.Batch.Total) != len(d.rows) || a.Batch.ContentHash == (payroll.Hash{}) {
		d.Fatalf("total %d of %d rows, content hash %x", a.Batch.Total, len(d.rows), a.Batch.ContentHash)
	}
	return d.rows
}

// mustRefuse returns why a submission is refused.
func (d *desk) mustRefuse(r Request, code Code) Error {
	d.Helper()
	before := d.accepted
	_, err := d.submit(r)
	var refused *Error
	switch {
	case !errors.As(err, &refused):
		d.Fatalf("want %s, got %v", code, err)
	case refused.Code != code:
		d.Fatalf("want %s, got %v", code, refused)
	case d.accepted != before:
		d.Fatalf("refused with %s, and stored", code)
	}
	d.nothingLeft()
	return *refused
}

// nothingLeft checks that no file remains.
func (d *desk) nothingLeft() {
	d.Helper()
	left, err := os.ReadDir(d.service.SpoolDir)
	if err != nil || len(left) > 0 {
		d.Fatalf("left behind: %v %v", left, err)
	}
}

// envelopeQuery is a good envelope; changes are pairs of name and value, where
// an empty value takes the name away.
func envelopeQuery(changes ...string) url.Values {
	q := url.Values{"vendor": {"acme"}, "pay_period_id": {"2026-W28"}, "run_attempt_group": {"1"}, "currency": {"USD"}}
	for i := 0; i < len(changes); i += 2 {
		if changes[i+1] == "" {
			q.Del(changes[i])
		} else {
			q.Set(changes[i], changes[i+1])
		}
	}
	return q
}

func jsonRequest(body string) Request {
	return Request{ContentType: mediaJSON, Body: strings.NewReader(body)}
}

func ndjsonRequest(body string) Request {
	return Request{ContentType: mediaNDJSON, Query: envelopeQuery(), Body: strings.NewReader(body)}
}

func csvRequest(body string) Request {
	return Request{ContentType: mediaCSV, Query: envelopeQuery(), Body: strings.NewReader(body)}
}

// oneLine is a JSON body around the members of one row.
func oneLine(row string) Request {
	return jsonRequest(`{"vendor":"acme","pay_period_id":"2026-W28","run_attempt_group":"1","currency":"USD","lines":[` + row + `]}`)
}

func zip(body []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(body); err != nil {
		panic(err) // to memory
	}
	z.Close()
	return out.Bytes()
}

// zipped is the request with its body gzipped.
func zipped(t testing.TB, r Request) Request {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.Body, r.ContentEncoding = bytes.NewReader(zip(body)), "gzip"
	return r
}

// tell spells a row for comparing.
func tell(r store.Row) string {
	switch {
	case r.Reject != nil:
		return fmt.Sprintf("%d %s: %s", r.Reject.Ordinal, r.Reject.Reason, r.Reject.Detail)
	case r.Death != nil:
		return fmt.Sprintf("%d %s", r.Line.Ordinal, r.Death.Reason)
	default:
		l := r.Line
		return fmt.Sprintf("%d %s v%d %q %s %s %v %s", l.Ordinal, l.EmployeeID, l.Version, l.Ref, l.Amount.Format(l.Currency), l.Currency, l.Details, l.Metadata)
	}
}

func newReader(s string) *bufio.Reader { return bufio.NewReader(strings.NewReader(s)) }
