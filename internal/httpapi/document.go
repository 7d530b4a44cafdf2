package httpapi

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"payrollgateway/api"
	"payrollgateway/internal/httpapi/apigen"
)

// operation is what the document says about one call.
type operation struct {
	id      string
	method  string
	pattern string // as the document spells the path, which is chi's pattern too
	scopes  []apigen.Scope
	params  openapi3.Parameters
	body    *openapi3.Schema // of a small JSON body; nil = none, or a stream
	streams bool             // its body comes in several media types and takes its time
	item    *openapi3.PathItem
	spec    *openapi3.Operation
}

// keyless reports whether the call needs no key.
func (o *operation) keyless() bool { return len(o.scopes) == 0 }

// document is api/openapi.yaml, read once.
type document struct {
	spec       *openapi3.T
	operations map[string]*operation // by method and pattern
}

// readDocument reads the embedded document, once in a process's life. It fails
// only where the document itself is wrong, which a test notices first.
var readDocument = sync.OnceValues(func() (*document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		return nil, fmt.Errorf("httpapi: the OpenAPI document: %w", err)
	}
	d := &document{spec: spec, operations: map[string]*operation{}}
	for pattern, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			d.operations[method+" "+pattern] = readOperation(method, pattern, item, op)
		}
	}
	return d, nil
})

func readOperation(method, pattern string, item *openapi3.PathItem, op *openapi3.Operation) *operation {
	o := &operation{id: op.OperationID, method: method, pattern: pattern, params: op.Parameters, item: item, spec: op}
	scopes, _ := op.Extensions["x-scopes"].([]any)
	for _, s := range scopes {
		if name, ok := s.(string); ok {
			o.scopes = append(o.scopes, apigen.Scope(name))
		}
	}
	if op.RequestBody == nil {
		return o
	}
	if content := op.RequestBody.Value.Content; len(content) > 1 {
		o.streams = true
	} else {
		o.body = content.Get(mediaJSON).Schema.Value
	}
	return o
}

// find returns the operation that a request was routed to; nil for a path or
// method that the document does not have.
func (d *document) find(r *http.Request) *operation {
	return d.operations[r.Method+" "+routePattern(r)]
}
