// Package payroll holds the nouns of the gateway and the rules that need
// nothing but those nouns: lines and batches, keys and hashes, money, states
// and their transitions, reason codes, verdicts, and what a line's past allows.
//
// Everything here is a value or a pure function: no clock, no randomness, no
// I/O, no SQL, no HTTP. It imports nothing else of the gateway.
package payroll
