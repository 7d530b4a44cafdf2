// Package vendor is what the gateway knows of the other side: the profile of a
// vendor, read strictly from YAML; the requests made of it; the transport, which
// puts at most one request on the wire for each attempt; and the judge, one pure
// function of profile, request and answer that says what an answer means for
// every line and for the vendor's gate.
//
// What follows from a verdict (budgets, ambiguity, cut-off) is internal/retry's
// business; when something is sent is the engine's. Nothing here keeps state
// between two requests but the connections and the credentials of a Client, and
// nothing reads the environment: secrets, time and certificates are parameters.
//
// The package stays flat. The go command takes what lies below a directory named
// vendor for vendored code and leaves out its tests.
package vendor
