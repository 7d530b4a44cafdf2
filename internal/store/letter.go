package store

import (
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
)

// LetterStatus says whether a dead letter still asks for a person. The numbers
// are stored.
type LetterStatus int16

// The statuses of a dead letter.
const (
	LetterOpen     LetterStatus = 1
	LetterReplayed LetterStatus = 2
	LetterClosed   LetterStatus = 3
)

var letterStatusNames = [...]string{LetterOpen: "open", LetterReplayed: "replayed", LetterClosed: "closed"}

func (s LetterStatus) String() string {
	if s < LetterOpen || int(s) >= len(letterStatusNames) {
		return "invalid"
	}
	return letterStatusNames[s]
}

// ParseLetterStatus reads a status.
func ParseLetterStatus(name string) (LetterStatus, bool) {
	for s := LetterOpen; int(s) < len(letterStatusNames); s++ {
		if letterStatusNames[s] == name {
			return s, true
		}
	}
	return 0, false
}

// Letter is a dead letter: immutable but for its status and how it was closed.
type Letter struct {
	ID             uuid.UUID
	Tenant         string
	Vendor         string
	BatchID        int64
	BatchKey       string
	PayPeriod      string
	Ordinal        int32
	LineKey        string // "" = the row has no readable key
	EmployeeID     string
	Amount         payroll.Minor
	Currency       string // "" = no readable amount
	CutoffAt       time.Time
	Status         LetterStatus
	Reason         payroll.Reason
	Stage          payroll.Stage
	LastStatus     int
	LastError      string
	Attempts       int
	History        []HistoryEntry
	Payload        []byte
	PayloadCut     bool
	FirstSeenAt    time.Time
	DeadLetteredAt time.Time
	ClosedAt       time.Time
	ClosedAs       string
	Actor          string
	Note           string
	RootCause      string
	// Of its line today; nil: it has none (refused at intake).
	Standing *payroll.Standing
}

// HistoryEntry is one attempt as a line saw it.
type HistoryEntry struct {
	AttemptID  string // "{batch_key}/{attempt_no}"
	Kind       payroll.AttemptKind
	SentAt     time.Time
	HTTPStatus int             // 0 = none
	Verdict    payroll.Verdict // 0 = still open
	Detail     string
}

// LetterFilter selects dead letters; zero fields select all.
type LetterFilter struct {
	Tenant    string // required
	Status    LetterStatus
	Reason    payroll.Reason
	Class     payroll.FailureClass
	Stage     payroll.Stage
	Vendor    string
	BatchKey  string
	PayPeriod string
}

// Page bounds a list. Lists are in keyset order; After continues one.
type Page struct {
	Limit int
	After string // opaque; "" = from the start
}

// Replay is a replay by filter: a job of its own with progress.
type Replay struct {
	ID         uuid.UUID
	Tenant     string
	Filter     LetterFilter
	RatePerSec float64 // letters a second; 0 = as fast as it goes
	RootCause  string
	CutoffAt   time.Time
	Actor      string
	Matched    int    // when it was made
	Cursor     string // page position: letters before it are done
	Replayed   int
	Refused    int // guard, superseded, not replayable, …
	State      ReplayState
	CreatedAt  time.Time
	FinishedAt time.Time
}

// ReplayState says how far a replay job has come. The numbers are stored.
type ReplayState int16

// The states of a replay.
const (
	ReplayRunning   ReplayState = 1
	ReplayDone      ReplayState = 2
	ReplayCancelled ReplayState = 3
)

func (s ReplayState) String() string {
	switch s {
	case ReplayRunning:
		return "running"
	case ReplayDone:
		return "completed"
	case ReplayCancelled:
		return "cancelled"
	default:
		return "invalid"
	}
}

// Gate is a connection's gate as it is kept over restarts.
type Gate struct {
	Vendor string
	State  string // open, throttled, suspended
	Until  time.Time
	Reason string
	Since  time.Time
	Actor  string
	Note   string // why a person released it; goes into the audit, not into the gate
}
