// Package sandbox is a payroll vendor in a process of its own: integrators test
// against it, the demonstration runs against it, and the tests of the gateway
// are judged by its journal.
//
// It takes the standard body, answers the standard answer, can be looked up,
// honours idempotency keys, holds the newest version of every payment, and
// misbehaves on request: by rates and a seed, or line by line through magic
// employee ids. Every request it read and every payment it made stands in an
// append-only journal that is on disk before anything is answered.
//
// Nothing of the gateway is imported here, not even its nouns: a fault of the
// gateway must not reach its judge. For the same reason amounts, keys and
// currencies are read anew, by this package's own rules. What must not live
// here: flags, environment, printing, and any knowledge of the gateway's
// database. docs/sandbox.md is the page for integrators.
package sandbox
