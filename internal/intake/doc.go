// Package intake turns the body of one submission into a batch: three formats
// (JSON, NDJSON, CSV), their limits, the envelope, the rows, control totals, the
// content hash, and the spool in which ready rows wait until the body has
// arrived whole. Only then the store is asked, once.
//
// A wrong envelope, or a body that cannot be trusted, refuses everything with an
// *Error. A wrong row becomes a dead letter and holds up nobody else.
//
// Not here: routes, headers and problem documents (httpapi), what becomes of a
// row whose key the ledger knows already (store), and sending (batch). Nothing
// in an error or a fault is ever a value that the caller sent.
package intake
