package store

import (
	"time"

	"payrollgateway/internal/payroll"
)

// Attempt is one request on the wire, recorded before it is sent.
type Attempt struct {
	BatchID    int64
	No         int32 // from the token's NextAttempt, made by the client
	Epoch      int64
	Kind       payroll.AttemptKind
	Ordinals   []int32 // of its lines, in the order of the request
	RequestKey string  // request-scoped idempotency key; "" = none
	Generation int     // key generation asked about (look-ups); else 0
	BodySHA256 [32]byte
	Revision   int32 // of the vendor profile that rendered it
	SentAt     time.Time
	SendBefore time.Time
	// What follows is set when it is answered.
	ClosedAt time.Time // zero = open
	Answer   Answer
}

// Answer is what became of an attempt.
type Answer struct {
	HTTPStatus int             // 0 = none
	Verdict    payroll.Verdict // of the request as a whole; 0 = by item
	Detail     string          // at most 500 bytes; never a key, id, name or amount
	// Late is the vendor's answer noted by a worker that had lost its epoch
	// (Dispatch.NoteAnswer): status line, headers and body as the judge needs
	// them. Only open attempts have it; nil = none.
	Late []byte
}

// Open records an attempt before its request leaves.
type Open struct {
	Attempt   Attempt
	ChangeSeq int64 // of the token the plan was made from
	// Fresh lines: none of them has anything remembered. The token's
	// NextOrdinal moves from From to Next; every live line between that is in
	// no other table is in the attempt. Both zero: the lines stand in troubles.
	From, Next int32
}

// SettledLine is a fresh line that its first answer settled. Amount and Currency
// are those of the line as ReadAhead gave it: they move the batch's amounts, so
// that the line need not be read again.
type SettledLine struct {
	Ordinal   int32
	Amount    payroll.Minor
	Currency  string
	As        payroll.SettledAs
	Status    int
	Reference string
}

// Work is a worker's write: the answer to an attempt, or a decision about
// lines that are in no attempt.
type Work struct {
	BatchID   int64
	Epoch     int64
	AttemptNo int32 // closes this attempt; 0 = lines in no attempt
	Answer    Answer
	// Clean lines of a fresh attempt settle without being read.
	Clean []SettledLine
	// Ordinals are read under the token's lock and given to Decide, which is
	// pure, together and in ordinal order; its changes are applied with counts
	// and amounts in this same transaction. Not given to it: lines at rest,
	// lines of another attempt, and, where AttemptNo is 0, lines in any attempt.
	Ordinals []int32
	Decide   func([]payroll.Standing) []payroll.Change
	// Fresh lines that are not sent at all (cut-off): NextOrdinal moves from
	// From to Next. Both zero: does not move. Conditional on ChangeSeq then.
	From, Next int32
	ChangeSeq  int64
	Cursor     int32 // new LastCursor; never moves back by this
	Now        time.Time
}

// Applied is what a write did.
type Applied struct {
	Token   Token // as it is now, without Amounts
	Changes []payroll.Change
	Dead    []Dead // dead letters opened by it
}

// Dead names a dead letter that was opened, for alerts and metrics.
type Dead struct {
	Ordinal int32
	Reason  payroll.Reason
	Stage   payroll.Stage
}

// Due is a line whose next step may be taken.
type Due struct {
	Line       payroll.Line
	State      payroll.State
	Trouble    payroll.Trouble
	Superseded bool // a higher version of the payment exists
}

// Blocked is a line that waits for the fate of an older version.
type Blocked struct {
	Ordinal int32
	Older   payroll.Older
}

// Amendment is a write from outside about lines of one batch: replay, close,
// attestation, correction. It raises change_seq, and puts a completed batch
// back to work where lines leave an end state.
type Amendment struct {
	BatchID  int64
	Ordinals []int32
	Actor    string // id of the API key, or "gateway"
	Action   string // for the audit: "replay", "close", "attest_paid", …
	Detail   string // for the audit; evidence and note
	Close    *CloseNote
	// Decide is pure; an error rolls everything back and is returned as it is.
	Decide func([]payroll.Standing) ([]payroll.Change, error)
	Now    time.Time
}

// CloseNote goes into the dead letters that an amendment's changes close.
type CloseNote struct {
	Note      string
	RootCause string
}
