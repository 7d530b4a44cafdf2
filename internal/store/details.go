package store

import (
	"errors"
	"strings"

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

// DecodeDetails reads what EncodeDetails made, and nothing else: it is on the
// way of every line that is sent. All texts share one string.
func DecodeDetails(b []byte) (payroll.Details, error) {
	if len(b) == 0 {
		return nil, nil
	}
	left, found := strings.CutPrefix(string(b), "{")
	if !found {
		return nil, errDetails
	}
	d := make(payroll.Details, 0, strings.Count(left, `":`))
	for more := true; more; left, more = strings.CutPrefix(left, ",") {
		var m payroll.Detail
		if m, left, found = cutMember(left); !found {
			return nil, errDetails
		}
		d = append(d, m)
	}
	if left != "}" {
		return nil, errDetails
	}
	return d, nil
}

// cutMember takes the first member off the text: a name, which needs no escape,
// and a scalar.
func cutMember(text string) (m payroll.Detail, left string, ok bool) {
	name, left, ok := strings.Cut(strings.TrimPrefix(text, `"`), `":`)
	if !ok || !strings.HasPrefix(text, `"`) {
		return m, left, false
	}
	m.Name = name
	if !strings.HasPrefix(left, `"`) {
		end := max(strings.IndexAny(left, ",}"), 0)
		m.JSON, m.Text = left[:end], left[:end]
		return m, left[end:], isLiteral(m.JSON)
	}
	m.JSON, left, ok = cutString(left)
	if !ok {
		return m, left, false
	}
	m.Text = m.JSON[1 : len(m.JSON)-1]
	if strings.Contains(m.Text, `\`) {
		text, err := jsontext.AppendUnquote(nil, m.JSON)
		m.Text, ok = string(text), err == nil
	}
	return m, left, ok
}

// isLiteral reports whether a text looks like a JSON number or boolean, which is
// all that is stored without quotes.
func isLiteral(text string) bool {
	return text == "true" || text == "false" || text != "" && strings.Trim(text, "+-.0123456789Ee") == ""
}

// cutString takes a JSON string off the text, in its quotes.
func cutString(text string) (quoted, left string, ok bool) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i+1], text[i+1:], true
		}
	}
	return "", text, false
}
