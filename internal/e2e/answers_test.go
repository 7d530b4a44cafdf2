package e2e

import (
	"fmt"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/sandbox"
	"payrollgateway/internal/store"
)

// onBoth runs a test with one kind of vendor on both stores.
func onBoth(t *testing.T, k kind, f func(w *world)) {
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			f(newWorld(t, k, b))
		})
	}
}

func faults(text string) sandbox.FaultRates {
	rates, err := sandbox.ParseFaultRates(text)
	if err != nil {
		panic(err)
	}
	return rates
}

// keyed is a vendor that remembers line keys, with some misbehaviour.
func keyed(c sandbox.Config) kind {
	return kind{name: "keyed", sandbox: c, profile: patient + "idempotency: {scope: line, retention: 1h}\n"}
}

// The example of the runbook: of 500 lines 487 are fine, 11 are answered 503
// and 2 are answered 422. Only the 11 travel again.
func TestOnlyTheFailedLinesTravelAgain(t *testing.T) {
	k := keyed(sandbox.Config{})
	k.profile = "submit: {path: /v1/payroll/lines, timeout: 5s, concurrency: 4, chunk: {min: 100, max: 250}}\nidempotency: {scope: line, retention: 1h}\n"
	onBoth(t, k, func(w *world) {
		var named []string
		for i := range 11 {
			named = append(named, fmt.Sprintf("sandbox.503x1.%d", i))
		}
		w.submit(487, append(named, "sandbox.422.a", "sandbox.422.b")...)
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 498, payroll.DeadLettered: 2})
		if r := w.reasons(); r[payroll.VendorRejected] != 2 {
			t.Errorf("dead letters: %v", r)
		}
		journal, err := sandbox.ReadJournal(w.journal)
		w.must(err)
		sent := 0
		for _, r := range journal.Requests {
			sent += r.LineCount
		}
		if sent != 511 {
			t.Errorf("%d lines travelled, want 500 and 11 again", sent)
		}
	})
}

// A request that the vendor refuses for one line is halved until that line is
// alone: it is rejected, the others are paid.
func TestOneBadLineDoesNotHoldUpAnAtomicVendor(t *testing.T) {
	k := kind{sandbox: sandbox.Config{Atomic: true}, profile: allIn + "idempotency: {scope: line, retention: 1h}\n"}
	onBoth(t, k, func(w *world) {
		w.submit(30, "sandbox.422.a")
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 30, payroll.DeadLettered: 1})
	})
}

// A vendor that refuses requests for their size gets smaller ones from then on.
func TestSmallerRequestsAfter413(t *testing.T) {
	onBoth(t, keyed(sandbox.Config{MaxLines: 4}), func(w *world) {
		w.submit(60)
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 60})
		journal, err := sandbox.ReadJournal(w.journal)
		w.must(err)
		tooLarge := 0
		for _, r := range journal.Requests {
			if r.LineCount > 4 {
				tooLarge++
			}
		}
		if tooLarge > 10 {
			t.Errorf("%d requests were too large: the smaller size is not remembered", tooLarge)
		}
	})
}

// Retry-After is a floor: nothing is sent before it.
func TestRetryAfterIsHonoured(t *testing.T) {
	onBoth(t, keyed(sandbox.Config{Faults: faults("429=1"), MaxFaultsPerLine: 1, RetryAfter: time.Second}), func(w *world) {
		w.submit(8)
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 8})
		journal, err := sandbox.ReadJournal(w.journal)
		w.must(err)
		if len(journal.Requests) < 2 {
			t.Fatalf("%d requests", len(journal.Requests))
		}
		if wait := journal.Requests[1].Time.Sub(journal.Requests[0].Time); wait < time.Second {
			t.Errorf("sent again after %s, asked to wait 1s", wait)
		}
	})
}

// An outage is probed and burns nobody's budget: every line is paid after it.
func TestAnOutageBurnsNoBudget(t *testing.T) {
	k := keyed(sandbox.Config{})
	k.down = 40 // far more than the budgets of its lines
	onBoth(t, k, func(w *world) {
		w.submit(40)
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 40})
	})
}

// A redirect is never followed and never an answer: a person has to look.
func TestARedirectSuspendsTheGate(t *testing.T) {
	onBoth(t, keyed(sandbox.Config{Faults: faults("302=1"), MaxFaultsPerLine: 1}), func(w *world) {
		w.submit(8)
		w.suspended("unexpected_redirect")
		w.work("", 0) // a new life without the suspension: as if released
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 8})
	})
}

// Configuration faults are no fault of the lines: they come back untouched.
func TestForbiddenSuspendsAndCostsNoLine(t *testing.T) {
	onBoth(t, keyed(sandbox.Config{Faults: faults("403=1"), MaxFaultsPerLine: 1}), func(w *world) {
		w.submit(8)
		w.suspended("")
		w.counts(map[payroll.State]int64{payroll.Pending: 8})
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 8})
	})
}

// suspended works until the batch says that its gate is suspended.
func (w *world) suspended(reason string) {
	w.Helper()
	soft, stop := w.until(func() bool { return w.token().State == store.Suspended })
	defer stop()
	w.liveUntil(soft, &life{w: w})
	t := w.token()
	if t.State != store.Suspended || t.HoldReason != "suspended" {
		w.Fatalf("the batch is %v, held by %q", t.State, t.HoldReason)
	}
	gates, err := w.store.Gates(w.Context())
	w.must(err)
	if len(gates) != 1 || gates[0].State != "suspended" || reason != "" && gates[0].Reason != reason {
		w.Fatalf("the gate was kept as %+v", gates)
	}
}

// The whole vendor says no: after one request halved down to nothing a person
// has to look, before the rest of the payroll is rejected too.
func TestEverythingRejectedSuspendsTheGate(t *testing.T) {
	k := kind{sandbox: sandbox.Config{Atomic: true, MaxAmount: "1.00"}, profile: allIn + "idempotency: {scope: line, retention: 1h}\n"}
	k.profile = "submit: {path: /v1/payroll/lines, timeout: 300ms, concurrency: 1, chunk: {min: 5, max: 10}, atomic: true}\nidempotency: {scope: line, retention: 1h}\n"
	onBoth(t, k, func(w *world) {
		w.submit(400)
		w.suspended("everything_rejected")
		if dead := w.token().Counts.Of(payroll.DeadLettered); dead >= 200 {
			t.Errorf("%d lines were rejected before anybody was asked", dead)
		}
	})
}
