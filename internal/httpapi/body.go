package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"payrollgateway/internal/httpapi/apigen"
)

const mediaJSON = "application/json"

// maxSmallBody bounds every body but a batch's.
const maxSmallBody = 1 << 20

// checkBody reads a small JSON body, bounded in size and time, refuses what
// generated code would read leniently, and gives the handler a fresh copy.
func (s *server) checkBody(w http.ResponseWriter, r *http.Request, o *operation) error {
	if media(r.Header.Get("Content-Type")) != mediaJSON || encoding(r.Header) != "" {
		return Refuse(apigen.ProblemCodeUnsupportedMediaType)
	}
	body, err := readSmall(w, r, s.Silence)
	if err != nil {
		return err
	}
	if err := checkJSON(body); err != nil {
		return err
	}
	value, err := decodeNumbers(body)
	if err != nil {
		return Refuse(apigen.ProblemCodeInvalidBody)
	}
	if faults := bodyFaults(o.body, value); len(faults) > 0 {
		return RefuseFaults(apigen.ProblemCodeInvalidRequest, faults...)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// media is a Content-Type without its parameters; "" where it cannot be read.
func media(contentType string) string {
	m, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return ""
	}
	return m
}

// encoding is the Content-Encoding, "" for none.
func encoding(h http.Header) string {
	e := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ",")))
	if e == "identity" {
		return ""
	}
	return e
}

// readSmall reads a whole body that has to arrive within a time.
func readSmall(w http.ResponseWriter, r *http.Request, within time.Duration) ([]byte, error) {
	if a, ok := r.Body.(*arrival); ok {
		a.until = time.Now().Add(within)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSmallBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refusal := Refuse(apigen.ProblemCodeBodyTooLarge)
		refusal.Detail = "The body of this call may have 1 MiB. Nothing was changed."
		return nil, refusal
	case isTimeout(err):
		refusal := Refuse(apigen.ProblemCodeBodyTooSlow)
		refusal.Detail = "The body did not arrive in time. Nothing was changed; send it again."
		return nil, refusal
	case err != nil:
		return nil, Refuse(apigen.ProblemCodeInvalidBody)
	}
	return body, nil
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// checkJSON refuses what is not exactly one JSON object in UTF-8, and names that
// occur twice, also where they differ in case only.
func checkJSON(body []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	if dec.PeekKind() != jsontext.KindBeginObject {
		return Refuse(apigen.ProblemCodeInvalidBody)
	}
	var seen spellings
	for open := true; open; open = dec.StackDepth() > 0 {
		token, err := dec.ReadToken()
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			return RefuseFaults(apigen.ProblemCodeDuplicateName, duplicateFault(err))
		case err != nil:
			return Refuse(apigen.ProblemCodeInvalidBody)
		case seen.twice(dec, token):
			at := printablePointer(dec.StackPointer())
			return RefuseFaults(apigen.ProblemCodeDuplicateName, apigen.Fault{Pointer: at, Detail: "occurs twice in its object, in two spellings"})
		}
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return Refuse(apigen.ProblemCodeInvalidBody)
	}
	return nil
}

// spellings are the names seen so far in each open object or list, folded.
type spellings []map[string]bool

// twice notes the token that was just read, if it is a name, and reports whether
// its object has it already in whatever case.
func (s *spellings) twice(dec *jsontext.Decoder, token jsontext.Token) bool {
	depth := dec.StackDepth()
	for len(*s) < depth {
		*s = append(*s, map[string]bool{})
	}
	*s = (*s)[:depth]
	kind, length := dec.StackIndex(depth)
	if isName := kind == jsontext.KindBeginObject && length%2 == 1; !isName {
		return false
	}
	folded := strings.ToLower(token.String())
	before := (*s)[depth-1][folded]
	(*s)[depth-1][folded] = true
	return before
}

func duplicateFault(err error) apigen.Fault {
	f := apigen.Fault{Detail: "occurs twice in its object"}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		f.Pointer = printablePointer(syntactic.JSONPointer)
	}
	return f
}

// printablePointer is a pointer whose every name looks like one; else "".
func printablePointer(p jsontext.Pointer) string {
	for name := range p.Tokens() {
		if printable(name) == "" {
			return ""
		}
	}
	return string(p)
}
