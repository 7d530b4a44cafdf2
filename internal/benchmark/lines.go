package benchmark

import (
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

const (
	tenant   = "bench"
	currency = "USD"
)

// line is one payment of a made-up pay run, about 200 bytes as NDJSON. The same
// number is always the same payment.
type line struct {
	number     int // from 1
	cents      int64
	hours      int
	department string
	costCentre int
}

var departments = []string{"Parks and Recreation", "Water Management", "Street Operations", "Public Library"}

func lineOf(number int) line {
	rng := rand.New(rand.NewPCG(20260713, uint64(number)))
	return line{
		number: number, cents: 50_000 + rng.Int64N(950_000), hours: 40 + rng.IntN(80),
		department: departments[rng.IntN(len(departments))], costCentre: 10_000 + rng.IntN(90_000),
	}
}

func (l line) employee() string { return fmt.Sprintf("E-%08d", l.number) }

// appendJSON appends the line as one JSON object, without a newline.
func (l line) appendJSON(b []byte) []byte {
	return fmt.Appendf(b, `{"employee_id":"%s","line_version":1,"gross_pay":"%d.%02d","details":{"department":"%s","hours":"%d.00","pay_code":"REG","cost_centre":"CC-%d","frequency":"biweekly"}}`,
		l.employee(), l.cents/100, l.cents%100, l.department, l.hours, l.costCentre)
}

func (l line) details() payroll.Details {
	return payroll.Details{
		payroll.TextDetail("cost_centre", fmt.Sprint("CC-", l.costCentre)),
		payroll.TextDetail("department", l.department),
		payroll.TextDetail("frequency", "biweekly"),
		payroll.TextDetail("hours", fmt.Sprintf("%d.00", l.hours)),
		payroll.TextDetail("pay_code", "REG"),
	}
}

// payment is the line as the ledger takes it, in a pay period of ours.
func (l line) payment(period string) payroll.Line {
	p := payroll.Line{
		Ordinal: int32(l.number), EmployeeID: l.employee(), Version: 1, Amount: payroll.Minor(l.cents), Currency: currency, Details: l.details(),
	}
	natural := p.Natural(tenant, period)
	p.Key, p.AnyVersion = natural.Digest(), natural.AnyVersion()
	p.Hash = payroll.RequestHash(p.Currency, p.Amount, p.Details)
	return p
}

// submission is a pay run of so many lines, past intake.
func submission(period, vendor string, lines int, now time.Time) store.Submission {
	return store.Submission{
		Batch: payroll.Batch{
			Tenant: tenant, Vendor: vendor, PayPeriod: period, Group: "1", Currency: currency, Total: int32(lines),
			CreatedBy: "benchmark", CreatedAt: now, ContentHash: payroll.HashBytes([]byte(period)),
		},
		Now: now, Corrections: payroll.CorrectionsRefuse,
		Rows: func() iter.Seq2[store.Row, error] {
			return func(yield func(store.Row, error) bool) {
				for n := range lines {
					p := lineOf(n + 1).payment(period)
					if !yield(store.Row{Line: &p}, nil) {
						return
					}
				}
			}
		},
	}
}

// ndjson streams a pay run of so many lines without holding it.
type ndjson struct {
	next, lines int
	left, page  []byte
}

func newNDJSON(lines int) *ndjson { return &ndjson{next: 1, lines: lines} }

// Read implements io.Reader.
func (n *ndjson) Read(p []byte) (int, error) {
	if len(n.left) == 0 {
		n.page = n.page[:0]
		for ; n.next <= n.lines && len(n.page) < 64<<10; n.next++ {
			n.page = append(lineOf(n.next).appendJSON(n.page), '\n')
		}
		n.left = n.page
	}
	if len(n.left) == 0 {
		return 0, io.EOF
	}
	read := copy(p, n.left)
	n.left = n.left[read:]
	return read, nil
}
