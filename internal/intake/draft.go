package intake

import (
	"strconv"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// field is a member of a line that has one value.
type field int

const (
	employeeID field = iota
	lineVersion
	grossPay
	currency
	lineRef
	fields
)

// fieldNames spells them, in every format alike.
var fieldNames = [fields]string{
	employeeID: "employee_id", lineVersion: "line_version", grossPay: "gross_pay", currency: "currency", lineRef: "line_ref",
}

// required says which fields a row must have.
var required = [fields]bool{employeeID: true, lineVersion: true, grossPay: true}

// draft is a row as its format's reader found it: texts, not yet judged by the
// rules of a line. It is filled and used up one row at a time, and reused.
type draft struct {
	raw      []byte // the row's bytes, without what separates rows
	values   [fields]string
	given    [fields]bool    // the row has it, readable
	spoilt   [fields]bool    // the row has it, but of the wrong type or twice
	details  payroll.Details // texts have no JSON yet: it is spelled when the line is read back
	metadata []byte
	poison   string // why this is not even a row; "" = it is one
	fault    string // the first thing wrong with a field; "" = nothing so far
}

func (d *draft) reset(raw []byte) {
	*d = draft{raw: raw, details: d.details[:0], metadata: d.metadata[:0]}
}

func (d *draft) set(f field, text string) { d.values[f], d.given[f] = text, true }

// blame notes what is wrong with a field, if it is the first fault of the row.
func (d *draft) blame(err error) {
	if d.fault == "" {
		d.fault = err.Error()
	}
}

// spoil notes that a field's value cannot be used.
func (d *draft) spoil(f field, remedy string) {
	d.spoilt[f] = true
	d.given[f] = false
	d.blame(payroll.Fault{Field: fieldNames[f], Remedy: remedy})
}

// terms is what the envelope says about every row.
type terms struct {
	tenant, payPeriod, currency string
	cap                         payroll.Cap
}

// capBreach is the death of a line whose amount the vendor must not be sent. It
// is shared by all of them and never changed.
var capBreach = &payroll.Death{
	Reason: payroll.StatutoryCapBreach, Stage: payroll.StageIntake,
	Error: "gross_pay: is outside the limits for one payment at this vendor",
}

// row judges the draft. The result points into the draft and lives as long.
func (d *draft) row(t *terms, ordinal int32) store.Row {
	if d.poison != "" {
		return d.reject(payroll.Reject{Ordinal: ordinal, Reason: payroll.PoisonMessage, Detail: d.poison})
	}
	l := d.line(t, ordinal)
	if d.fault == "" {
		l.Hash = payroll.RequestHash(l.Currency, l.Amount, l.Details)
		l.AnyVersion = l.Natural(t.tenant, t.payPeriod).AnyVersion()
		row := store.Row{Line: &l}
		if !t.cap.Allows(l.Amount, l.Currency) {
			row.Death = capBreach
		}
		return row
	}
	return d.reject(payroll.Reject{
		Ordinal: ordinal, EmployeeID: l.EmployeeID, Amount: l.Amount, Currency: l.Currency, Key: l.Key,
		Reason: payroll.SchemaValidationFailed, Detail: d.fault,
	})
}

// line reads the fields. What cannot be read stays zero and is blamed; with an
// unreadable amount Currency is empty too.
func (d *draft) line(t *terms, ordinal int32) payroll.Line {
	for f := range fields {
		if required[f] && !d.given[f] && !d.spoilt[f] {
			d.blame(payroll.Fault{Field: fieldNames[f], Remedy: "is required"})
		}
	}
	l := payroll.Line{Ordinal: ordinal, Details: d.details, Metadata: d.metadata}
	identified := d.readIdentity(&l)
	d.readAmount(&l, t.currency)
	if err := d.details.Check(); err != nil {
		d.blame(err)
	}
	if identified {
		l.Key = l.Natural(t.tenant, t.payPeriod).Digest()
	}
	return l
}

// readIdentity reads what makes the key and reports whether all of it is good.
func (d *draft) readIdentity(l *payroll.Line) bool {
	if d.given[employeeID] {
		if payroll.ValidEmployeeID(d.values[employeeID]) {
			l.EmployeeID = d.values[employeeID]
		} else {
			d.spoil(employeeID, "must be 1 to 64 printable ASCII characters without a space at either end")
		}
	}
	if d.given[lineVersion] {
		version, ok := parseVersion(d.values[lineVersion])
		l.Version = version
		if !ok {
			d.spoil(lineVersion, "must be an integer from 1 to 2147483647, in digits")
		}
	}
	if d.given[lineRef] {
		l.Ref = d.values[lineRef]
		if err := payroll.CheckIdentifier(fieldNames[lineRef], l.Ref); err != nil {
			d.spoilt[lineRef] = true
			d.blame(err)
		}
	}
	return d.given[employeeID] && d.given[lineVersion] && !d.spoilt[lineRef]
}

func (d *draft) readAmount(l *payroll.Line, batchCurrency string) {
	code := batchCurrency
	if d.given[currency] {
		code = d.values[currency]
	}
	if !d.given[grossPay] || d.spoilt[currency] {
		return
	}
	amount, err := payroll.ParseAmount(fieldNames[grossPay], d.values[grossPay], code)
	if err != nil {
		d.blame(err)
		return
	}
	l.Amount, l.Currency = amount, code
}

// parseVersion reads digits without a sign or a leading zero, in every format
// alike: 1.0 and 1e0 are no versions.
func parseVersion(text string) (int32, bool) {
	if text == "" || text[0] < '1' || text[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err == nil
}

// reject completes a refused row with its bytes and their hash.
func (d *draft) reject(r payroll.Reject) store.Row {
	r.Digest = payroll.HashBytes(d.raw)
	r.Payload = d.raw[:min(len(d.raw), payroll.MaxPayload)]
	r.PayloadCut = len(r.Payload) < len(d.raw)
	return store.Row{Reject: &r}
}
