package e2e

import (
	"sync/atomic"
	"testing"
	"time"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
)

// urgent stores a pay run that goes before all others: it has a cut-off.
func (w *world) urgent(cutoff time.Time, employees ...string) {
	w.Helper()
	w.groups++
	s := w.submission(employees, 1)
	s.Batch.CutoffAt = cutoff
	_, err := w.store.Accept(w.Context(), s)
	w.must(err)
}

// Backpressure lets the batches under way finish, and ends when they have. A
// new batch that is more urgent once held up the very batch it waited for.
func TestBackpressureDrainsWhatIsUnderWay(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.submit(60)
		l := &life{w: w, point: "after_answer", nth: 2}
		l.ready = func(r *batch.Runner, link *batch.Link) {
			l.do = func() {
				w.urgent(w.now().Add(24*time.Hour), "U-1", "U-2")
				for range 3 {
					link.Limits.Gate().Report(ratelimit.RateLimited(time.Millisecond))
				}
				w.shift.Store(int64(2 * time.Minute))
				r.Wake()
			}
		}
		w.live(l)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 2})
	})
}

// A batch whose gate is closed is not in the way of what another one can do
// without the vendor: its cut-off passes when it passes.
func TestAClosedGateDoesNotHoldUpACutOff(t *testing.T) {
	onBoth(t, blindLookUp, func(w *world) {
		w.urgent(w.now().Add(time.Hour), "sandbox.timeout-after-commit.a")
		var stored atomic.Bool
		l := &life{w: w, point: "after_results_commit", nth: 1}
		l.ready = func(r *batch.Runner, link *batch.Link) {
			l.do = func() {
				link.Limits.Gate().Report(ratelimit.Suspend("closed by hand"))
				w.urgent(w.now().Add(2*time.Hour), "B-1", "B-2")
				stored.Store(true)
				w.shift.Store(int64(3 * time.Hour))
				r.Wake()
			}
		}
		soft, stop := w.until(func() bool { return stored.Load() && w.token().Complete() })
		defer stop()
		w.liveUntil(soft, l)
		w.counts(map[payroll.State]int64{payroll.DeadLettered: 2})
		if w.reasons()[payroll.CutoffPassed] != 2 {
			t.Errorf("dead letters: %v", w.reasons())
		}
	})
}

// blindLookUp is a vendor that recognises no key and can be asked.
var blindLookUp = kind{
	name:    "look_up",
	profile: submit + "idempotency: {scope: none}\nlookup: standard\nlookup_lag: 50ms\n",
}
