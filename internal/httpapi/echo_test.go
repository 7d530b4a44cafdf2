package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// marker stands for pay data in places where a caller may put it by mistake.
const marker = "47223.31-Jane-Doe"

// TestErrorsNeverRepeatAValue puts the marker into every parameter, header and
// member of every operation, alone and in wrong types, and looks for it in what
// is answered and logged.
func TestErrorsNeverRepeatAValue(t *testing.T) {
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	suspend(w)
	refused := 0
	for _, o := range d.operations {
		for what, r := range spoilt(o) {
			rec := w.do(r)
			if rec.Code < 400 {
				continue // a filter that is acceptable
			}
			refused++
			answer := rec.Body.String()
			for name, values := range rec.Header() {
				answer += "\n" + name + ": " + strings.Join(values, ", ")
			}
			if strings.Contains(answer, marker) || strings.Contains(answer, "Jane") {
				t.Errorf("%s, %s: %d %s", o.id, what, rec.Code, answer)
			}
		}
	}
	if refused < 300 {
		t.Errorf("only %d requests were refused: the marker went nowhere", refused)
	}
	if strings.Contains(w.log.String(), "Jane") {
		t.Errorf("logged: %s", w.log.String())
	}
}

// spoilt are requests of an operation with the marker in one place each.
func spoilt(o *operation) map[string]*http.Request {
	all := map[string]*http.Request{}
	call := samples()[o.id]
	for _, p := range o.params {
		for _, value := range []string{marker, marker + " <b>", `{"a":"` + marker + `"}`} {
			r := call.request()
			switch p.Value.In {
			case openapi3.ParameterInHeader:
				r.Header.Set(p.Value.Name, value)
			case openapi3.ParameterInQuery:
				q := r.URL.Query()
				q.Set(p.Value.Name, value)
				r.URL.RawQuery = q.Encode()
			case openapi3.ParameterInPath:
				parts, pattern := strings.Split(r.URL.Path, "/"), strings.Split(o.pattern, "/")
				parts[slices.Index(pattern, "{"+p.Value.Name+"}")] = value
				r.URL.Path = strings.Join(parts, "/")
			}
			all[p.Value.Name+"="+value] = r
		}
	}
	for _, query := range []string{"x=" + marker, "x y=" + marker, url.QueryEscape(marker+" z") + "=1", "%zz" + marker} {
		r := call.request()
		r.URL.RawQuery = query
		all["?"+query] = r
	}
	for _, h := range []string{"Authorization", "Content-Type", "Content-Encoding", "Accept", "Prefer", "If-None-Match"} {
		r := call.request()
		r.Header.Set(h, marker)
		all[h] = r
	}
	for _, text := range spoiltBodies(o) {
		call.body = text
		all[text] = call.request()
	}
	return all
}

// spoiltBodies are bodies with the marker as each member, in every JSON type
// that can hold it.
func spoiltBodies(o *operation) []string {
	if o.body == nil {
		return nil
	}
	bodies := []string{
		`"` + marker + `"`, `{"` + marker, `{"note":"` + marker, `{"note":"` + marker + `","note":"` + marker + `"}`,
		`{"a ` + marker + `":1,"A ` + marker + `":2}`, `{"unheard_of":"` + marker + `"}`, `{"x ` + marker + `":1}`, marker,
	}
	values := []string{`"` + marker + `"`, `["` + marker + `"]`, `{"evidence":["` + marker + `"]}`, `{"vendor":"` + marker + ` x"}`, `{"` + marker + ` x":"` + marker + `"}`}
	for name := range o.body.Properties {
		for _, v := range values {
			bodies = append(bodies, `{"`+name+`":`+v+`}`, `{"note":"n","filter":{"vendor":"v"},"`+name+`_":1,"`+name+`":`+v+`}`)
		}
	}
	return bodies
}
