// Package ratelimit decides when a request may leave for a vendor: in whose
// turn (Turns), at what pace (Pacer) and whether at all (Gate). A Connection
// puts the three in their order, and is what a worker talks to.
//
// The promise is about windows, not averages: no window of the vendor's length
// ever holds more requests than its limit, also across a crash and a restart.
// It is kept by spacing alone; limit.go has the arithmetic, local.go the proof
// for a machine whose timers are late.
//
// What must not live here: what an answer means (the judge of answers turns it
// into an Event), how long a single line waits for its retry, what a pay period
// or a batch is, and where a gate's state is stored. The package starts no
// goroutine, writes no log and reads no configuration.
package ratelimit
