package sandbox

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// amountGrammar is checked before any conversion, so that no exponent reaches
// the decimal library.
var amountGrammar = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,18})?$`)

var currencyGrammar = regexp.MustCompile(`^[A-Z]{3}$`)

// oddDigits lists the currencies of ISO 4217 whose minor unit is not a
// hundredth.
var oddDigits = map[string]int32{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0,
	"RWF": 0, "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

func minorDigits(currency string) int32 {
	if digits, odd := oddDigits[currency]; odd {
		return digits
	}
	return 2
}

func parseAmount(text string) (decimal.Decimal, error) {
	if !amountGrammar.MatchString(text) {
		return decimal.Zero, errors.New("not an amount")
	}
	return decimal.NewFromString(text)
}

// checkWireAmount demands exactly the currency's digits, as the standard body
// promises them.
func checkWireAmount(text, currency string) error {
	if !amountGrammar.MatchString(text) {
		return errors.New("gross_pay is not an amount")
	}
	if !currencyGrammar.MatchString(currency) {
		return errors.New("currency is not an ISO 4217 code")
	}
	_, fraction, _ := strings.Cut(text, ".")
	if want := int(minorDigits(currency)); len(fraction) != want {
		return fmt.Errorf("gross_pay must have %d decimals", want)
	}
	return nil
}

// minorUnits renders an amount as an integer of the currency's minor unit. A
// fraction of a minor unit stays visible; it is never rounded away.
func minorUnits(amount decimal.Decimal, currency string) string {
	return amount.Shift(minorDigits(currency)).String()
}
