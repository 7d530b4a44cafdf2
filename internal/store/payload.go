package store

import (
	"strconv"

	"payrollgateway/internal/payroll"
)

// Payload is the line as its dead letter keeps it: one JSON object with the
// members of the intake format, null and empty ones left out. At most
// payroll.MaxPayload bytes; cut says that it was longer, and then the bytes are
// no longer JSON.
func Payload(l payroll.Line) (payload []byte, cut bool) {
	b := make([]byte, 0, 256+len(l.Metadata))
	b = append(b, `{"employee_id":`...)
	b = append(b, payroll.QuoteJSON(l.EmployeeID)...)
	b = append(b, `,"line_version":`...)
	b = strconv.AppendInt(b, int64(l.Version), 10)
	if l.Ref != "" {
		b = append(b, `,"line_ref":`...)
		b = append(b, payroll.QuoteJSON(l.Ref)...)
	}
	b = append(b, `,"gross_pay":`...)
	b = append(b, payroll.QuoteJSON(l.Amount.Format(l.Currency))...)
	b = append(b, `,"currency":`...)
	b = append(b, payroll.QuoteJSON(l.Currency)...)
	if len(l.Details) > 0 {
		b = append(b, `,"details":`...)
		b = append(b, EncodeDetails(l.Details)...)
	}
	if len(l.Metadata) > 0 {
		b = append(b, `,"metadata":`...)
		b = append(b, l.Metadata...)
	}
	b = append(b, '}')
	if len(b) > payroll.MaxPayload {
		return b[:payroll.MaxPayload], true
	}
	return b, false
}
