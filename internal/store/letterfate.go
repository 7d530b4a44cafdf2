package store

import "payrollgateway/internal/payroll"

// AttestedPaid is how a dead letter is closed whose payment a person found. It
// is no payroll.CloseReason, because it settles the line.
const AttestedPaid = "attested_paid"

// LetterFate says what becomes of a line's open dead letter: ok is false where
// it stays open. A closed one says how; a replayed one does not.
func (e Effect) LetterFate() (status LetterStatus, closedAs string, ok bool) {
	left := e.Moved() && e.Was.State == payroll.DeadLettered
	switch {
	case e.Change.Close != "":
		return LetterClosed, string(e.Change.Close), true
	case !left:
		return 0, "", false
	case e.State == payroll.Settled && e.Change.Settled.As == payroll.Attested:
		return LetterClosed, AttestedPaid, true
	case e.State == payroll.Superseded:
		return LetterClosed, string(payroll.Corrected), true
	default:
		return LetterReplayed, "", true
	}
}
