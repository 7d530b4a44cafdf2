package store

import (
	"errors"
	"fmt"
	"time"

	"payrollgateway/internal/payroll"
)

// Sentinels, compared with errors.Is.
var (
	// ErrNotFound: no such object, or not this tenant's.
	ErrNotFound = errors.New("not found")
	// ErrFenced: a newer epoch owns the unit. The worker stops; nothing was written.
	ErrFenced = errors.New("fenced: a newer owner works on this pay period")
	// ErrChanged: the batch's lines changed from outside since they were read,
	// or a planned line is taken. Nothing was written; read again.
	ErrChanged = errors.New("changed: the batch moved on since it was read")
	// ErrAnswered: the attempt is closed already. Nothing was written.
	ErrAnswered = errors.New("answered: the attempt is closed already")
	// ErrUnavailable: the database cannot be reached or cannot take the write;
	// whether a commit took effect could not be found out.
	ErrUnavailable = errors.New("store unavailable")
	// ErrBadCursor: a page continues from a cursor that no list of this kind gave.
	ErrBadCursor = errors.New("the cursor is none that this list gave")
	// ErrSecondReplica: another process works with this database, and without
	// coordination between replicas only one may.
	ErrSecondReplica = errors.New("another replica works with this database")
)

// HeldError: the unit has a live owner.
type HeldError struct {
	Owner       string
	HeartbeatAt time.Time
}

func (e *HeldError) Error() string { return "held by " + e.Owner }

// ContentDiffersError: the batch key exists with other content.
type ContentDiffersError struct {
	Ordinal int32 // of the first item that differs, or that only one of them has; 0: the envelope
}

func (e *ContentDiffersError) Error() string {
	return fmt.Sprintf("another content is stored under this batch key; first difference at item %d", e.Ordinal)
}

// RefusedError: a strict submission has rows that would be dead letters.
// Nothing was stored.
type RefusedError struct {
	Rejects []payroll.Reject // the first 1,000
	Total   int
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%d rows are refused", e.Total) }
