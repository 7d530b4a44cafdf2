// Package httpapi is the gateway's HTTP interface: it finds out who calls, holds
// every request against api/openapi.yaml, makes one call, and renders the answer
// or the problem.
//
// What a key may do, which parameters and bodies are acceptable and what a
// problem is called is read from the document or checked against it; nothing of
// it is written twice. Problems have one table (problem.go) and errors of the
// floors below one translation (translate.go). No answer repeats a value that a
// caller sent.
//
// What must not live here: reading a batch's body (intake), decisions about
// lines (payroll, retry, batch), SQL, configuration. What the package needs of
// the others it declares as small interfaces (ports.go); cmd puts them together.
package httpapi
