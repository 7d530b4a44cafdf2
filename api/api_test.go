package api_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"payrollgateway/api"
)

const (
	problemType = "application/problem+json"
	noResponse  = "method_not_allowed" // answered where no operation is, so no operation documents it
)

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return doc
}

// eachOperation calls visit for every operation, in a stable order, in a sub-test named after it.
func eachOperation(t *testing.T, doc *openapi3.T, visit func(*testing.T, *openapi3.Operation)) {
	t.Helper()
	for _, path := range doc.Paths.InMatchingOrder() {
		operations := doc.Paths.Value(path).Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			t.Run(method+" "+path, func(t *testing.T) { visit(t, operations[method]) })
		}
	}
}

// closeObjects forbids members that a schema does not name, so that a misspelt member of an example is a fault.
// The document itself leaves answers open, because they may gain members.
func closeObjects(doc *openapi3.T) {
	for _, ref := range doc.Components.Schemas {
		schema := ref.Value
		if schema.Type.Is("object") && schema.AdditionalProperties.Schema == nil {
			schema.AdditionalProperties.Has = new(bool)
		}
	}
}

func TestDocumentIsValid(t *testing.T) {
	doc := load(t)
	if doc.OpenAPI != "3.0.3" {
		t.Errorf("version %s, want 3.0.3", doc.OpenAPI)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestExamplesNameOnlyKnownMembers(t *testing.T) {
	doc := load(t)
	closeObjects(doc)
	if err := doc.Validate(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestEveryOperationSaysWhoMayCallIt(t *testing.T) {
	doc := load(t)
	known := doc.Components.Schemas["Scope"].Value.Enum
	eachOperation(t, doc, func(t *testing.T, op *openapi3.Operation) {
		scopes, _ := op.Extensions["x-scopes"].([]any)
		withoutKey := op.Security != nil && len(*op.Security) == 0
		if withoutKey == (len(scopes) > 0) {
			t.Errorf("%s: either x-scopes or an empty security, not both or neither", op.OperationID)
		}
		for _, scope := range scopes {
			if !slices.Contains(known, scope) {
				t.Errorf("%s: unknown scope %v", op.OperationID, scope)
			}
		}
	})
}

func TestEveryOperationDocumentsWhatAlwaysCanHappen(t *testing.T) {
	eachOperation(t, load(t), func(t *testing.T, op *openapi3.Operation) {
		for status, due := range map[int]bool{
			400: len(op.Parameters) > 0 || op.RequestBody != nil,
			401: op.Security == nil,
			403: op.Security == nil,
			404: slices.ContainsFunc(op.Parameters, inPath),
			408: op.RequestBody != nil,
			413: op.RequestBody != nil,
			415: op.RequestBody != nil,
			422: op.RequestBody != nil,
			500: op.Security == nil,
			503: op.Security == nil,
		} {
			if due && op.Responses.Status(status) == nil {
				t.Errorf("%s lacks a response %d", op.OperationID, status)
			}
		}
	})
}

func inPath(p *openapi3.ParameterRef) bool { return p.Value.In == openapi3.ParameterInPath }

func TestEveryOperationReadsWell(t *testing.T) {
	seen := map[string]bool{}
	eachOperation(t, load(t), func(t *testing.T, op *openapi3.Operation) {
		if op.OperationID == "" || seen[op.OperationID] {
			t.Errorf("operation id %q is missing or not unique", op.OperationID)
		}
		seen[op.OperationID] = true
		if op.Summary == "" || op.Description == "" || len(op.Tags) == 0 {
			t.Errorf("%s lacks a summary, a description or a tag", op.OperationID)
		}
	})
}

// TestProblemExamples holds the rule by which programs find the codes of a response: its examples are named after them.
func TestProblemExamples(t *testing.T) {
	doc := load(t)
	shown := map[any]bool{noResponse: true}
	eachOperation(t, doc, func(t *testing.T, op *openapi3.Operation) {
		for status, response := range op.Responses.Map() {
			media := response.Value.Content[problemType]
			if media == nil {
				if status >= "400" {
					t.Errorf("%s %s is not a problem", op.OperationID, status)
				}
				continue
			}
			if len(media.Examples) == 0 {
				t.Errorf("%s %s shows no code", op.OperationID, status)
			}
			for name, example := range media.Examples {
				shown[name] = true
				if err := checkProblem(name, status, example.Value.Value); err != nil {
					t.Errorf("%s %s: %v", op.OperationID, status, err)
				}
			}
		}
	})
	for _, code := range doc.Components.Schemas["ProblemCode"].Value.Enum {
		if !shown[code] {
			t.Errorf("no response shows code %v", code)
		}
	}
}

func checkProblem(name, status string, value any) error {
	problem, _ := value.(map[string]any)
	switch {
	case problem["code"] != name:
		return fmt.Errorf("example %s has code %v", name, problem["code"])
	case fmt.Sprint(problem["status"]) != status:
		return fmt.Errorf("example %s has status %v", name, problem["status"])
	case problem["type"] != "/docs#"+name:
		return fmt.Errorf("example %s has type %v", name, problem["type"])
	}
	return nil
}

// TestProblemTitlesAreStable keeps RFC 9457's rule that a title is the same for every occurrence of a type.
func TestProblemTitlesAreStable(t *testing.T) {
	titles := map[string]any{}
	eachOperation(t, load(t), func(t *testing.T, op *openapi3.Operation) {
		for _, response := range op.Responses.Map() {
			media := response.Value.Content[problemType]
			if media == nil {
				continue
			}
			for name, example := range media.Examples {
				title := example.Value.Value.(map[string]any)["title"]
				if before, ok := titles[name]; ok && before != title {
					t.Errorf("%s has two titles: %v, %v", name, before, title)
				}
				titles[name] = title
			}
		}
	})
}

func TestProblemCodeTableIsComplete(t *testing.T) {
	doc := load(t)
	codes := doc.Components.Schemas["ProblemCode"].Value
	statuses := map[string]string{}
	for _, row := range strings.Split(codes.Description, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 4 {
			continue
		}
		if _, err := strconv.Atoi(strings.TrimSpace(cells[2])); err == nil {
			statuses[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
		}
	}
	if len(statuses) != len(codes.Enum) {
		t.Errorf("the table has %d codes, the enumeration %d", len(statuses), len(codes.Enum))
	}
	eachOperation(t, doc, func(t *testing.T, op *openapi3.Operation) {
		for status, response := range op.Responses.Map() {
			media := response.Value.Content[problemType]
			if media == nil {
				continue
			}
			for name := range media.Examples {
				if statuses[name] != status {
					t.Errorf("%s is shown with %s, the table says %q", name, status, statuses[name])
				}
			}
		}
	})
}
