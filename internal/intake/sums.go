package intake

import (
	"math"

	"github.com/shopspring/decimal"

	"payrollgateway/internal/payroll"
)

// sums adds up amounts by currency. A batch has one currency, rarely two.
type sums []sum

type sum struct {
	currency string
	total    payroll.Minor
	moved    uint64 // the amounts without their signs
}

// add reports whether the amounts still fit 64 bits whatever their signs: then
// every total and part of a total that is ever made of them fits too.
func (s *sums) add(currency string, amount payroll.Minor) bool {
	entry := s.of(currency)
	size := uint64(amount)
	if amount < 0 {
		size = -size
	}
	entry.total += amount
	entry.moved += size
	return entry.moved <= math.MaxInt64
}

func (s *sums) of(currency string) *sum {
	for i := range *s {
		if (*s)[i].currency == currency {
			return &(*s)[i]
		}
	}
	*s = append(*s, sum{currency: currency})
	return &(*s)[len(*s)-1]
}

// total adds the currencies up as plain numbers, which is how control totals
// over a mixed file are made. digits is what its text needs.
func (s sums) total() (d decimal.Decimal, digits int32) {
	for _, entry := range s {
		minor, _ := payroll.MinorDigits(entry.currency)
		digits = max(digits, minor)
		d = d.Add(decimal.New(int64(entry.total), -minor))
	}
	return d, digits
}
