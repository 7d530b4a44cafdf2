package e2e

import (
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/sandbox"
	"payrollgateway/internal/store"
)

// blindVendor can neither recognise a key nor be asked.
var blindVendor = kind{
	name: "blind", sandbox: sandbox.Config{Keys: "ignore", NoLookUp: true},
	profile: "submit: {path: /v1/payroll/lines, timeout: 500ms, concurrency: 4, chunk: {min: 5, max: 10}}\nidempotency: {scope: none}\n",
}

// takeOver makes another owner take the unit.
func (w *world) takeOver() {
	w.Helper()
	_, err := w.store.Claim(w.Context(), store.Claim{
		Unit: payroll.Unit{Tenant: tenant, PayPeriod: period, Vendor: "acme"}, Owner: "another", Now: w.now(), TTL: time.Minute, Force: true,
		Settle: w.profile.Policy().Settle,
	})
	w.must(err)
}

// A worker that was taken over while its answer was on the way leaves the
// answer for its successor: paid people are not parked.
func TestALateAnswerIsEvidence(t *testing.T) {
	onBoth(t, blindVendor, func(w *world) {
		w.submit(40)
		if !w.live(&life{w: w, point: "before_results_commit", nth: 2, do: w.takeOver}) {
			t.Fatal("the taken-over worker went on")
		}
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 40})
	})
}

// An attempt whose COMMIT answered too late is of the current epoch and waited
// for by nobody: the sweeper finds it. Nothing of it was sent, but nobody can
// know that: at a blind vendor its lines are parked, elsewhere sent again.
func TestALostCommitAnswerIsSwept(t *testing.T) {
	for _, k := range []kind{blindVendor, slow} {
		t.Run(k.name, func(t *testing.T) {
			onBoth(t, k, func(w *world) {
				w.submit(40)
				w.live(&life{w: w, lose: 2})
				report := w.judge()
				parked := w.reasons()[payroll.OutcomeUnknown]
				if k.blind() && (parked != 10 || report.Parked.NotPaid != 10) || !k.blind() && parked != 0 {
					t.Errorf("%d lines are parked", parked)
				}
			})
		})
	}
}

// A process that dies again and again while it recovers neither loses nor
// repeats anything, and its attempts do not grow without a send.
func TestKilledTenTimesWhileRecovering(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.submit(120, misfits...)
		for i := range 10 {
			if !w.work(points[i%len(points)], int64(1+i%2)) {
				break
			}
		}
		w.work("", 0)
		w.judge()
		w.noneParked()
	})
}

// The first send after a take-over follows at once: nothing of a dead owner
// blocks its successor.
func TestTheSuccessorSendsAtOnce(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.submit(60)
		w.work("after_attempt_commit", 2)
		died := time.Now()
		w.work("", 0)
		w.judge()
		journal, err := sandbox.ReadJournal(w.journal)
		w.must(err)
		for _, r := range journal.Requests {
			if r.Time.After(died) {
				if wait := r.Time.Sub(died); wait > 2*time.Second {
					t.Errorf("the first send came after %s", wait)
				}
				return
			}
		}
	})
}
