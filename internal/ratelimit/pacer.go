package ratelimit

import (
	"context"
	"errors"
)

// Kind is what a request is for, as far as its pace and the gate care.
type Kind int

const (
	// Fresh carries lines that were never sent: it leaves the headroom free.
	Fresh Kind = iota
	// Retry is everything else about lines: retries, resends, look-ups, polls.
	Retry
	// Probe asks a vendor that is down whether it is back.
	Probe
)

func (k Kind) String() string {
	switch k {
	case Fresh:
		return "fresh"
	case Retry:
		return "retry"
	case Probe:
		return "probe"
	}
	return "unknown"
}

// ErrTicketSpent is returned by Take on a ticket that was taken or cancelled.
var ErrTicketSpent = errors.New("ratelimit: this ticket was already used")

// Pacer spaces the requests of one connection so that every window of the
// vendor stays within its limit. It is safe for concurrent use.
//
// A send has two steps, because its attempt must be durable before it leaves
// and a token must not age while that is written: Admit, commit the attempt,
// Take, write at once.
type Pacer interface {
	// Admit waits, first come first served within a kind, until the token of
	// this send is due within 100 ms, counting one spacing for each ticket
	// that is out. It costs nothing yet. It fails only when ctx ends, with
	// the cause.
	Admit(ctx context.Context, kind Kind) (Ticket, error)
}

// Ticket is a place close to the front. It belongs to one goroutine, which holds
// no other. A ticket that is out keeps its place however long it takes: at a slow
// pace those behind it wait for it, so what is done between Admit and Take must
// be bounded in time.
type Ticket interface {
	// Take waits for the token and consumes it in the instant it returns nil:
	// write then, since every delay from here on eats slack. When ctx ends it
	// returns the cause, has consumed nothing and has given up the place.
	Take(ctx context.Context) error
	// Cancel gives the place back at no cost; after Take it does nothing, so
	// it may always be deferred.
	Cancel()
}
