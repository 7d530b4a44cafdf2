package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"payrollgateway/internal/httpapi/apigen"
)

func compareText(a, b string) int { return cmp.Compare(a, b) }

// remedy says what a schema would accept, from the schema alone: kin's own words
// may hold the value.
func remedy(e *openapi3.SchemaError) string {
	var inner *openapi3.SchemaError
	if e.SchemaField == "allOf" && errors.As(e.Origin, &inner) {
		return remedy(inner)
	}
	s := e.Schema
	switch e.SchemaField {
	case "enum":
		return "must be one of " + enumText(s)
	case "type", "nullable":
		return typeRemedy(s)
	case "pattern":
		return "must match " + s.Pattern
	case "format":
		return "must be a " + s.Format + " as in RFC 3339"
	case "minimum":
		return fmt.Sprintf("must be at least %g", *s.Min)
	case "maximum":
		return fmt.Sprintf("must be at most %g", *s.Max)
	case "minLength":
		return "must not be empty"
	case "maxLength":
		return fmt.Sprintf("may have at most %d characters", *s.MaxLength)
	case "minProperties":
		return fmt.Sprintf("must have at least %d members", s.MinProps)
	case "required":
		return "is missing"
	default:
		return "is not acceptable"
	}
}

func enumText(s *openapi3.Schema) string {
	names := make([]string, 0, len(s.Enum))
	for _, v := range s.Enum {
		names = append(names, fmt.Sprint(v))
	}
	return strings.Join(names, ", ")
}

func typeRemedy(s *openapi3.Schema) string {
	if s.Type == nil || len(s.Type.Slice()) != 1 {
		return "is not of an acceptable type"
	}
	switch kind := s.Type.Slice()[0]; kind {
	case "integer":
		return "must be an integer"
	case "object":
		return "must be an object"
	case "array":
		return "must be a list"
	default:
		return "must be a " + kind
	}
}

// bodyFaults holds a decoded body against its schema.
func bodyFaults(schema *openapi3.Schema, value any) []apigen.Fault {
	err := schema.VisitJSON(value, openapi3.VisitAsRequest(), openapi3.MultiErrors())
	if err == nil {
		return nil
	}
	var faults []apigen.Fault
	seen := map[apigen.Fault]bool{}
	for _, e := range flatten(err) {
		for _, f := range schemaFaults(e) {
			if !seen[f] {
				seen[f] = true
				faults = append(faults, f)
			}
		}
	}
	return faults
}

// flatten takes kin's nested lists of errors apart.
func flatten(err error) []*openapi3.SchemaError {
	var many openapi3.MultiError
	if errors.As(err, &many) {
		var all []*openapi3.SchemaError
		for _, e := range many {
			all = append(all, flatten(e)...)
		}
		return all
	}
	var one *openapi3.SchemaError
	if errors.As(err, &one) {
		return []*openapi3.SchemaError{one}
	}
	return nil
}

func schemaFaults(e *openapi3.SchemaError) []apigen.Fault {
	at := pointer(e.JSONPointer())
	object, isObject := e.Value.(map[string]any)
	if e.SchemaField != "properties" || !isObject {
		return []apigen.Fault{{Pointer: at, Detail: remedy(e)}}
	}
	var faults []apigen.Fault
	for name := range object {
		if e.Schema.Properties[name] == nil {
			faults = append(faults, unknownMember(at, name))
		}
	}
	return faults
}

func unknownMember(at, name string) apigen.Fault {
	if printable(name) == "" {
		return apigen.Fault{Pointer: at, Detail: "has a member that is not known here"}
	}
	return apigen.Fault{Pointer: at + "/" + name, Detail: "is not known here"}
}

// pointer spells a JSON pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return b.String()
}

// decodeNumbers decodes JSON with numbers as kin wants them.
func decodeNumbers(body []byte) (value any, err error) {
	err = json.Unmarshal(body, &value)
	return value, err
}
