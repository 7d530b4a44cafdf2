package vendor

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// Chunk is the lines that travel in one request, in their order.
type Chunk struct {
	BatchKey  string
	PayPeriod string
	// RequestKey is the key of a vendor that knows one key per request;
	// "" = derived from the wire keys.
	RequestKey string
	Lines      []ChunkLine
}

// ChunkLine is a line with the key that the vendor sees.
type ChunkLine struct {
	Line payroll.Line
	Key  string
}

// Rendered is a request, ready to be written. Credentials are no part of it:
// the Client adds them when it sends. The same chunk renders to the same bytes,
// whenever and wherever it is rendered.
type Rendered struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte   // nil for a look-up
	SHA256 [32]byte // over method, URL, headers and body
}

// Errors of Render: faults of the caller, since no stored line has them.
var (
	ErrNoLines         = errors.New("vendor: a request needs at least one line")
	ErrUnknownCurrency = errors.New("vendor: a line has no ISO 4217 currency")
)

// Render makes the request that submits a chunk, in the standard body.
func (p *Profile) Render(c Chunk) (Rendered, error) {
	if len(c.Lines) == 0 {
		return Rendered{}, ErrNoLines
	}
	body, err := appendBody(make([]byte, 0, 96+256*len(c.Lines)), c)
	if err != nil {
		return Rendered{}, err
	}
	header := http.Header{"Accept": {jsonType}, "Content-Type": {jsonType}}
	if p.Idempotency.Scope == retry.KeyRequest {
		header.Set(p.Idempotency.Header, c.requestKey())
	}
	return seal(Rendered{Method: p.Submit.Method, URL: p.url(), Header: header, Body: body}), nil
}

// RenderLookUp makes the request that asks for the fate of a wire key.
func (p *Profile) RenderLookUp(key string) (Rendered, error) {
	if key == "" {
		return Rendered{}, ErrNoLines
	}
	return seal(Rendered{
		Method: http.MethodGet, URL: p.url() + "/" + url.PathEscape(key), Header: http.Header{"Accept": {jsonType}},
	}), nil
}

const jsonType = "application/json"

func (c Chunk) requestKey() string {
	if c.RequestKey != "" {
		return c.RequestKey
	}
	keys := make([]string, len(c.Lines))
	for i, l := range c.Lines {
		keys[i] = l.Key
	}
	return payroll.RequestKey(keys)
}

// seal hashes what is the same every time the request is sent.
func seal(r Rendered) Rendered {
	h := sha256.New()
	h.Write([]byte(r.Method + " " + r.URL + "\n"))
	_ = r.Header.Write(h) // sorted by name; a hash takes everything
	h.Write([]byte("\n"))
	h.Write(r.Body)
	h.Sum(r.SHA256[:0])
	return r
}

func appendBody(b []byte, c Chunk) ([]byte, error) {
	b = append(b, `{"batch_key":`...)
	b = appendText(b, c.BatchKey)
	b = append(b, `,"pay_period_id":`...)
	b = appendText(b, c.PayPeriod)
	b = append(b, `,"lines":[`...)
	for i := range c.Lines {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendLine(b, &c.Lines[i]); err != nil {
			return nil, err
		}
	}
	return append(b, "]}"...), nil
}

func appendLine(b []byte, l *ChunkLine) ([]byte, error) {
	digits, ok := payroll.MinorDigits(l.Line.Currency)
	if !ok {
		return nil, ErrUnknownCurrency
	}
	b = append(b, `{"key":`...)
	b = appendText(b, l.Key)
	b = append(b, `,"employee_id":`...)
	b = appendText(b, l.Line.EmployeeID)
	b = append(b, `,"line_version":`...)
	b = strconv.AppendInt(b, int64(l.Line.Version), 10)
	if l.Line.Ref != "" {
		b = append(b, `,"line_ref":`...)
		b = appendText(b, l.Line.Ref)
	}
	b = append(b, `,"gross_pay":"`...)
	b = appendAmount(b, l.Line.Amount, int(digits))
	b = append(b, `","currency":"`...)
	b = append(b, l.Line.Currency...)
	b = append(b, '"')
	b = l.Line.Details.AppendMembers(b)
	return append(b, '}'), nil
}

// appendText appends a JSON string. Identifiers and employee ids are printable
// ASCII; anything else takes the slow way.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e || s[i] == '"' || s[i] == '\\' {
			return append(b, payroll.QuoteJSON(s)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendAmount appends minor units as a decimal number with exactly the given
// digits behind the point.
func appendAmount(b []byte, m payroll.Minor, digits int) []byte {
	units := uint64(m)
	if m < 0 {
		b = append(b, '-')
		units = -units
	}
	var buf [24]byte
	text := strconv.AppendUint(buf[:0], units, 10)
	for zeros := digits + 1 - len(text); zeros > 0; zeros-- {
		text = append([]byte{'0'}, text...)
	}
	point := len(text) - digits
	b = append(b, text[:point]...)
	if digits > 0 {
		b = append(b, '.')
		b = append(b, text[point:]...)
	}
	return b
}
