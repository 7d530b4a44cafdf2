package store

import (
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
)

// BatchState says how far a batch has come. The numbers are stored.
type BatchState int16

// The states of a batch.
const (
	Queued         BatchState = 1 // never taken by a worker
	InProgress     BatchState = 2
	Waiting        BatchState = 3 // only timers, followers or a closed gate are left
	Suspended      BatchState = 4 // a person must open the gate
	Completed      BatchState = 5
	CancelledBatch BatchState = 6 // cancelled, and every line at rest
)

var batchStateNames = [...]string{Queued: "queued", InProgress: "in_progress", Waiting: "waiting", Suspended: "suspended", Completed: "completed", CancelledBatch: "cancelled"}

func (s BatchState) String() string {
	if s < Queued || int(s) >= len(batchStateNames) {
		return "invalid"
	}
	return batchStateNames[s]
}

// Token is a batch with its resume token: the durable record of how far it has
// come, enough to carry on after a crash, and never ahead of the ledger.
type Token struct {
	Batch       payroll.Batch
	Token       uuid.UUID
	State       BatchState
	HoldReason  string // "" = none; else throttled, backpressure, outage, suspended, period_busy, coordination_lost, store_lost
	Owner       string // "" = nobody
	HeartbeatAt time.Time
	Epoch       int64 // fence: +1 whenever the unit is taken
	ChangeSeq   int64 // +1 by every write from outside
	Version     int64 // +1 by every write: the ETag
	NextOrdinal int32 // first line never planned; moves with the attempt
	LastCursor  int32 // every line up to here has left pending and in_flight; moves with the results
	NextAttempt int32 // number of the next attempt, from 1

	// LowestPending is the lowest line below NextOrdinal that is pending or in
	// flight (in troubles, following, or in an open attempt); 0 = none. Filled
	// by Tokens.Work only. A complete batch's LastCursor is its total.
	LowestPending int32

	CancelledFrom int32 // lines from here on that nothing happened to are cancelled; 0 = not cancelled
	Counts        payroll.Counts
	Rejected      int32                      // items that died at intake, part of dead_lettered
	Amounts       map[string]payroll.Amounts // by currency; filled by Reader.Batch and Reader.Token only
	UpdatedAt     time.Time
	CompletedAt   time.Time // zero = not complete
}

// Complete reports whether every item is in an end state.
func (t Token) Complete() bool { return !t.CompletedAt.IsZero() }

// Tenure is one owner's hold on a unit: what fences its writes.
type Tenure struct {
	Unit   payroll.Unit
	UnitID int64
	Owner  string
	Epoch  int64
}

// Claim asks for a unit.
type Claim struct {
	Unit   payroll.Unit
	Owner  string
	Now    time.Time
	TTL    time.Duration // an owner whose heartbeat is older is gone
	Force  bool          // the caller knows that the owner is gone: take it whatever its heartbeat
	Settle time.Duration // open attempts become quiet no earlier than Now + Settle: the new owner sees them first now
}

// Claimable is a unit with unfinished batches that nobody alive works on.
type Claimable struct {
	Unit        payroll.Unit
	Owner       string // the last one; "" = never taken
	HeartbeatAt time.Time
	CutoffAt    time.Time // earliest of its unfinished batches; zero = none
}
