package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"payrollgateway/internal/payroll"
)

// EncodeDetails spells details as both backends store them: a JSON object with
// every scalar as it goes out, in their own order; nil for none.
func EncodeDetails(d payroll.Details) []byte {
	if len(d) == 0 {
		return nil
	}
	b := d.AppendMembers(make([]byte, 0, 32*len(d)))
	b[0] = '{' // in the place of the comma that precedes the first member
	return append(b, '}')
}

// errDetails: what is stored is not what EncodeDetails made. It never shows the
// bytes, which are pay data.
var errDetails = errors.New("stored details cannot be read")

// DecodeDetails reads what EncodeDetails made.
func DecodeDetails(b []byte) (payroll.Details, error) {
	if len(b) == 0 {
		return nil, nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != jsontext.KindBeginObject {
		return nil, errDetails
	}
	var d payroll.Details
	for dec.PeekKind() != jsontext.KindEndObject {
		m, err := decodeMember(dec)
		if err != nil {
			return nil, err
		}
		d = append(d, m)
	}
	return d, nil
}

func decodeMember(dec *jsontext.Decoder) (payroll.Detail, error) {
	name, err := dec.ReadToken()
	if err != nil {
		return payroll.Detail{}, errDetails
	}
	m := payroll.Detail{Name: name.String()}
	value, err := dec.ReadValue()
	if err != nil {
		return payroll.Detail{}, errDetails
	}
	m.JSON, m.Text = string(value), string(value)
	if value.Kind() == jsontext.KindString {
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return payroll.Detail{}, fmt.Errorf("a detail's text: %w", errDetails)
		}
		m.Text = string(text)
	}
	return m, nil
}
