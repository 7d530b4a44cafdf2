package payroll

import "fmt"

// State says where a line stands. The numbers are stored: never renumber.
type State int16

// The states of a line. Settled, DeadLettered, Cancelled and Superseded are
// end states; the others are open.
const (
	Pending      State = 1 // not sent, or back untouched, or waiting for another line
	InFlight     State = 2 // in an attempt whose answer is awaited
	Retrying     State = 3 // certainly not applied, to be sent again
	Unknown      State = 4 // a request may have paid it; being resolved
	Settled      State = 5 // paid, certainly
	DeadLettered State = 6 // taken out for a person
	Cancelled    State = 7 // its batch was cancelled before it was sent
	Superseded   State = 8 // a newer version took its place before it was paid
)

// States lists every state in the order answers show them.
var States = []State{Pending, InFlight, Retrying, Unknown, Settled, DeadLettered, Cancelled, Superseded}

var stateNames = map[State]string{
	Pending: "pending", InFlight: "in_flight", Retrying: "retrying", Unknown: "unknown",
	Settled: "settled", DeadLettered: "dead_lettered", Cancelled: "cancelled", Superseded: "superseded",
}

func (s State) String() string { return nameOf(stateNames, s) }

// ParseState reads a state's name.
func ParseState(name string) (State, bool) { return valueOf(stateNames, name) }

// AtRest reports whether the state is an end state.
func (s State) AtRest() bool { return s >= Settled && s <= Superseded }

// Event is what can happen to a line.
type Event int16

// The events of a line.
const (
	Sent      Event = 1  // a submit attempt with it was committed
	Paid      Event = 2  // evidence that it was paid: answer, look-up, attestation, an earlier batch
	Refused   Event = 3  // certainly not applied, the same key goes again later
	Lost      Event = 4  // its attempt has no known fate
	Untouched Event = 5  // certainly not applied and not its fault; or found not paid by look-up
	Given     Event = 6  // given up: a dead letter
	Withdrawn Event = 7  // its batch is cancelled and no attempt of it is open
	Replaced  Event = 8  // a higher version exists and no attempt of it is open
	Replayed  Event = 9  // a person, or HR by submitting again, puts it back to work
	Reopened  Event = 10 // a parked line is to be looked up again before anything else
)

// Events lists every event.
var Events = []Event{Sent, Paid, Refused, Lost, Untouched, Given, Withdrawn, Replaced, Replayed, Reopened}

var eventNames = map[Event]string{
	Sent: "sent", Paid: "paid", Refused: "refused", Lost: "lost", Untouched: "untouched",
	Given: "given_up", Withdrawn: "withdrawn", Replaced: "replaced", Replayed: "replayed", Reopened: "reopened",
}

func (e Event) String() string { return nameOf(eventNames, e) }

// transitions is the state machine: what is not here does not happen. Lines at
// rest leave only by a person's hand (Replayed), by late evidence for a parked
// line (Paid), or because that evidence meets a cancelled or corrected line.
var transitions = map[State]map[Event]State{
	Pending: {
		Sent: InFlight, Paid: Settled, Given: DeadLettered, Withdrawn: Cancelled, Replaced: Superseded,
	},
	InFlight: {
		Paid: Settled, Refused: Retrying, Lost: Unknown, Untouched: Pending,
		Given: DeadLettered, Withdrawn: Cancelled, Replaced: Superseded,
	},
	Retrying: {
		Sent: InFlight, Given: DeadLettered, Withdrawn: Cancelled, Replaced: Superseded, Paid: Settled,
	},
	Unknown: {
		Sent: InFlight, Paid: Settled, Lost: Unknown, Untouched: Pending,
		Given: DeadLettered, Withdrawn: Cancelled, Replaced: Superseded,
	},
	DeadLettered: {
		Paid: Settled, Replayed: Pending, Reopened: Unknown, Withdrawn: Cancelled, Replaced: Superseded,
	},
	Settled: {}, Cancelled: {}, Superseded: {},
}

// Transition applies an event. ok is false where the machine has no such arrow.
func Transition(from State, e Event) (to State, ok bool) {
	to, ok = transitions[from][e]
	return to, ok
}

// SettledAs says what the evidence for a payment was. The numbers are stored.
type SettledAs int16

// How a line came to be settled.
const (
	Created      SettledAs = 1 // the vendor's answer to our request
	Duplicate    SettledAs = 2 // the vendor's answer that it holds this key already
	LookedUp     SettledAs = 3 // found at the vendor
	EarlierBatch SettledAs = 4 // another batch's item of the same payment
	Attested     SettledAs = 5 // a person found the payment and said so
)

var settledAsNames = map[SettledAs]string{
	Created: "created", Duplicate: "duplicate", LookedUp: "looked_up",
	EarlierBatch: "earlier_batch", Attested: "attested",
}

func (s SettledAs) String() string { return nameOf(settledAsNames, s) }

// ParseSettledAs reads a settled_as name.
func ParseSettledAs(name string) (SettledAs, bool) { return valueOf(settledAsNames, name) }

func nameOf[T ~int16](names map[T]string, v T) string {
	if name, ok := names[v]; ok {
		return name
	}
	return fmt.Sprintf("invalid(%d)", int16(v))
}

func valueOf[T comparable](names map[T]string, name string) (T, bool) {
	for v, n := range names {
		if n == name {
			return v, true
		}
	}
	var zero T
	return zero, false
}
