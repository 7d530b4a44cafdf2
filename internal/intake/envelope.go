package intake

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"payrollgateway/internal/payroll"
)

// The fields of an envelope: members of a JSON body, where a dot goes one level
// down, or query parameters.
const (
	fieldVendor       = "vendor"
	fieldConnection   = "connection"
	fieldPayPeriod    = "pay_period_id"
	fieldRun          = "run_attempt_group"
	fieldCurrency     = "currency"
	fieldPayDate      = "pay_date"
	fieldCutoff       = "cutoff_at"
	fieldControl      = "control_totals"
	fieldControlLines = "control_totals.lines"
	fieldControlGross = "control_totals.gross_pay"
	fieldLines        = "lines"
	fieldCallback     = "callback_url"
)

// envelopeFields lists those that have a value.
var envelopeFields = []string{
	fieldVendor, fieldConnection, fieldPayPeriod, fieldRun, fieldCurrency,
	fieldPayDate, fieldCutoff, fieldControlLines, fieldControlGross,
}

const callbackRemedy = "is not taken yet: leave it out and poll the batch with Prefer: wait"

// envelope is what a submission says about itself, as texts, and what is wrong
// with it. All its faults are collected before it is refused.
type envelope struct {
	inQuery       bool
	given         map[string]string // by field
	faults        []Fault
	unknownVendor bool // and that is one of the faults
}

// control is what the sender counted; nil: did not say.
type control struct {
	lines *int
	gross *decimal.Decimal
}

// blame notes a fault of a field, or of a member that is none of ours. A name
// that could be anything is not repeated.
func (e *envelope) blame(name, detail string) {
	fault := Fault{Detail: detail}
	switch {
	case !payroll.ValidIdentifier(name):
		fault.Detail = "a name " + detail
	case e.inQuery:
		fault.Parameter = name
	default:
		fault.Pointer = "/" + strings.Replace(name, fieldControl+".", fieldControl+"/", 1)
	}
	if len(e.faults) < maxFaults {
		e.faults = append(e.faults, fault)
	}
}

func (e *envelope) set(field, text string) {
	if e.given == nil {
		e.given = make(map[string]string, len(envelopeFields))
	}
	e.given[field] = text
}

// blamed reports whether a field was found to be unreadable already.
func (e *envelope) blamed(field string) bool {
	probe := envelope{inQuery: e.inQuery}
	probe.blame(field, "")
	return slices.ContainsFunc(e.faults, func(f Fault) bool {
		return f.Pointer == probe.faults[0].Pointer && f.Parameter == probe.faults[0].Parameter
	})
}

// terms returns what rows need to know, as soon as the envelope has said it.
func (e *envelope) terms(tenant string, vendors func(string) (Vendor, bool)) (terms, bool) {
	vendor, configured := vendors(e.given[fieldVendor])
	t := terms{tenant: tenant, payPeriod: e.given[fieldPayPeriod], currency: e.given[fieldCurrency], cap: vendor.Cap}
	_, known := payroll.MinorDigits(t.currency)
	return t, configured && known && payroll.ValidIdentifier(t.payPeriod)
}

// check reads every field and collects what is wrong.
func (e *envelope) check(s *Service, r Request) (payroll.Batch, control) {
	b := payroll.Batch{
		Tenant:    r.Tenant,
		Vendor:    e.vendor(s),
		PayPeriod: e.identifier(fieldPayPeriod),
		Group:     e.identifier(fieldRun),
		Currency:  e.currency(),
		PayDate:   e.payDate(),
		CutoffAt:  e.cutoff(r.Now),
		CreatedBy: r.Actor,
		CreatedAt: r.Now,
	}
	if _, given := e.given[fieldConnection]; given {
		e.blame(fieldConnection, "is not configured: a vendor has one account here, leave it out")
	}
	return b, e.control()
}

// refusal returns the error of an envelope with faults, or nil.
func (e *envelope) refusal(s *Service) error {
	if len(e.faults) == 0 {
		return nil
	}
	refused := &Error{Code: InvalidEnvelope, Faults: e.faults}
	switch {
	case e.unknownVendor && len(e.faults) == 1:
		refused.Code = UnknownVendor
	case e.inQuery:
		refused.Code = InvalidParameter
	}
	if e.unknownVendor {
		refused.Known = slices.Sorted(slices.Values(s.Known()))
	}
	return refused
}

// text returns a required field.
func (e *envelope) text(field string) (string, bool) {
	text, given := e.given[field]
	if !given && !e.blamed(field) {
		e.blame(field, "is required")
	}
	return text, given
}

func (e *envelope) identifier(field string) string {
	text, given := e.text(field)
	if !given || payroll.ValidIdentifier(text) {
		return text
	}
	e.blame(field, "must be 1 to 64 characters of A-Z a-z 0-9 . _ -")
	return ""
}

func (e *envelope) vendor(s *Service) string {
	name := e.identifier(fieldVendor)
	if name == "" {
		return ""
	}
	if _, configured := s.Vendor(name); !configured {
		e.unknownVendor = true
		e.blame(fieldVendor, "is not one of the configured vendors")
	}
	return name
}

func (e *envelope) currency() string {
	text, given := e.text(fieldCurrency)
	if _, known := payroll.MinorDigits(text); given && !known {
		e.blame(fieldCurrency, "must be an ISO 4217 code in capitals, such as USD")
	}
	return text
}

func (e *envelope) payDate() string {
	text, given := e.given[fieldPayDate]
	if !given {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		e.blame(fieldPayDate, "must be a date such as 2026-07-17")
	}
	return text
}

// offsetTime is RFC 3339 to the letter: time.Parse also takes 8:00 and commas.
var offsetTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

func (e *envelope) cutoff(now time.Time) time.Time {
	text, given := e.given[fieldCutoff]
	if !given {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || !offsetTime.MatchString(text) {
		remedy := "must be a time with an offset, such as 2026-07-16T18:00:00-04:00"
		if e.inQuery {
			remedy += "; write the + of an offset as %2B"
		}
		e.blame(fieldCutoff, remedy)
		return time.Time{}
	}
	if !at.After(now) {
		e.blame(fieldCutoff, "must lie in the future")
	}
	return at
}

func (e *envelope) control() control {
	var c control
	if text, given := e.given[fieldControlLines]; given {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil || strconv.FormatUint(n, 10) != text {
			e.blame(fieldControlLines, "must be an integer of at least 0")
		}
		lines := int(n)
		c.lines = &lines
	}
	if text, given := e.given[fieldControlGross]; given {
		gross, err := payroll.ParseDecimal(fieldControlGross, text)
		if err != nil {
			e.blame(fieldControlGross, "must be a plain decimal number such as 171265.81")
		}
		c.gross = &gross
	}
	return c
}
