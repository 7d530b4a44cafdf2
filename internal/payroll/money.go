package payroll

import (
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// Minor is an amount of money in the minor units of its currency (cents).
type Minor int64

// splitDecimal takes a text of the one spelling of money apart that is read, in
// JSON strings, JSON numbers (by their text) and CSV cells:
// -?(0|[1-9][0-9]{0,14})(\.[0-9]{1,18})?, so no plus sign, exponent, grouping or
// spaces. It also keeps a short text from meaning a huge number.
func splitDecimal(text string) (sign, whole, fraction string, ok bool) {
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, fraction, point := strings.Cut(text, ".")
	ok = digitsOnly(whole, 15) && (whole == "0" || whole[0] != '0') && (!point || digitsOnly(fraction, 18))
	return sign, whole, fraction, ok
}

// digitsOnly reports whether s is 1 to limit digits.
func digitsOnly(s string, limit int) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= limit
}

func notDecimal(field string) error {
	return Fault{Field: field, Remedy: "must be a plain decimal number such as 1830.50: no exponent, plus sign, grouping or spaces, at most 15 digits before the point"}
}

// ParseDecimal reads an amount as a plain number, of whatever currency.
func ParseDecimal(field, text string) (decimal.Decimal, error) {
	if _, _, _, ok := splitDecimal(text); !ok {
		return decimal.Decimal{}, notDecimal(field)
	}
	d, err := decimal.NewFromString(text)
	if err != nil {
		return decimal.Decimal{}, notDecimal(field)
	}
	return d, nil
}

// ParseAmount reads an amount of the given currency. Zeros beyond the
// currency's minor digits are dropped; other digits there are a Fault, as are
// texts outside the grammar and amounts that do not fit 64 bits.
func ParseAmount(field, text, currency string) (Minor, error) {
	digits, ok := MinorDigits(currency)
	if !ok {
		return 0, Fault{Field: "currency", Remedy: "must be an ISO 4217 code in capitals, such as USD"}
	}
	sign, whole, fraction, ok := splitDecimal(text)
	if !ok {
		return 0, notDecimal(field)
	}
	for len(fraction) > int(digits) && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	if len(fraction) > int(digits) {
		return 0, Fault{Field: field, Remedy: "has more decimal digits than its currency"}
	}
	missing := "0000"[:int(digits)-len(fraction)]
	minor, err := strconv.ParseInt(sign+whole+fraction+missing, 10, 64)
	if err != nil {
		return 0, Fault{Field: field, Remedy: "is too large"}
	}
	return Minor(minor), nil
}

// Format spells the amount with exactly the currency's digits: "1830.50".
// An unknown currency is spelled in minor units; no stored line has one.
func (m Minor) Format(currency string) string {
	digits, _ := MinorDigits(currency)
	return decimal.New(int64(m), -digits).StringFixed(digits)
}

// AddChecked adds two amounts; ok is false when the sum leaves 64 bits.
func AddChecked(a, b Minor) (sum Minor, ok bool) {
	sum = a + b
	return sum, (sum > a) == (b > 0)
}

// Cap is the range of amounts a vendor takes for one line, both ends
// included, as decimal numbers in major units of whatever currency.
type Cap struct {
	Min, Max decimal.Decimal
}

// DefaultCap is used where a vendor's profile has no limits: 0.01 to 250000.00.
func DefaultCap() Cap {
	return Cap{Min: decimal.New(1, -2), Max: decimal.New(250000, 0)}
}

// Allows reports whether the amount lies within the cap.
func (c Cap) Allows(m Minor, currency string) bool {
	digits, ok := MinorDigits(currency)
	if !ok {
		return false
	}
	d := decimal.New(int64(m), -digits)
	return d.GreaterThanOrEqual(c.Min) && d.LessThanOrEqual(c.Max)
}
