package intake

import "fmt"

// Code says why a submission was refused as a whole. The words are those of the
// API's problem codes.
type Code string

// The codes.
const (
	InvalidBody           Code = "invalid_body"            // cannot be read as what it says it is, or ends too early
	DuplicateName         Code = "duplicate_name"          // a member of the envelope twice, or beside its case variant
	InvalidParameter      Code = "invalid_parameter"       // the envelope in the query
	InvalidEnvelope       Code = "invalid_envelope"        // the envelope in the body, or amounts that do not add up in 64 bits
	UnknownVendor         Code = "unknown_vendor"          // the vendor alone is wrong; Known names the right ones
	EmptyBatch            Code = "empty_batch"             // no rows
	ControlTotalsMismatch Code = "control_totals_mismatch" // Counted is what arrived
	BodyTooLarge          Code = "body_too_large"          // bytes, lines, one row, or the gzip ratio
	BodyTooSlow           Code = "body_too_slow"
	UnsupportedMediaType  Code = "unsupported_media_type"
)

// Error refuses a whole submission. Nothing was stored.
type Error struct {
	Code    Code
	Faults  []Fault  // what is wrong and where, at most maxFaults
	Known   []string // vendors, sorted; set whenever the vendor is unknown
	Counted *Counted // with ControlTotalsMismatch
}

// Fault is one thing that is wrong. At most one of Pointer, Parameter and
// Ordinal says where; none: the body as a whole.
type Fault struct {
	Pointer   string // JSON pointer into the body
	Parameter string // of the query, or a header
	Ordinal   int32  // of a row, from 1
	Detail    string // what would be right; never the value
}

// Counted is what arrived, to be compared with the sender's control totals.
type Counted struct {
	Lines      int
	GrossPay   string // sum of the readable amounts, exact, over all currencies
	Unreadable int    // rows whose amount could not be read
}

// maxFaults bounds the faults that one refusal lists.
const maxFaults = 1000

func (e *Error) Error() string {
	if len(e.Faults) == 0 {
		return string(e.Code)
	}
	f := e.Faults[0]
	switch {
	case f.Ordinal != 0:
		return fmt.Sprintf("%s: row %d: %s", e.Code, f.Ordinal, f.Detail)
	case f.Pointer+f.Parameter != "":
		return fmt.Sprintf("%s: %s%s: %s", e.Code, f.Pointer, f.Parameter, f.Detail)
	default:
		return fmt.Sprintf("%s: %s", e.Code, f.Detail)
	}
}

func refuse(code Code, detail string) *Error {
	return &Error{Code: code, Faults: []Fault{{Detail: detail}}}
}

func refuseRow(code Code, ordinal int, detail string) *Error {
	return &Error{Code: code, Faults: []Fault{{Ordinal: int32(ordinal), Detail: detail}}}
}
