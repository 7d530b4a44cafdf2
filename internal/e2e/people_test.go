package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/sandbox"
	"payrollgateway/internal/store"
)

// until gives a context that ends when the condition holds.
func (w *world) until(holds func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil && !holds() {
			<-ticker.C
		}
		cancel()
	}()
	return ctx, func() { cancel(); <-done }
}

// slow is a vendor that remembers keys and takes its time, within a timeout
// that a busy machine does not reach by itself.
var slow = kind{
	name: "slow", sandbox: sandbox.Config{Latency: 20 * time.Millisecond},
	profile: patient + "idempotency: {scope: line, retention: 1h}\n",
}

// cancelNow cancels the newest batch.
func (w *world) cancelNow() {
	w.Helper()
	_, err := w.store.Cancel(w.Context(), tenant, w.token().Batch.Key(), "tester", w.now())
	w.must(err)
}

// A cancelled batch stops: what was not sent is cancelled, what is in flight
// finishes, and nobody is both cancelled and paid.
func TestCancelInMidRun(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.submit(400, misfits...)
		w.live(&life{w: w, point: "after_answer", nth: 6, do: w.cancelNow})
		w.judge()
		c := w.token().Counts
		if c.Of(payroll.Cancelled) == 0 || c.Of(payroll.Settled) == 0 || w.token().State != store.CancelledBatch {
			t.Errorf("%v: %v", w.token().State, c)
		}
	})
}

// A drain finishes what is in flight and leaves nothing open; the rest goes on
// in the next life.
func TestDrainLeavesNothingInFlight(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.submit(200)
		soft, stop := context.WithCancel(w.Context())
		defer stop()
		w.liveUntil(soft, &life{w: w, point: "after_attempt_commit", nth: 5, do: stop})
		open, err := w.store.OpenAttempts(w.Context(), w.token().Batch.ID)
		w.must(err)
		c := w.token().Counts
		if len(open) != 0 || c.Of(payroll.InFlight) != 0 || c.Of(payroll.Unknown) != 0 || c.Of(payroll.Pending) == 0 {
			t.Errorf("after the drain %d attempts are open, %v", len(open), c)
		}
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 200})
	})
}

// again submits the newest employees once more, in a new pay run.
func (w *world) again(version int32, employees ...string) {
	w.Helper()
	w.groups++
	_, err := w.store.Accept(w.Context(), w.submission(employees, version))
	w.must(err)
}

// The same payments in another batch are paid once, whichever comes first.
func TestOverlappingBatchesPayOnce(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.submit(0, "A", "B", "C")
		w.again(1, "A", "B", "D")
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 3})
		if a := w.token().Amounts["USD"]; a.Earlier != 200_01 || a.Settled != 300_03 {
			t.Errorf("amounts %+v", a)
		}
	})
}

// A newer version that arrives while the older one is on the wire waits for its
// fate, and is refused by a vendor that takes no corrections. The older one is
// not sent again once the newer exists: it is looked up.
func TestANewerVersionWaitsForTheOlderOne(t *testing.T) {
	asked := slow
	asked.profile = submit + "idempotency: {scope: line, retention: 1h}\nlookup: standard\nlookup_lag: 50ms\n"
	onBoth(t, asked, func(w *world) {
		w.submit(0, "A", "sandbox.timeout-after-commit.b")
		w.live(&life{w: w, point: "before_write", nth: 1, do: func() { w.again(2, "A", "sandbox.timeout-after-commit.b") }})
		w.judge()
		w.counts(map[payroll.State]int64{payroll.DeadLettered: 2})
		if r := w.reasons(); r[payroll.CorrectionRefused] != 2 {
			t.Errorf("dead letters: %v", r)
		}
	})
}

// A newer version of a line that was never sent takes its place.
func TestANewerVersionReplacesAnUnsentOne(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.submit(0, "A", "B")
		w.again(2, "A", "B")
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 2})
	})
}

// Nothing is sent past the cut-off: what was not sent by then is given up, what
// was on the wire is resolved.
func TestCutOff(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.groups++
		var employees []string
		for i := range 700 {
			employees = append(employees, fmt.Sprintf("E-%d", i))
		}
		s := w.submission(append(employees, misfits...), 1)
		s.Batch.CutoffAt = w.now().Add(30 * time.Minute)
		_, err := w.store.Accept(w.Context(), s)
		w.must(err)
		sent := 0
		w.live(&life{w: w, point: "after_answer", nth: 6, do: func() {
			w.shift.Store(int64(time.Hour))
			journal, err := sandbox.ReadJournal(w.journal)
			w.must(err)
			sent = len(journal.Requests)
		}})
		w.judge()
		c := w.token().Counts
		if c.Of(payroll.Settled) == 0 || w.reasons()[payroll.CutoffPassed] == 0 || c.Of(payroll.Settled)+c.Of(payroll.DeadLettered) != int64(s.Batch.Total) {
			t.Errorf("%v, %v", c, w.reasons())
		}
		journal, err := sandbox.ReadJournal(w.journal)
		w.must(err)
		if late := len(journal.Requests) - sent; late > w.profile.Submit.Concurrency {
			t.Errorf("%d requests were sent after the cut-off", late)
		}
	})
}

// letters are the open dead letters of the tenant.
func (w *world) letters() []store.Letter {
	w.Helper()
	letters, _, err := w.store.Letters(w.Context(), store.LetterFilter{Tenant: tenant, Status: store.LetterOpen}, store.Page{Limit: 1000})
	w.must(err)
	return letters
}

func (w *world) desk() *batch.Letters {
	return &batch.Letters{
		Store: w.store, Now: w.now, Wake: func(payroll.Unit) {},
		Terms: func(string) (batch.Terms, bool) {
			return batch.Terms{Policy: w.profile.Policy(), Cap: w.profile.Limits}, true
		},
	}
}

// A rejected line is replayed after its cause was mended at the vendor: same
// key, budgets reset, paid once.
func TestReplayAfterTheCauseIsMended(t *testing.T) {
	onBoth(t, keyed(sandbox.Config{}), func(w *world) {
		w.submit(3, "sandbox.422x1.a")
		w.work("", 0)
		letters := w.letters()
		if len(letters) != 1 {
			t.Fatalf("%d dead letters", len(letters))
		}
		_, err := w.desk().Replay(w.Context(), tenant, letters[0].ID, batch.ReplayOrder{Actor: "tester", RootCause: "mended"})
		w.must(err)
		w.work("", 0)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 4})
		again, err := w.desk().Replay(w.Context(), tenant, letters[0].ID, batch.ReplayOrder{Actor: "tester"})
		w.must(err)
		if again != batch.ReplaySettled {
			t.Errorf("a replay of a settled line did %d", again)
		}
	})
}

// A line that may have been paid goes out again only when a person attests that
// it was not, and not before every request of it is quiet.
func TestAParkedLineNeedsAPersonsWord(t *testing.T) {
	blind := kind{sandbox: sandbox.Config{Keys: "ignore", NoLookUp: true}, profile: submit + "idempotency: {scope: none}\n"}
	onBoth(t, blind, func(w *world) {
		w.submit(0, "sandbox.timeout-before-commit.a", "sandbox.timeout-before-commit.b")
		w.work("", 0)
		w.judge()
		letters := w.letters()
		if len(letters) != 2 || letters[0].Reason != payroll.OutcomeUnknown {
			t.Fatalf("dead letters: %+v", w.reasons())
		}
		_, err := w.desk().Replay(w.Context(), tenant, letters[0].ID, batch.ReplayOrder{Actor: "tester"})
		if err != batch.ErrAttestationRequired { //nolint:errorlint // the sentinel itself is the contract
			t.Errorf("a replay without a word: %v", err)
		}
		_, err = w.desk().Replay(w.Context(), tenant, letters[0].ID, batch.ReplayOrder{Actor: "tester", AttestNotPaid: "statement of 16 July"})
		w.must(err)
		w.work("", 0)
		w.judge()
	})
}
