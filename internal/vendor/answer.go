package vendor

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// answer is an exchange as it was read: what the tables ask about.
type answer struct {
	status int
	err    error
	object bool   // the body is whole, and exactly one JSON object
	words  string // of a refusal: the vendor's own, not yet fit to be shown
	wait   time.Duration
	hinted bool
}

// read takes the answer apart and hands each member of the body to take. What
// take was given counts only if the answer turns out to be an object.
func read(x Exchange, take func(name string, d *jsontext.Decoder) error) answer {
	a := answer{status: x.Status, err: x.Err}
	if x.Status == 0 {
		return a
	}
	a.wait, a.hinted = RetryAfter(x.Header, x.Received)
	if x.Truncated || x.Err != nil {
		return a
	}
	a.object = readObject(x.Body, func(name string, d *jsontext.Decoder) error {
		if wordy(name) && x.Status >= http.StatusMultipleChoices {
			text, isText, err := readText(d)
			if isText && a.words == "" {
				a.words = text
			}
			return err
		}
		return take(name, d)
	})
	if !a.object {
		a.words = ""
	}
	return a
}

// wordy names the members in which a refusal explains itself.
func wordy(name string) bool {
	return name == "detail" || name == "message" || name == "error" || name == "title"
}

// readObject walks a text that is exactly one JSON object: no doubled names, no
// invalid UTF-8, nothing behind it. member reads or skips one value. It returns
// false for everything else; what member was given until then counts for nothing.
func readObject(text []byte, member func(name string, d *jsontext.Decoder) error) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	if d.PeekKind() != '{' || walkObject(d, member) != nil {
		return false
	}
	_, err := d.ReadToken()
	return errors.Is(err, io.EOF)
}

// walkObject reads the object that comes next.
func walkObject(d *jsontext.Decoder, member func(name string, d *jsontext.Decoder) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := member(name.String(), d); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// walkArray calls element before each element of the array that comes next; it
// reads or skips it.
func walkArray(d *jsontext.Decoder, element func() error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// readText reads the next value; ok is false unless it is a string.
func readText(d *jsontext.Decoder) (text string, ok bool, err error) {
	return readValue(d, `"`)
}

// readScalar reads the next value as text; ok is false unless it is a string or
// a number, whose digits are kept as they are written.
func readScalar(d *jsontext.Decoder) (text string, ok bool, err error) {
	return readValue(d, `"0`)
}

func readValue(d *jsontext.Decoder, kinds string) (text string, ok bool, err error) {
	v, err := d.ReadValue()
	if err != nil || bytes.IndexByte([]byte(kinds), byte(v.Kind())) < 0 {
		return "", false, err
	}
	if v.Kind() == '0' {
		return string(v), true, nil
	}
	unquoted, err := jsontext.AppendUnquote(nil, v)
	return string(unquoted), err == nil, err
}

// statusOf reads a status of three digits; -1 is a status that nobody knows.
func statusOf(text string) int {
	if len(text) != 3 || text[0] == '0' {
		return -1
	}
	n := 0
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}
