package sandbox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FaultRate is a fault and the share, 0 to 1, of the occasions it strikes on.
type FaultRate struct {
	Fault Fault
	Rate  float64
}

// FaultRates are tried in order; the first that strikes is the one.
type FaultRates []FaultRate

// ParseFaultRates reads "name=rate,name=rate" for faults of whole requests.
func ParseFaultRates(text string) (FaultRates, error) { return parseRates(text, requestFault) }

// ParseItemFaultRates reads "name=rate,name=rate" for faults of single items.
func ParseItemFaultRates(text string) (FaultRates, error) { return parseRates(text, itemFault) }

func parseRates(text string, what reach) (FaultRates, error) {
	var rates FaultRates
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, share, found := strings.Cut(pair, "=")
		rate, err := strconv.ParseFloat(share, 64)
		if !found || err != nil || !isShare(rate) {
			return nil, fmt.Errorf("fault %q: want name=rate with a rate from 0 to 1", pair)
		}
		fault, err := parseFault(name, what)
		if err != nil {
			return nil, err
		}
		rates = append(rates, FaultRate{fault, rate})
	}
	return rates, nil
}

// String is the text that the parsers read.
func (r FaultRates) String() string {
	pairs := make([]string, len(r))
	for i, f := range r {
		pairs[i] = f.Fault.String() + "=" + strconv.FormatFloat(f.Rate, 'g', -1, 64)
	}
	return strings.Join(pairs, ",")
}

// check finds faults that the parsers would refuse, in rates built by hand.
func (r FaultRates) check(field string, what reach) error {
	var faults []error
	for _, f := range r {
		if _, err := parseFault(f.Fault.String(), what); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", field, err))
		}
		if !isShare(f.Rate) {
			faults = append(faults, fmt.Errorf("%s: the rate of %s must be from 0 to 1", field, f.Fault))
		}
	}
	return errors.Join(faults...)
}

func isShare(rate float64) bool { return rate >= 0 && rate <= 1 }
