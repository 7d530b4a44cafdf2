package sandbox

import (
	"net/http"

	"github.com/shopspring/decimal"
)

const summaryPath = "/journal/summary"

// effectFold adds effects up: how often each payment was made, and what each
// slot comes to. A replacement sets the amount, anything else adds to it.
type effectFold struct {
	times map[Payment]int
	net   map[Slot]map[string]decimal.Decimal // by currency
}

func newEffectFold() effectFold {
	return effectFold{map[Payment]int{}, map[Slot]map[string]decimal.Decimal{}}
}

func (f effectFold) add(e Effect) {
	payment := e.Payment()
	f.times[payment]++
	if f.net[payment.Slot] == nil || e.Kind == EffectReplaced {
		f.net[payment.Slot] = map[string]decimal.Decimal{}
	}
	amount, _ := parseAmount(e.Amount) // zero if unreadable; Reconcile reports that
	f.net[payment.Slot][e.Currency] = f.net[payment.Slot][e.Currency].Add(amount)
}

// twice counts the payments made more than once.
func (f effectFold) twice() int {
	n := 0
	for _, times := range f.times {
		if times > 1 {
			n++
		}
	}
	return n
}

// cents is what all slots come to, in minor units by currency.
func (f effectFold) cents() map[string]string {
	sums := map[string]decimal.Decimal{}
	for _, amounts := range f.net {
		for currency, amount := range amounts {
			sums[currency] = sums[currency].Add(amount)
		}
	}
	cents := map[string]string{}
	for currency, sum := range sums {
		cents[currency] = minorUnits(sum, currency)
	}
	return cents
}

// Summary is the journal in a few figures. Cents are what the vendor holds for
// everybody, in minor units as integers in strings.
type Summary struct {
	Requests    int               `json:"requests"`
	Submissions int               `json:"submissions"`
	LookUps     int               `json:"look_ups"`
	Refused     map[Refusal]int   `json:"refused"`
	Faults      map[string]int    `json:"faults"`
	MaxInFlight int               `json:"max_in_flight"`
	Effects     int               `json:"effects"`
	Payments    int               `json:"payments"`
	PaidTwice   int               `json:"paid_twice"`
	Cents       map[string]string `json:"cents"`
}

// summary keeps the figures as records come in.
type summary struct {
	figures Summary
	fold    effectFold
}

func newSummary() *summary {
	return &summary{Summary{Refused: map[Refusal]int{}, Faults: map[string]int{}}, newEffectFold()}
}

func (s *summary) noteRequest(r *Request) {
	f := &s.figures
	f.Requests++
	f.MaxInFlight = max(f.MaxInFlight, r.InFlight)
	switch {
	case r.Refused != "":
		f.Refused[r.Refused]++
	case r.Method == http.MethodGet:
		f.LookUps++
	default:
		f.Submissions++
	}
	if r.Fault != "" {
		f.Faults[r.Fault]++
	}
	for _, l := range r.Lines {
		if l.Fault != "" && l.Fault != r.Fault {
			f.Faults[l.Fault]++
		}
	}
}

func (s *summary) noteEffect(e Effect) {
	s.figures.Effects++
	s.fold.add(e)
}

func (s *summary) now() Summary {
	figures := s.figures
	figures.Payments, figures.PaidTwice = len(s.fold.times), s.fold.twice()
	figures.Cents = s.fold.cents()
	return figures
}

// summary answers the figures; it wants the token like everything else.
func (v *visit) summary() {
	if !v.s.authorised(v.r) {
		problem(http.StatusUnauthorized, "unauthorized", "").write(v.w)
		return
	}
	v.s.mu.Lock()
	a := marshalled(http.StatusOK, v.s.summary.now())
	v.s.mu.Unlock()
	a.write(v.w)
}
