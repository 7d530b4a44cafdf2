package sandbox

import "time"

// Stamp is what every record of the journal begins with. Seq numbers records
// of a journal from 1, across restarts.
type Stamp struct {
	Type string    `json:"type"`
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
}

func (s *Stamp) stamp(seq int64, now time.Time) { s.Seq, s.Time = seq, now.UTC() }

// record is anything the journal takes.
type record interface {
	stamp(seq int64, now time.Time)
}

// The types of records.
const (
	TypeRequest = "request"
	TypeEffect  = "effect"
	TypeMemory  = "memory"
)

// Request is one request the vendor read to its end: a submission (POST) or a
// look-up (GET).
type Request struct {
	Stamp
	Method     string        `json:"method"`
	Path       string        `json:"path"`
	RequestKey string        `json:"request_key,omitempty"`
	BodySHA256 string        `json:"body_sha256,omitempty"`
	LineCount  int           `json:"line_count"`
	Lines      []RequestLine `json:"lines,omitempty"`
	// InFlight counts the requests read and not yet answered, this one
	// included. A caller that hung up is noticed a moment late.
	InFlight int `json:"in_flight"`
	// Fault is the fault decided for the request as a whole; Magic, that the
	// employee id of one of its lines asked for it.
	Fault string `json:"fault,omitempty"`
	Magic bool   `json:"magic,omitempty"`
	// Refused says why the vendor did not look at the lines at all.
	Refused Refusal `json:"refused,omitempty"`
}

// Refusal is a reason to answer a request at the edge.
type Refusal string

// The refusals. RefusedRate marks a violation of the rate limit.
const (
	RefusedToken      Refusal = "token"
	RefusedRate       Refusal = "rate_limit"
	RefusedSyntax     Refusal = "syntax"
	RefusedSize       Refusal = "too_many_lines"
	RefusedKeyMissing Refusal = "key_missing"
	RefusedRoute      Refusal = "route"
)

// RequestLine is one line of a submission, or the key of a look-up.
type RequestLine struct {
	Key           string `json:"key"`
	PayloadSHA256 string `json:"payload_sha256,omitempty"`
	// Fault is the fault decided for this line; Magic, that its employee id
	// asked for it.
	Fault string `json:"fault,omitempty"`
	Magic bool   `json:"magic,omitempty"`
}

// EffectKind tells a payment from a correction.
type EffectKind string

// The kinds of effects. Paying the same version again is EffectCreated too: to
// the employee it is more money.
const (
	EffectCreated  EffectKind = "created"
	EffectReplaced EffectKind = "replaced"
)

// Effect is one payment made, or one held amount replaced by a newer version's.
type Effect struct {
	Stamp
	RequestSeq    int64      `json:"request_seq"`
	Key           string     `json:"key"`
	BatchKey      string     `json:"batch_key"`
	Tenant        string     `json:"tenant,omitempty"`
	PayPeriod     string     `json:"pay_period_id"`
	EmployeeID    string     `json:"employee_id"`
	LineRef       string     `json:"line_ref,omitempty"`
	LineVersion   int64      `json:"line_version"`
	Amount        string     `json:"amount"`
	Currency      string     `json:"currency"`
	Reference     string     `json:"reference"`
	Kind          EffectKind `json:"kind"`
	PayloadSHA256 string     `json:"payload_sha256"`
}

// Payment is the identity by which effects are counted.
func (e Effect) Payment() Payment {
	return Payment{Slot{e.Tenant, e.PayPeriod, e.EmployeeID, e.LineRef}, e.LineVersion}
}

// Memory is an outcome the vendor remembers under a key although no effect says
// it: a stored refusal of a line key, or the whole answer of a request key.
type Memory struct {
	Stamp
	Key        string  `json:"key,omitempty"`
	RequestKey string  `json:"request_key,omitempty"`
	SHA256     string  `json:"sha256"` // of the payload, or of the body
	Result     *Result `json:"result,omitempty"`
	Status     int     `json:"status,omitempty"`
	Body       string  `json:"body,omitempty"`
}

// Contents is a journal read back, in the order it was written.
type Contents struct {
	Requests []Request
	Effects  []Effect
	Memories []Memory

	lastSeq int64
	length  int64 // bytes of whole records
}
