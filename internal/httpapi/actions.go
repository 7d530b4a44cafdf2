package httpapi

import (
	"time"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// terms are what a letter's vendor says about its lines today.
type terms struct {
	known  bool // the vendor is still configured
	lookUp bool
	limits payroll.Cap
}

// allowedActions says what can be done with a dead letter now; it asks what the
// guards would ask, so that what is offered is not refused. Pure.
//
// A line that may have been paid is replayed by looking it up, or after a
// person's word; that word, like a close, waits until nothing of the line can
// still arrive.
func allowedActions(l store.Letter, v terms, now time.Time) []apigen.DeadLetterAction {
	actions := []apigen.DeadLetterAction{}
	if l.Status != store.LetterOpen {
		return actions
	}
	s := l.Standing
	if s == nil {
		return append(actions, apigen.DeadLetterActionClose)
	}
	if s.State != payroll.DeadLettered || s.LetterClosed != "" {
		return actions
	}
	ambiguous := s.Trouble != nil && s.Trouble.Ambiguous
	quiet := !ambiguous || !now.Before(s.Trouble.QuietAt)
	if replayable(*s, v, ambiguous) {
		actions = append(actions, apigen.DeadLetterActionReplay)
	}
	if ambiguous && quiet && v.known && s.Reason.Replayable() {
		actions = append(actions, apigen.DeadLetterActionAttestNotPaid)
	}
	if quiet && mayHaveBeenPaid(*s, ambiguous) {
		actions = append(actions, apigen.DeadLetterActionAttestPaid)
	}
	if quiet {
		actions = append(actions, apigen.DeadLetterActionClose)
	}
	return actions
}

// replayable: a plain replay, without attestation, would be accepted. A passed
// cut-off does not stand in the way, since a replay may bring a new one.
func replayable(s payroll.Standing, v terms, ambiguous bool) bool {
	switch {
	case !v.known || !s.Reason.Replayable():
		return false
	case ambiguous:
		return v.lookUp
	case s.Superseded || s.Cancelled:
		return false
	default:
		return s.Reason != payroll.StatutoryCapBreach || v.limits.Allows(s.Line.Amount, s.Line.Currency)
	}
}

func mayHaveBeenPaid(s payroll.Standing, ambiguous bool) bool {
	return ambiguous || s.Reason.Class() == payroll.UnknownClass
}

// foreseen is how a replay of the record would probably end: the code of the
// refusal, or "" for none. It judges by the record alone, and so cannot know
// whether another version or an open attempt stands in the way.
func foreseen(l store.Letter, v terms, newCutoff, now time.Time) apigen.ProblemCode {
	cutoff := l.CutoffAt
	if !newCutoff.IsZero() {
		cutoff = newCutoff
	}
	breach := l.Reason == payroll.StatutoryCapBreach && !v.limits.Allows(l.Amount, l.Currency)
	switch {
	case l.Status != store.LetterOpen, !v.known, !l.Reason.Replayable(), breach:
		return apigen.ProblemCodeNotReplayable
	case l.Reason.Class() == payroll.UnknownClass && v.lookUp:
		return ""
	case l.Reason.Class() == payroll.UnknownClass:
		return apigen.ProblemCodeAttestationRequired
	case !cutoff.IsZero() && !now.Before(cutoff):
		return apigen.ProblemCodeCutoffPassed
	default:
		return ""
	}
}

// terms of a vendor by name.
func (s *server) terms(name string) terms {
	v, ok := s.Vendors.Vendor(name)
	if !ok {
		return terms{}
	}
	return terms{known: true, lookUp: v.Profile.LookUp, limits: v.Profile.Limits}
}
