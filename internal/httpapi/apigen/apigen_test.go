package apigen_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payrollgateway/api"
	"payrollgateway/internal/httpapi/apigen"
)

// byHand are the operations that the settings exclude from generation.
var byHand = []string{"submitBatch", "getHealth", "getReadiness", "getMetrics", "getOpenAPI", "getDocs"}

// TestInterfaceIsTheDocuments fails when the document has gained or lost an operation since the last generation.
func TestInterfaceIsTheDocuments(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			if !slices.Contains(byHand, op.OperationID) {
				want = append(want, strings.ToUpper(op.OperationID[:1])+op.OperationID[1:])
			}
		}
	}
	var got []string
	server := reflect.TypeFor[apigen.StrictServerInterface]()
	for i := range server.NumMethod() {
		got = append(got, server.Method(i).Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("run go generate: the document has %v, the generated interface %v", want, got)
	}
}

// TestProblemCodesAreTheDocuments fails when the document has gained a code since the last generation.
func TestProblemCodesAreTheDocuments(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range doc.Components.Schemas["ProblemCode"].Value.Enum {
		if !apigen.ProblemCode(code.(string)).Valid() {
			t.Errorf("run go generate: code %v is new", code)
		}
	}
}
