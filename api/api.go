// Package api holds the HTTP interface's description, openapi.yaml, and nothing else.
//
// The document is the source of truth: the server validates requests against it, reads from it which scopes an
// operation needs, and serves it; the generated types in internal/httpapi/apigen come from it. A change of the
// interface begins here. Code that acts on the document (routing, validation, rendering) does not belong here.
package api

import _ "embed"

// OpenAPI is the OpenAPI 3.0.3 document as written, in YAML. Do not modify it.
//
//go:embed openapi.yaml
var OpenAPI []byte
