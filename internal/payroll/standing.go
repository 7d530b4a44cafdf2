package payroll

import (
	"time"

	"github.com/google/uuid"
)

// Trouble is what is remembered of a line that could not simply be sent and
// settled: it waits for a retry, its fate is unknown, another line is before
// it, or it is a dead letter that may come back.
type Trouble struct {
	Generation  int               // key generation, from 1
	Sends       int               // submit requests under this generation
	Used        [RetryClasses]int // retries granted, by class; one above its budget = the next was refused
	FirstSentAt time.Time         // first submit under this generation; zero = never sent
	Ambiguous   bool              // at least one of its submit attempts has no known fate
	QuietAt     time.Time         // from then on no request of those attempts can still arrive
	DueAt       time.Time         // when the next step may be taken
	LookUpNext  bool              // the next step is a look-up, not a send
	LookedUp    int               // key generations that this round of look-ups found absent
	Conflicted  bool              // the vendor answered 409: only a look-up or another answer settles it
	MaxChunk    int               // bound on the size of the request it travels in; 0 = none
	Family      int32             // attempt whose halving it belongs to; 0 = none
	FrozenWith  int32             // attempt whose request must be repeated whole; 0 = none
	BlockedBy   LineRef           // the older version whose fate must be known first
	AttemptNo   int32             // open attempt it travels in; 0 = not taken
	CutoffAt    time.Time         // its own cut-off, given with a replay; zero = its batch's
}

// Standing is where a line stands, read under the lock of its batch: all that
// a decision about it needs.
type Standing struct {
	Line      Line
	Live      bool // the one item of its key that may be sent
	State     State
	Trouble   *Trouble // nil: nothing remembered
	SettledAs SettledAs
	Reason    Reason // of its dead letter; 0 = not dead-lettered
	Letter    uuid.UUID
	// LetterClosed is how its newest dead letter was closed; "" = open or none.
	LetterClosed CloseReason
	Cancelled    bool      // its batch is cancelled
	Superseded   bool      // a higher version of the payment exists
	CutoffAt     time.Time // its own or its batch's; zero = none
	FollowerOf   LineRef   // the live item that it follows; zero = none
}

// Settlement is the evidence of a payment.
type Settlement struct {
	As        SettledAs
	Status    int    // HTTP status, item's or request's; 0 = none
	Reference string // the vendor's id of the payment
}

// Death is why a line becomes a dead letter.
type Death struct {
	Reason Reason
	Stage  Stage
	Status int    // last HTTP status; 0 = none
	Error  string // one sentence; never a key, id, name or amount
}

// Note is one verdict in a line's history.
type Note struct {
	Verdict Verdict
	Status  int
	Detail  string
}

// Change is a decision about one line: what happens to it and what is
// remembered. The store applies a batch's changes, its counts and its amounts
// in one transaction.
type Change struct {
	Ordinal int32
	Event   Event    // 0: the state stays, only Trouble changes
	Trouble *Trouble // nil: nothing need be remembered
	Settled Settlement
	Death   *Death      // with Given; nil for a follower, whose live item holds the letter
	Close   CloseReason // closes its open dead letter; "" = leave
	Note    *Note
	Alert   string // name of the alert to raise; "" = none
}
