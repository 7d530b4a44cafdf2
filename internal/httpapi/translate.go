package httpapi

import (
	"context"
	"errors"
	"os"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/resume"
	"payrollgateway/internal/store"
)

// refusalOf is the one translation of errors from below into problems. ok is
// false for what has no code of its own: a fault of this machine.
func refusalOf(err error) (r *Refusal, ok bool) {
	var (
		refusal *Refusal
		alive   *resume.OwnerAliveError
		differs *store.ContentDiffersError
		strict  *store.RefusedError
	)
	switch {
	case errors.As(err, &refusal):
		return refusal, true
	case errors.As(err, &alive):
		r, age := Refuse(apigen.ProblemCodeOwnerAlive), alive.Age.Seconds()
		r.Owner, r.HeartbeatAge = alive.Owner, &age
		return r, true
	case errors.As(err, &differs):
		r := Refuse(apigen.ProblemCodeBatchContentDiffers)
		r.Ordinal = int(differs.Ordinal)
		return r, true
	case errors.As(err, &strict):
		return refuseRows(strict), true
	}
	return refusalOfSentinel(err)
}

func refusalOfSentinel(err error) (*Refusal, bool) {
	for _, t := range []struct {
		sentinel error
		code     apigen.ProblemCode
	}{
		{store.ErrNotFound, apigen.ProblemCodeNotFound},
		{store.ErrUnavailable, apigen.ProblemCodeStoreUnavailable},
		{resume.ErrStopping, apigen.ProblemCodeDraining},
		{os.ErrDeadlineExceeded, apigen.ProblemCodeBodyTooSlow},
		// The client's own going away is told to nobody; what else ends a
		// request early is the store's being slow.
		{context.Canceled, apigen.ProblemCodeStoreUnavailable},
		{context.DeadlineExceeded, apigen.ProblemCodeStoreUnavailable},
	} {
		if errors.Is(err, t.sentinel) {
			return Refuse(t.code), true
		}
	}
	if errors.Is(err, store.ErrBadCursor) {
		return RefuseFaults(apigen.ProblemCodeInvalidParameter, apigen.Fault{Parameter: "cursor", Detail: "must be the next_cursor of a page of this list"}), true
	}
	return nil, false
}

// refuseRows lists the rows that strict handling did not let pass.
func refuseRows(e *store.RefusedError) *Refusal {
	r := Refuse(apigen.ProblemCodeStrictRefused)
	r.ErrorsTotal = e.Total
	for _, row := range e.Rejects[:min(len(e.Rejects), maxFaults)] {
		r.Errors = append(r.Errors, rowFault(row))
	}
	return r
}

func rowFault(row payroll.Reject) apigen.Fault {
	return apigen.Fault{Ordinal: int(row.Ordinal), Code: apigen.ReasonCode(row.Reason.String()), Detail: row.Detail}
}
