package storetest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// row is an item on its way in, before it has an ordinal and a key.
type row struct {
	line   payroll.Line
	death  *payroll.Death
	reject *payroll.Reject
}

// pay is a payment to an employee: version 1, dollars, an amount of its own.
func pay(employee string) row {
	return row{line: payroll.Line{
		EmployeeID: employee, Version: 1, Currency: "USD",
		Amount:   payroll.Minor(1 + crc32.ChecksumIEEE([]byte(employee))%500_000),
		Details:  payroll.Details{payroll.LiteralDetail("hours", "173.33"), payroll.TextDetail("title", `Clerk "II"`)},
		Metadata: []byte(`{"pay_group":"north"}`),
	}}
}

// crew is n payments to employees of a common name.
func crew(name string, n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = pay(fmt.Sprintf("%s-%06d", name, i+1))
	}
	return rows
}

func (r row) version(n int32) row {
	r.line.Version = n
	return r
}

func (r row) amount(m payroll.Minor) row {
	r.line.Amount = m
	return r
}

func (r row) in(currency string) row {
	r.line.Currency = currency
	return r
}

func (r row) ref(ref string) row {
	r.line.Ref = ref
	return r
}

// capped is accepted as a line but dead at once.
func (r row) capped() row {
	r.death = &payroll.Death{Reason: payroll.StatutoryCapBreach, Stage: payroll.StageIntake, Error: "the amount is outside the vendor's limits"}
	return r
}

// poison is a row that is not even an object.
func poison(bytes string) row {
	return row{reject: &payroll.Reject{
		Reason: payroll.PoisonMessage, Detail: "is not an object", Payload: []byte(bytes), Digest: payroll.HashBytes([]byte(bytes)),
	}}
}

// misread is a row of which all but one field could be read, its amount included.
func misread(employee string, amount payroll.Minor, currency string) row {
	text := fmt.Sprintf("%s %d %s", employee, amount, currency)
	return row{reject: &payroll.Reject{
		EmployeeID: employee, Amount: amount, Currency: currency, Reason: payroll.SchemaValidationFailed,
		Detail: "line_version: must be an integer", Payload: []byte(text), Digest: payroll.HashBytes([]byte(text)),
	}}
}

// draft is a submission in the making.
type draft struct {
	batch       payroll.Batch
	rows        []row
	strict      bool
	corrections payroll.Corrections
}

// draft begins a submission of the fixture's unit in a run of its own.
func (f *fixture) draft(rows ...row) draft {
	f.groups++
	return draft{rows: rows, corrections: payroll.CorrectionsRefuse, batch: payroll.Batch{
		Tenant: f.unit.Tenant, PayPeriod: f.unit.PayPeriod, Vendor: f.unit.Vendor, Group: fmt.Sprintf("run-%d", f.groups),
		Currency: "USD", PayDate: "2026-03-31", CreatedBy: "hr-key", CreatedAt: f.now,
	}}
}

// items are the draft's rows as the store takes them.
func (d draft) items() []store.Row {
	items := make([]store.Row, len(d.rows))
	for i, r := range d.rows {
		items[i] = r.item(d.batch, int32(i+1))
	}
	return items
}

func (r row) item(b payroll.Batch, ordinal int32) store.Row {
	if r.reject != nil {
		reject := *r.reject
		reject.Ordinal = ordinal
		return store.Row{Reject: &reject}
	}
	l := r.line
	l.Ordinal = ordinal
	natural := l.Natural(b.Tenant, b.PayPeriod)
	l.Key, l.AnyVersion = natural.Digest(), natural.AnyVersion()
	l.Hash = payroll.RequestHash(l.Currency, l.Amount, l.Details)
	return store.Row{Line: &l, Death: r.death}
}

// submission seals the draft: total and content hash are those of its rows.
func (d draft) submission(now time.Time) store.Submission {
	items := d.items()
	d.batch.Total = int32(len(items))
	d.batch.ContentHash = contentHash(d.batch, items)
	return store.Submission{Batch: d.batch, Rows: each(items), Strict: d.strict, Corrections: d.corrections, Now: now}
}

func each(items []store.Row) func() iter.Seq2[store.Row, error] {
	return func() iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// contentHash covers what "the same content" means; the store only compares it.
func contentHash(b payroll.Batch, items []store.Row) payroll.Hash {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%d\n", b.Vendor, b.PayDate, unixMicro(b.CutoffAt))
	for _, item := range items {
		digest := item.Digest()
		h.Write(digest[:])
	}
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(items))))
	return payroll.Hash(h.Sum(nil))
}

func unixMicro(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
