// Package telemetry makes the gateway's logs and metrics: a structured logger
// that cannot print what must not be printed, and a Prometheus registry with
// every metric the gateway has.
//
// What must not live here: decisions, nouns of other packages, HTTP handlers.
package telemetry
