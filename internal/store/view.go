package store

import (
	"payrollgateway/internal/payroll"
)

// LineView is a line as status pages show it.
type LineView struct {
	Tenant    string
	PayPeriod string
	BatchKey  string
	Line      payroll.Line
	State     payroll.State
	SettledAs payroll.SettledAs
	Reference string
	Reason    payroll.Reason   // with dead_lettered
	Trouble   *payroll.Trouble // nil = none
	BlockedBy string           // key of the older version it waits for (Trouble.BlockedBy); "" = none
	Attempts  []HistoryEntry   // filled by Reader.Line only
}

// CorrectionView says which paid lines a line corrects.
type CorrectionView struct {
	LineKey  string
	Corrects []string // line keys
}

// StateOf is the rule of where a line stands: an outcome decides; else what is
// remembered of its trouble; else whether its batch was cancelled before it,
// or an attempt took it.
func StateOf(t Token, live bool, ordinal int32, trouble, outcome payroll.State) payroll.State {
	switch {
	case outcome != 0:
		return outcome
	case trouble != 0:
		return trouble
	case t.CancelledFrom > 0 && ordinal >= t.CancelledFrom:
		return payroll.Cancelled
	case live && ordinal < t.NextOrdinal:
		return payroll.InFlight
	default:
		return payroll.Pending
	}
}
