package intake

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonBody reads a JSON body: one object with the envelope and all rows, its
// members in any order. It holds one row at a time.
type jsonBody struct {
	dec      *jsontext.Decoder
	room     *room
	envelope *envelope
	seen     map[string]bool // our names, whatever their case
	ordinal  int             // of the row being read; 0 = outside of lines
	hasLines bool
	// sink is asked for when the rows begin: what takes a row's bytes.
	sink func() func(raw []byte) error
}

func newJSONBody(body *bufio.Reader, l Limits, e *envelope, sink func() func(raw []byte) error) *jsonBody {
	r := &room{from: body, each: int64(l.RowBytes)}
	return &jsonBody{
		dec: jsontext.NewDecoder(r, duplicatesAllowed), room: r,
		envelope: e, seen: make(map[string]bool), sink: sink,
	}
}

// room bounds what the decoder may hold: so many bytes for each member or row.
type room struct {
	from  io.Reader
	each  int64
	at    int64
	until int64
}

// begin begins a member or row at an offset of the body.
func (r *room) begin(offset int64) { r.until = offset + r.each }

func (r *room) Read(p []byte) (int, error) {
	if r.at >= r.until {
		return 0, errRowTooLong
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.until-r.at)])
	r.at += int64(n)
	return n, err
}

// read reads the body to its end.
func (j *jsonBody) read() error {
	j.room.begin(0)
	err := j.object(j.member)
	if err == nil {
		err = j.end()
	}
	if err == nil && !j.hasLines {
		j.envelope.blame(fieldLines, "is required")
	}
	return j.refusal(err)
}

var (
	errNotObject = errors.New("not an object")
	errTrailing  = errors.New("trailing data")
)

// refusal says what a failed read means: syntax errors are told by their place
// alone, since their own texts have parts of the body.
func (j *jsonBody) refusal(err error) error {
	var refused *Error
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil, errors.As(err, &refused), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, errRowTooLong):
		return errLongRow(j.ordinal)
	case errors.Is(err, errNotObject):
		return refuse(InvalidBody, "the body must be one JSON object")
	case errors.Is(err, errTrailing):
		return refuse(InvalidBody, "the body has more after its JSON object: send one object")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(InvalidBody, "the body ends before its JSON does: send it again, whole")
	case errors.As(err, &syntax):
		return refuseRow(InvalidBody, j.ordinal, fmt.Sprintf("the body is not JSON in UTF-8 at byte %d", syntax.ByteOffset))
	default:
		return err
	}
}

// object reads an object and has each of its members read by its name.
func (j *jsonBody) object(member func(name string) error) error {
	start, err := j.dec.ReadToken()
	if err != nil {
		return err
	}
	if start.Kind() != jsontext.KindBeginObject {
		return errNotObject
	}
	for j.more(jsontext.KindEndObject) {
		name, err := j.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := member(name.String()); err != nil {
			return err
		}
	}
	_, err = j.dec.ReadToken()
	return err
}

// end makes sure that nothing but spaces follows.
func (j *jsonBody) end() error {
	j.room.begin(j.dec.InputOffset())
	_, err := j.dec.ReadToken()
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil, errors.Is(err, errRowTooLong), errors.As(err, &syntax):
		return errTrailing
	default:
		return err
	}
}

// member reads a member of the envelope.
func (j *jsonBody) member(name string) error {
	switch name {
	case fieldLines, fieldControl:
		if err := j.once(name); err != nil {
			return err
		}
		if name == fieldLines {
			return j.lines()
		}
		return j.control()
	case fieldCallback:
		j.envelope.blame(name, callbackRemedy)
		return j.dec.SkipValue()
	default:
		return j.field("", name)
	}
}

// control reads control_totals.
func (j *jsonBody) control() error {
	if j.dec.PeekKind() != jsontext.KindBeginObject {
		j.envelope.blame(fieldControl, "must be an object with lines, gross_pay or both")
		return j.dec.SkipValue()
	}
	members := 0
	err := j.object(func(name string) error {
		members++
		return j.field(fieldControl+".", name)
	})
	if err == nil && members == 0 {
		j.envelope.blame(fieldControl, "must have lines, gross_pay or both")
	}
	return err
}

// field reads a member that has one value.
func (j *jsonBody) field(prefix, name string) error {
	field := prefix + name
	kind, known := jsonKinds[field]
	if !known || strings.Contains(name, ".") { // a dot is our way to write one level down
		return j.stranger(prefix, name)
	}
	if err := j.once(field); err != nil {
		return err
	}
	value, err := j.dec.ReadValue()
	if err != nil {
		return err
	}
	switch {
	case value.Kind() == jsontext.KindString && kind.text:
		text, err := jsontext.AppendUnquote(nil, value)
		j.envelope.set(field, string(text))
		return err
	case value.Kind() == jsontext.KindNumber && kind.number:
		j.envelope.set(field, string(value))
	case kind.text:
		j.envelope.blame(field, "must be a JSON string")
	default:
		j.envelope.blame(field, "must be a JSON integer")
	}
	return nil
}

// jsonKinds says which kinds of values the envelope's fields may have.
var jsonKinds = map[string]struct{ text, number bool }{
	fieldVendor: {text: true}, fieldConnection: {text: true}, fieldPayPeriod: {text: true}, fieldRun: {text: true},
	fieldCurrency: {text: true}, fieldPayDate: {text: true}, fieldCutoff: {text: true},
	fieldControlLines: {number: true}, fieldControlGross: {text: true, number: true},
}

// stranger refuses a name that is none of ours, or one of ours in other letters.
func (j *jsonBody) stranger(prefix, name string) error {
	folded := prefix + strings.ToLower(name)
	_, ours := jsonKinds[folded]
	switch {
	case strings.Contains(name, "."):
		j.envelope.blame("", "is not known here")
	case ours || folded == fieldLines || folded == fieldControl:
		if err := j.once(folded); err != nil {
			return err
		}
		j.envelope.blame(prefix+name, "must be spelled in lower case")
	default:
		j.envelope.blame(prefix+name, "is not known here")
	}
	return j.dec.SkipValue()
}

// once refuses the body where a name of ours occurs again: which of the two
// counts cannot be known.
func (j *jsonBody) once(field string) error {
	if !j.seen[field] {
		j.seen[field] = true
		return nil
	}
	twice := &envelope{}
	twice.blame(field, "occurs twice in its object")
	return &Error{Code: DuplicateName, Faults: twice.faults}
}

// lines reads the rows.
func (j *jsonBody) lines() error {
	j.hasLines = true
	if j.dec.PeekKind() != jsontext.KindBeginArray {
		j.envelope.blame(fieldLines, "must be an array of objects")
		return j.dec.SkipValue()
	}
	if _, err := j.dec.ReadToken(); err != nil {
		return err
	}
	take := j.sink()
	for j.ordinal = 1; j.more(jsontext.KindEndArray); j.ordinal++ {
		raw, err := j.dec.ReadValue()
		if err != nil {
			return err
		}
		if err := take(raw); err != nil {
			return err
		}
	}
	j.ordinal = 0
	_, err := j.dec.ReadToken()
	return err
}

// more reports whether another member or row comes, and makes room for it.
func (j *jsonBody) more(end jsontext.Kind) bool {
	j.room.begin(j.dec.InputOffset())
	return j.dec.PeekKind() != end
}
