// Package retry decides what happens to a line after a reading of an answer,
// or when its time has come: settle it, send it again and when, look it up, or
// give it up. It is the one place where retry budgets, ambiguity, cut-off and
// the vendor's memory of keys meet.
//
// Everything here is pure: time and randomness are parameters. What an answer
// means is internal/vendor's business; writing the decision down is the store's.
package retry
