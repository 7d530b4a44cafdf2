package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-chi/chi/v5"

	"payrollgateway/internal/httpapi/apigen"
)

// check holds a request against the document: parameters first, then a small
// body, which it reads. A batch's body is not read. A name in the path that
// nothing could have is answered like one that nothing has. What needs no key is
// called by machines that add parameters of their own, and takes none.
func (s *server) check(w http.ResponseWriter, r *http.Request, o *operation) error {
	if o.keyless() {
		return nil
	}
	if len(s.parameterFaults(r, o, openapi3.ParameterInPath)) > 0 {
		return Refuse(apigen.ProblemCodeNotFound)
	}
	faults, err := queryFaults(r, o)
	if err != nil {
		return err
	}
	faults = append(faults, s.parameterFaults(r, o, openapi3.ParameterInQuery, openapi3.ParameterInHeader)...)
	if len(faults) > 0 {
		return RefuseFaults(apigen.ProblemCodeInvalidParameter, faults...)
	}
	if o.body == nil {
		return nil
	}
	return s.checkBody(w, r, o)
}

// queryFaults finds parameters that the operation does not have, so that a
// misspelt one is never silently without effect, and those given twice.
func queryFaults(r *http.Request, o *operation) ([]apigen.Fault, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, RefuseFaults(apigen.ProblemCodeInvalidParameter, apigen.Fault{Detail: "the query must be URL-encoded"})
	}
	var faults []apigen.Fault
	for name, values := range query {
		switch {
		case o.params.GetByInAndName(openapi3.ParameterInQuery, name) == nil:
			faults = append(faults, apigen.Fault{Parameter: printable(name), Detail: "is not known here"})
		case len(values) > 1:
			faults = append(faults, apigen.Fault{Parameter: name, Detail: "is given twice"})
		}
	}
	slices.SortFunc(faults, func(a, b apigen.Fault) int { return compareText(a.Parameter, b.Parameter) })
	return faults, nil
}

// parameterFaults finds the parameters of these places that the document does
// not allow.
func (s *server) parameterFaults(r *http.Request, o *operation, places ...string) []apigen.Fault {
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: pathParams(r),
		Route:   &routers.Route{Spec: s.document.spec, Path: o.pattern, PathItem: o.item, Method: o.method, Operation: o.spec},
		Options: &openapi3filter.Options{SkipSettingDefaults: true},
	}
	var faults []apigen.Fault
	for _, p := range o.params {
		if !slices.Contains(places, p.Value.In) {
			continue
		}
		if err := openapi3filter.ValidateParameter(context.WithoutCancel(r.Context()), input, p.Value); err != nil {
			faults = append(faults, apigen.Fault{Parameter: p.Value.Name, Detail: parameterRemedy(err, p.Value)})
		}
	}
	return faults
}

// parameterRemedy says what would be accepted. It never uses the text of kin's
// errors, which print the value.
func parameterRemedy(err error, p *openapi3.Parameter) string {
	var wrong *openapi3.SchemaError
	switch {
	case errors.Is(err, openapi3filter.ErrInvalidRequired):
		return "is missing"
	case errors.As(err, &wrong):
		return remedy(wrong)
	default: // it could not even be read as its type
		return typeRemedy(p.Schema.Value)
	}
}

func pathParams(r *http.Request) map[string]string {
	route := chi.RouteContext(r.Context())
	params := make(map[string]string, len(route.URLParams.Keys))
	for i, name := range route.URLParams.Keys {
		text := route.URLParams.Values[i]
		if r.URL.RawPath != "" {
			// Where it cannot be unescaped it is no acceptable value either.
			if plain, err := url.PathUnescape(text); err == nil {
				text = plain
			}
		}
		params[name] = text
	}
	return params
}

var nameGrammar = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// printable is a name that a caller gave, if it looks like one: faults name
// misspelt members and parameters, but repeat nothing that could be data.
func printable(name string) string {
	if nameGrammar.MatchString(name) {
		return name
	}
	return ""
}
