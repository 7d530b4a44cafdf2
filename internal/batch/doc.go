// Package batch works off pay periods: it plans chunks, sends them in the order
// that keeps people from being paid twice, writes down what came of each line,
// and resolves what is unknown. Runner does that for one unit (a tenant's pay
// period at one vendor); the same package holds what people do to lines from
// outside: cancel, replay, close, attest.
//
// What must not live here: what an answer means (internal/vendor), what follows
// for a line (internal/retry), who may work (internal/resume), SQL, HTTP
// handlers, configuration.
package batch
