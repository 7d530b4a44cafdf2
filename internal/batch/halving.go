package batch

import (
	"context"
	"net/http"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/vendor"
)

// family is what became of the lines of one request that the vendor refused as
// a whole and that is being halved. If none of them is accepted, the fault is
// not in the lines: a person has to look before more of them are rejected.
type family struct {
	open     int
	accepted bool
}

// everythingRejected is why a gate is suspended when a request halves down to
// nothing accepted.
const everythingRejected = "everything_rejected"

// halves reports whether a request refused with this status is halved because
// one of its lines may be at fault.
func halves(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}

// countFamily follows the halving of a request through its changes.
func (r *Runner) countFamily(ctx context.Context, x *exchange, answer vendor.Exchange, changes []payroll.Change) {
	if x.attempt.Kind != payroll.Submit {
		return
	}
	for _, c := range changes {
		if r.relative(x, answer, c) {
			r.reportGate(ctx, x, ratelimit.Suspend(everythingRejected))
		}
	}
}

// relative counts one line's change and reports whether it was the last of a
// family of which no line was accepted.
func (r *Runner) relative(x *exchange, answer vendor.Exchange, c payroll.Change) bool {
	root := x.family[c.Ordinal]
	if c.Trouble != nil && c.Trouble.Family != 0 {
		root = c.Trouble.Family
	}
	if root == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := attemptID{x.attempt.BatchID, root}
	f := r.families[id]
	if f == nil && root == x.attempt.No {
		f = &family{open: len(x.chunk.Lines)}
		r.families[id] = f
	}
	switch {
	case f == nil:
		return false
	case c.Event == payroll.Paid:
		f.accepted = true
		f.open--
	case c.Event == payroll.Given:
		f.open--
	}
	if f.open > 0 {
		return false
	}
	delete(r.families, id)
	return !f.accepted && halves(answer.Status)
}
