package intake

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"payrollgateway/internal/payroll"
)

// maxMetadata bounds a line's metadata, without spaces.
const maxMetadata = 16 << 10

// duplicatesAllowed leaves names that occur twice to our own rules, which know
// whether they spoil the body or one row.
var duplicatesAllowed = jsontext.AllowDuplicateNames(true)

// jsonRow reads rows that are JSON objects, one at a time.
type jsonRow struct {
	draft
	dec   *jsontext.Decoder
	in    bytes.Buffer
	text  string   // the whole row: values are parts of it
	names []string // of a metadata object

	hasDetails, hasMetadata bool
}

func newJSONRow() *jsonRow {
	return &jsonRow{dec: jsontext.NewDecoder(&bytes.Buffer{})}
}

// read returns the draft of a row, valid until the next call. Bytes that are not
// one JSON object are a poison row.
func (r *jsonRow) read(raw []byte) *draft {
	r.reset(raw)
	r.hasDetails, r.hasMetadata = false, false
	r.in = *bytes.NewBuffer(raw)
	r.dec.Reset(&r.in, duplicatesAllowed)
	r.text = string(raw)
	if err := r.object(); err != nil {
		r.reset(raw)
		r.poison = "is not a JSON object: each row must be one, whole and in UTF-8"
	}
	return &r.draft
}

// object reads the row. An error means that it is none; what is wrong with a
// member is blamed.
func (r *jsonRow) object() error {
	if r.dec.PeekKind() != jsontext.KindBeginObject {
		return io.ErrUnexpectedEOF
	}
	if err := r.members((*jsonRow).member); err != nil {
		return err
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// members reads an object and gives each of its names to visit, which reads the
// value.
func (r *jsonRow) members(visit func(r *jsonRow, name string) error) error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for r.dec.PeekKind() != jsontext.KindEndObject {
		quoted, err := r.value()
		if err != nil {
			return err
		}
		name, err := unquote(quoted)
		if err != nil {
			return err
		}
		if err := visit(r, name); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err
}

// value reads the next value and returns its text.
func (r *jsonRow) value() (string, error) {
	value, err := r.dec.ReadValue()
	if err != nil {
		return "", err
	}
	end := int(r.dec.InputOffset())
	return r.text[end-len(value) : end], nil
}

// unquote returns the content of a JSON string.
func unquote(quoted string) (string, error) {
	inner := quoted[1 : len(quoted)-1]
	for i := range len(inner) {
		if inner[i] == '\\' {
			text, err := jsontext.AppendUnquote(nil, quoted)
			return string(text), err
		}
	}
	return inner, nil
}

func (r *jsonRow) member(name string) error {
	switch name {
	case fieldNames[employeeID]:
		return r.field(employeeID)
	case fieldNames[lineVersion]:
		return r.field(lineVersion)
	case fieldNames[grossPay]:
		return r.field(grossPay)
	case fieldNames[currency]:
		return r.field(currency)
	case fieldNames[lineRef]:
		return r.field(lineRef)
	case "details":
		return r.nested(name, &r.hasDetails, (*jsonRow).detail)
	case "metadata":
		return r.readMetadata()
	default:
		r.blame(payroll.Fault{Field: nameable(name), Remedy: "is no member of a line: put it into details"})
		return r.dec.SkipValue()
	}
}

// nameable returns a member's name for a message, unless it could be anything.
func nameable(name string) string {
	if payroll.ValidIdentifier(name) {
		return name
	}
	return "a member"
}

// kinds says which JSON values a field may have.
var kinds = [fields]struct {
	text, number bool
	remedy       string
}{
	employeeID:  {text: true, remedy: "must be a JSON string"},
	lineVersion: {number: true, remedy: "must be a JSON integer"},
	grossPay:    {text: true, number: true, remedy: "must be a JSON string or number"},
	currency:    {text: true, remedy: "must be a JSON string"},
	lineRef:     {text: true, remedy: "must be a JSON string"},
}

func (r *jsonRow) field(f field) error {
	value, err := r.value()
	if err != nil {
		return err
	}
	switch {
	case r.given[f] || r.spoilt[f]:
		r.spoil(f, "occurs twice: give it once")
	case value[0] == '"' && kinds[f].text:
		text, err := unquote(value)
		if err != nil {
			return err
		}
		r.set(f, text)
	case isNumber(value) && kinds[f].number:
		r.set(f, value)
	default:
		r.spoil(f, kinds[f].remedy)
	}
	return nil
}

func isNumber(value string) bool { return value[0] == '-' || value[0] >= '0' && value[0] <= '9' }

// nested reads an object of scalars below the row.
func (r *jsonRow) nested(name string, seen *bool, visit func(r *jsonRow, name string) error) error {
	switch {
	case *seen:
		r.blame(payroll.Fault{Field: name, Remedy: "occurs twice: give it once"})
		return r.dec.SkipValue()
	case r.dec.PeekKind() != jsontext.KindBeginObject:
		*seen = true
		r.blame(payroll.Fault{Field: name, Remedy: "must be a JSON object"})
		return r.dec.SkipValue()
	}
	*seen = true
	return r.members(visit)
}

func (r *jsonRow) detail(name string) error {
	value, err := r.scalar("details")
	if err != nil || value == "" || value == "null" {
		return err
	}
	if value[0] != '"' {
		r.addDetail(payroll.LiteralDetail(name, value))
		return nil
	}
	text, err := unquote(value)
	r.addDetail(payroll.Detail{Name: name, Text: text})
	return err
}

// addDetail keeps a few more than a line may have, so that too many are found.
func (d *draft) addDetail(m payroll.Detail) {
	if len(d.details) <= payroll.MaxDetails {
		d.details = append(d.details, m)
	}
}

// scalar reads a value that must be none of an object or an array; those are
// blamed and give "".
func (r *jsonRow) scalar(field string) (string, error) {
	switch r.dec.PeekKind() {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		r.blame(payroll.Fault{Field: field, Remedy: "must have strings, numbers and booleans only"})
		return "", r.dec.SkipValue()
	default:
		return r.value()
	}
}

// readMetadata keeps the object as it is, without spaces.
func (r *jsonRow) readMetadata() error {
	r.names = r.names[:0]
	if err := r.nested("metadata", &r.hasMetadata, (*jsonRow).metadatum); err != nil {
		return err
	}
	slices.Sort(r.names)
	for i := 1; i < len(r.names); i++ {
		if r.names[i] == r.names[i-1] {
			r.blame(payroll.Fault{Field: "metadata", Remedy: "has a name twice: give it once"})
			break
		}
	}
	if len(r.metadata) > 0 {
		r.metadata = append(r.metadata, '}')
	}
	return nil
}

func (r *jsonRow) metadatum(name string) error {
	value, err := r.scalar("metadata")
	if err != nil || value == "" {
		return err
	}
	text := value
	if value[0] == '"' {
		if text, err = unquote(value); err != nil {
			return err
		}
	}
	switch {
	case len(text) > payroll.MaxDetailValue:
		r.blame(payroll.Fault{Field: "metadata", Remedy: "values may have at most 1024 bytes"})
		return nil
	case len(r.metadata)+len(name)+len(value) > maxMetadata:
		r.blame(payroll.Fault{Field: "metadata", Remedy: "may have at most 16384 bytes"})
		return nil
	}
	r.names = append(r.names, name)
	separator := byte(',')
	if len(r.metadata) == 0 {
		separator = '{'
	}
	r.metadata = append(r.metadata, separator)
	r.metadata = append(r.metadata, payroll.QuoteJSON(name)...)
	r.metadata = append(r.metadata, ':')
	r.metadata = append(r.metadata, value...)
	return nil
}
