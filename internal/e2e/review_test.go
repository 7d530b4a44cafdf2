package e2e

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/sandbox"
	"payrollgateway/internal/store"
)

// watched counts how often a life looked for open attempts.
type watched struct {
	batch.Store
	swept *atomic.Int64
}

func (s watched) OpenAttempts(ctx context.Context, batchID int64) ([]store.Attempt, error) {
	s.swept.Add(1)
	return s.Store.OpenAttempts(ctx, batchID)
}

// A worker is taken over while the vendor still works on its request, and its
// successor finds the attempt before the answer comes. The successor once
// closed it at once, the answer found nothing to be noted on, and at a vendor
// that cannot be asked paid people were parked.
func TestALateAnswerAfterTheSuccessorsSweep(t *testing.T) {
	onBoth(t, blindVendor, func(w *world) {
		w.submit(40)
		var swept atomic.Int64
		ended := make(chan struct{})
		first := &life{w: w, point: "before_results_commit", nth: 2}
		first.do = func() {
			go func() {
				defer close(ended)
				second := &life{w: w, wrap: func(s batch.Store) batch.Store { return watched{s, &swept} }}
				w.live(second)
			}()
			for swept.Load() < 5 {
				<-time.After(5 * time.Millisecond)
			}
		}
		w.live(first)
		<-ended
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 40})
	})
}

// The cut-off comes while a retry waits for its turn: nothing is sent past it.
func TestARetryThatWaitedPastItsCutOff(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.urgent(w.now().Add(time.Hour), "sandbox.503x1.a")
		l := &life{w: w}
		requests := 0
		l.waited = func() {
			if requests++; requests == 2 {
				w.shift.Store(int64(2 * time.Hour))
			}
		}
		w.live(l)
		w.judge()
		w.counts(map[payroll.State]int64{payroll.DeadLettered: 1})
		if n := w.requests(); n != 1 {
			t.Errorf("%d requests were sent, one of them after the cut-off", n)
		}
	})
}

// The vendor forgets the key while the resend of a line that may have been paid
// waits for its turn: it is not sent.
func TestAResendThatWaitedPastTheVendorsMemory(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.submit(0, "sandbox.500-after-commit.a")
		l := &life{w: w}
		requests := 0
		l.waited = func() {
			if requests++; requests == 2 {
				w.shift.Store(int64(2 * time.Hour))
			}
		}
		w.live(l)
		w.judge()
		if n := w.requests(); n != 1 {
			t.Errorf("%d requests were sent, one of them after the vendor forgot", n)
		}
		if w.reasons()[payroll.OutcomeUnknown] != 1 {
			t.Errorf("dead letters: %v", w.reasons())
		}
	})
}

func (w *world) requests() int {
	w.Helper()
	journal, err := sandbox.ReadJournal(w.journal)
	w.must(err)
	return len(journal.Requests)
}

// dueSoon does something once a line is due: before it is read, or, with stale,
// just after.
type dueSoon struct {
	batch.Store
	first func()
	stale bool
}

func (s dueSoon) Due(ctx context.Context, batchID int64, now time.Time, limit int) ([]store.Due, error) {
	due, err := s.Store.Due(ctx, batchID, now, limit)
	if err != nil || len(due) == 0 {
		return due, err
	}
	if s.first(); s.stale {
		return due, nil
	}
	return s.Store.Due(ctx, batchID, now, limit)
}

// A newer version comes while the older one's fate is unknown and its resend is
// planned: the older one is not sent again. It once was, whenever the newer
// version came between the plan and the resend.
func TestANewerVersionStopsThePlannedResend(t *testing.T) {
	k := slow
	k.profile = "submit: {path: /v1/payroll/lines, timeout: 500ms, concurrency: 4, chunk: {min: 5, max: 10}}\nidempotency: {scope: line, retention: 1h}\n"
	for _, stale := range []bool{false, true} {
		t.Run(fmt.Sprint("stale=", stale), func(t *testing.T) { newerStopsOlder(t, k, stale) })
	}
}

func newerStopsOlder(t *testing.T, k kind, stale bool) {
	onBoth(t, k, func(w *world) {
		w.submit(0, "sandbox.500.a")
		l := &life{w: w, wrap: func(s batch.Store) batch.Store {
			return dueSoon{s, sync.OnceFunc(func() { w.again(2, "sandbox.500.a") }), stale}
		}}
		soft, stop := w.until(func() bool { return len(w.letters()) > 0 })
		defer stop()
		w.liveUntil(soft, l)
		journal, err := sandbox.ReadJournal(w.journal)
		w.must(err)
		if len(journal.Requests) != 1 {
			t.Errorf("%d requests: the older version was sent again", len(journal.Requests))
		}
	})
}

// The live item misses its own cut-off; the item of a batch without one that
// follows it is sent in its place.
func TestACutOffHandsOverToAFollower(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.urgent(w.now().Add(time.Hour), "A", "B")
		w.again(1, "A", "B", "C")
		w.shift.Store(int64(2 * time.Hour))
		w.work("", 0)
		w.counts(map[payroll.State]int64{payroll.Settled: 3})
		w.paidOnce()
		if r := w.reasons(); len(r) != 0 {
			t.Errorf("letters of lines that were paid are open: %v", r)
		}
	})
}

// A line of a cancelled batch that was parked is attested as not paid: the item
// of another batch that follows it is sent in its place.
func TestAnAttestedLineOfACancelledBatchHandsOver(t *testing.T) {
	onBoth(t, blindVendor, func(w *world) {
		w.submit(0, "sandbox.timeout-before-commit.a")
		first := w.token().Batch.Key()
		w.live(&life{w: w, point: "before_write", nth: 1, do: func() {
			_, err := w.store.Cancel(w.Context(), tenant, first, "tester", w.now())
			w.must(err)
			w.again(1, "sandbox.timeout-before-commit.a")
		}})
		letters := w.letters()
		if len(letters) != 1 {
			t.Fatalf("%d letters", len(letters))
		}
		w.shift.Store(int64(time.Hour))
		_, err := w.desk().Replay(w.Context(), tenant, letters[0].ID, batch.ReplayOrder{Actor: "tester", AttestNotPaid: "seen"})
		w.must(err)
		w.work("", 0)
		w.counts(map[payroll.State]int64{payroll.Settled: 1})
		w.paidOnce()
	})
}

// paidOnce: the vendor paid nobody twice.
func (w *world) paidOnce() {
	w.Helper()
	journal, err := sandbox.ReadJournal(w.journal)
	w.must(err)
	paid := map[string]bool{}
	for _, e := range journal.Effects {
		if paid[e.Key] {
			w.Errorf("a line was paid twice")
		}
		paid[e.Key] = true
	}
}

// A correction that was given up while its older version's fate was unknown is
// replayed: it waits behind that version as it did before.
func TestAReplayedCorrectionStillWaits(t *testing.T) {
	onBoth(t, blindVendor, func(w *world) {
		w.submit(0, "sandbox.timeout-after-commit.a")
		w.work("", 0)
		w.groups++
		s := w.submission([]string{"sandbox.timeout-after-commit.a"}, 2)
		s.Batch.CutoffAt = w.now().Add(time.Hour)
		_, err := w.store.Accept(w.Context(), s)
		w.must(err)
		w.shift.Store(int64(2 * time.Hour))
		w.work("", 0)
		if r := w.reasons(); r[payroll.CutoffPassed] != 1 {
			t.Fatalf("letters: %v", r)
		}
		for _, l := range w.letters() {
			if l.Reason == payroll.CutoffPassed {
				_, err := w.desk().Replay(w.Context(), tenant, l.ID, batch.ReplayOrder{Actor: "tester", CutoffAt: w.now().Add(time.Hour)})
				w.must(err)
			}
		}
		w.mustWait()
	})
}

// mustWait: the newest batch has a line that waits for an older version, and
// nothing that may be sent.
func (w *world) mustWait() {
	w.Helper()
	b := w.token().Batch.ID
	due, err := w.store.Due(w.Context(), b, w.now().Add(time.Hour), 10)
	w.must(err)
	blocked, err := w.store.Blocked(w.Context(), b, 0, 10)
	w.must(err)
	if len(due) != 0 || len(blocked) != 1 {
		w.Errorf("%d lines may be sent, %d wait for an older version", len(due), len(blocked))
	}
}

// A correction that was dead at intake, beyond the vendor's limits, is replayed
// when they were raised. What it corrects was on its way then: it waits.
func TestAReplayedCorrectionOfALineUnderWayWaits(t *testing.T) {
	onBoth(t, slow, func(w *world) {
		w.submit(0, "A")
		w.groups++
		w.live(&life{w: w, point: "before_write", nth: 1, do: func() {
			s := w.submission([]string{"A"}, 2)
			rows := s.Rows
			s.Rows = func() iter.Seq2[store.Row, error] {
				return func(yield func(store.Row, error) bool) {
					for r, err := range rows() {
						r.Death = &payroll.Death{Reason: payroll.StatutoryCapBreach, Stage: payroll.StageIntake, Error: "beyond the limits"}
						yield(r, err)
					}
				}
			}
			_, err := w.store.Accept(w.Context(), s)
			w.must(err)
		}})
		letters := w.letters()
		if len(letters) != 1 {
			t.Fatalf("%d letters", len(letters))
		}
		_, err := w.desk().Replay(w.Context(), tenant, letters[0].ID, batch.ReplayOrder{Actor: "tester"})
		w.must(err)
		w.mustWait()
		w.work("", 0)
		if r := w.reasons(); r[payroll.CorrectionRefused] != 1 {
			t.Errorf("letters: %v", r)
		}
		w.judge()
	})
}

// One line of a request that must go out again whole may not be sent any more:
// none of the request's lines is.
func TestAChunkIsRepeatedWholeOrNotAtAll(t *testing.T) {
	k := kind{
		sandbox: sandbox.Config{KeyScope: "request", RememberMixed: true, NoLookUp: true},
		profile: "submit: {path: /v1/payroll/lines, timeout: 500ms, concurrency: 4, chunk: {min: 5, max: 10}}\n" +
			"idempotency: {scope: request, header: Idempotency-Key, retention: 1h, partial: true}\n",
	}
	onBoth(t, k, func(w *world) {
		w.submit(3, "sandbox.reset-after-commit.a")
		l := &life{w: w, wrap: func(s batch.Store) batch.Store {
			return dueSoon{s, sync.OnceFunc(func() { w.again(2, "sandbox.reset-after-commit.a") }), false}
		}}
		soft, stop := w.until(func() bool { return len(w.letters()) == 4 })
		defer stop()
		w.liveUntil(soft, l)
		if n := w.requests(); n != 1 {
			t.Errorf("%d requests", n)
		}
		if r := w.reasons(); r[payroll.OutcomeUnknown] != 4 {
			t.Errorf("letters: %v", r)
		}
		w.mustWait()
	})
}

// A payment that is submitted again at a vendor that stores its failures goes
// out under the next key, and not under one that can only fail again.
func TestASubmissionAgainTakesTheNextKey(t *testing.T) {
	k := kind{
		sandbox: sandbox.Config{Stores: "all"},
		profile: patient + "idempotency: {scope: line, retention: 1h, stores: all}\nlookup: standard\nlookup_lag: 50ms\n",
	}
	onBoth(t, k, func(w *world) {
		w.submit(0, "sandbox.503xall.a")
		w.work("", 0)
		w.again(1, "sandbox.503xall.a")
		w.work("", 0)
		journal, err := sandbox.ReadJournal(w.journal)
		w.must(err)
		seen := map[string]bool{}
		for _, r := range journal.Requests {
			for _, l := range r.Lines {
				if seen[l.Key] {
					t.Errorf("a key went out twice")
				}
				seen[l.Key] = true
			}
		}
		if len(seen) != 14 {
			t.Errorf("%d keys in two runs of seven sends", len(seen))
		}
	})
}
