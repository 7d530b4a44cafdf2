package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// submission is one posted body, read.
type submission struct {
	BatchKey   string
	PayPeriod  string
	RequestKey string
	BodyHash   string
	Lines      []line
}

// line is one line of a body. A line that cannot be paid as it stands says why
// in fault; its key is readable in any case.
type line struct {
	Payment
	Key      string
	Amount   string
	Currency string
	Payload  string // hash of all members but the key
	magic    magic
	fault    string
}

// Result is one item of the standard answer. RetryAfter, in seconds, is an
// extra member of 429 and 503 items.
type Result struct {
	Key        string `json:"key"`
	Status     int    `json:"status"`
	Detail     string `json:"detail,omitempty"`
	Reference  string `json:"reference,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty"`
}

// decode reads the standard body. The error is for a body that is not one; a
// single bad line is no error.
func decode(body []byte) (submission, error) {
	var envelope struct {
		BatchKey  string                       `json:"batch_key"`
		PayPeriod string                       `json:"pay_period_id"`
		Lines     []map[string]json.RawMessage `json:"lines"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return submission{}, errors.New("body is not the standard body")
	}
	if envelope.BatchKey == "" || envelope.PayPeriod == "" || len(envelope.Lines) == 0 {
		return submission{}, errors.New("batch_key, pay_period_id and lines are needed")
	}
	s := submission{BatchKey: envelope.BatchKey, PayPeriod: envelope.PayPeriod}
	for _, members := range envelope.Lines {
		l, err := decodeLine(members, envelope.PayPeriod)
		if err != nil {
			return submission{}, err
		}
		s.Lines = append(s.Lines, l)
	}
	return s, nil
}

func decodeLine(members map[string]json.RawMessage, period string) (line, error) {
	var l line
	text := func(name string, into *string) bool {
		raw, given := members[name]
		return given && json.Unmarshal(raw, into) == nil && *into != ""
	}
	if !text("key", &l.Key) {
		return line{}, errors.New("a line has no key")
	}
	if _, given := members["line_ref"]; given && !text("line_ref", &l.LineRef) {
		l.fault = "line_ref is not a string"
	}
	if !text("employee_id", &l.EmployeeID) {
		l.fault = "employee_id is missing"
	}
	if raw := members["line_version"]; json.Unmarshal(raw, &l.Version) != nil || l.Version < 1 || l.Version > 1<<31-1 {
		l.fault = "line_version is no positive integer"
	}
	if !text("gross_pay", &l.Amount) || !text("currency", &l.Currency) {
		l.fault = "gross_pay and currency must be strings"
	} else if err := checkWireAmount(l.Amount, l.Currency); err != nil {
		l.fault = err.Error()
	}
	l.PayPeriod, l.Tenant = period, tenantOf(l.Key, period)
	l.Payload = payloadHash(members, period)
	var err error
	if l.magic, err = parseMagic(l.EmployeeID); err != nil {
		l.fault = err.Error()
	}
	return l, nil
}

// payloadHash covers what is to be paid: every member of the line but its key,
// and the pay period. Names are sorted, so their order on the wire is nothing.
func payloadHash(members map[string]json.RawMessage, period string) string {
	payload := map[string]json.RawMessage{}
	for name, value := range members {
		if name != "key" {
			payload[name] = value
		}
	}
	payload["pay_period_id"], _ = json.Marshal(period)
	canonical, _ := json.Marshal(payload) // valid: it was just decoded
	return hexHash(canonical)
}

func hexHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
