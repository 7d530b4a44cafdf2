package store

import (
	"slices"
	"strconv"
	"time"

	"payrollgateway/internal/payroll"
)

// LineEvent is the note of one change of a line, as line_events keeps it.
type LineEvent struct {
	AttemptNo int32 // whose answer it is about; 0 = decided outside any attempt
	At        time.Time
	Note      payroll.Note
}

// Past is what the tables remember of a line's way, in any order.
type Past struct {
	BatchKey string
	Attempts []Attempt // those that carried the line, and no others
	Events   []LineEvent
	// Of its outcome, for lines that a first answer settled and that have no
	// event: the attempt that settled it, and the status. 0 = not settled.
	SettledIn     int32
	SettledStatus int
}

// History is the past as people read it: one entry per attempt in the order of
// their numbers, with what the attempt meant for this line. An event decides;
// else the line's own outcome; else what became of the request as a whole. The
// verdict of an attempt that is open is 0. Events outside attempts are no part
// of it: the audit has them.
func (p Past) History() []HistoryEntry {
	attempts := slices.Clone(p.Attempts)
	slices.SortFunc(attempts, func(a, b Attempt) int { return int(a.No) - int(b.No) })
	entries := make([]HistoryEntry, 0, len(attempts))
	for _, a := range attempts {
		entries = append(entries, p.entry(a))
	}
	return entries
}

func (p Past) entry(a Attempt) HistoryEntry {
	e := HistoryEntry{AttemptID: AttemptID(p.BatchKey, a.No), Kind: a.Kind, SentAt: a.SentAt}
	note, known := p.noteOf(a)
	if !known {
		return e
	}
	e.HTTPStatus, e.Verdict, e.Detail = note.Status, note.Verdict, note.Detail
	return e
}

// noteOf says what an attempt meant for the line; known is false while open.
func (p Past) noteOf(a Attempt) (note payroll.Note, known bool) {
	for _, e := range slices.Backward(p.Events) {
		if e.AttemptNo == a.No {
			return e.Note, true
		}
	}
	if a.ClosedAt.IsZero() {
		return note, false
	}
	if p.SettledIn == a.No {
		return payroll.Note{Verdict: payroll.VerdictSettled, Status: p.SettledStatus}, true
	}
	return payroll.Note{Verdict: a.Answer.Verdict, Status: a.Answer.HTTPStatus, Detail: a.Answer.Detail}, true
}

// AttemptID is an attempt's public name: "{batch_key}/{attempt_no}".
func AttemptID(batchKey string, no int32) string {
	return batchKey + "/" + strconv.FormatInt(int64(no), 10)
}
