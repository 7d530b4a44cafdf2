package batch

import (
	"context"
	"time"

	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// steerGate tells the connection's gate what an answer says about the vendor,
// and keeps the gate where it has to outlive the process.
func (r *Runner) steerGate(ctx context.Context, x *exchange, answer vendor.Exchange, j vendor.Judgement) {
	for _, e := range r.gateEvents(ctx, x, answer, j) {
		r.reportGate(ctx, x, e)
	}
}

func (r *Runner) reportGate(ctx context.Context, x *exchange, e ratelimit.Event) {
	snapshot, changed := x.pass.Report(e)
	if !changed {
		return
	}
	name := r.tenure.Unit.Vendor
	r.Observer.GateChanged(name, snapshot)
	if err := r.Store.SaveGate(ctx, KeptGate(name, snapshot, "gateway")); err != nil {
		r.Log.Warn("the gate could not be kept", "vendor", name, "state", snapshot.State.String(), "error", err)
	}
}

// KeptGate is a gate as it is stored.
func KeptGate(vendor string, s ratelimit.Snapshot, actor string) store.Gate {
	return store.Gate{Vendor: vendor, State: s.State.String(), Until: s.Until, Reason: s.Reason, Since: s.Since, Actor: actor}
}

func (r *Runner) gateEvents(ctx context.Context, x *exchange, answer vendor.Exchange, j vendor.Judgement) []ratelimit.Event {
	var events []ratelimit.Event
	switch {
	case j.Failed:
		events = append(events, ratelimit.Failed())
	case j.Answered:
		events = append(events, ratelimit.Succeeded())
	}
	switch j.Gate.Kind {
	case vendor.GateNone:
	case vendor.GateThrottle:
		if j.RateLimited {
			return append(events, ratelimit.RateLimited(j.Gate.Wait))
		}
		return append(events, ratelimit.Throttle(j.Gate.Wait))
	case vendor.GateSuspend:
		r.log(x.desk).Error("the vendor's gate is suspended", "reason", j.Gate.Reason, "attempt", x.attempt.No)
		return append(events, ratelimit.Suspend(j.Gate.Reason))
	case vendor.GateRefresh:
		if changed, err := r.link.Sender.RefreshCredentials(ctx, answer.Credential); err != nil || !changed {
			return append(events, ratelimit.CredentialsRefused())
		}
	}
	return events
}

// gateWait is how long a closed gate is not asked again; a change wakes sooner.
func (r *Runner) gateWait(s ratelimit.Snapshot) time.Duration {
	if s.Until.IsZero() {
		return r.poll()
	}
	return min(max(s.Until.Sub(r.Now()), time.Millisecond), r.poll())
}

// showIdle says what each batch waits for: the gate that holds it, or timers,
// followers and answers. One that waits for neither gate nor answer is not under
// way, and others may begin behind backpressure.
func (r *Runner) showIdle(ctx context.Context) error {
	for _, d := range r.desks {
		v := shown{state: store.Waiting}
		switch {
		case d.held != nil:
			v = d.heldAs(*d.held)
		case r.inFlight(d):
			v.state = store.InProgress
		default:
			d.leave()
		}
		if err := r.show(ctx, d, v); err != nil {
			return err
		}
	}
	return nil
}

func (d *desk) heldAs(s ratelimit.Snapshot) shown {
	v := shown{state: store.Waiting, hold: s.State.String()}
	switch {
	case s.State == ratelimit.Suspended:
		v.state = store.Suspended
	case d.NextAttempt == 1:
		v.state = store.Queued
	}
	return v
}

// isQuiet reports whether no answer is awaited.
func (r *Runner) isQuiet() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting) == 0
}

func (r *Runner) inFlight(d *desk) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.waiting {
		if id.batch == d.Batch.ID {
			return true
		}
	}
	return false
}

func (r *Runner) show(ctx context.Context, d *desk, v shown) error {
	if d.shown == v || r.isComplete(d) {
		return nil
	}
	if err := r.Store.SetState(ctx, d.Batch.ID, r.tenure.Epoch, v.state, v.hold, r.Now()); err != nil {
		return err
	}
	d.shown = v
	return nil
}
