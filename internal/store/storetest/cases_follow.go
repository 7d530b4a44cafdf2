package storetest

import (
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func followerCases() []testcase {
	return []testcase{
		{"followers take a payment", "a batch whose lines others pay never ends", followPaid},
		{"followers take a rejection", "a batch whose lines others lost never ends, or the letter shows twice", followRejected},
		{"followers take a supersession", "an old version in a second batch is sent after all", followSuperseded},
		{"followers wait while the live item is open", "a follower ends before its payment is known", followNothingYet},
		{"a replayed live item takes its followers back to work", "a batch says complete while a payment of it is on its way", followReplay},
		{"a follower in a cancelled batch does not come back", "a cancelled batch is never complete again, or pays", followReplayCancelled},
		{"a follower is not replayed by itself", "a payment is sent by an item that does not hold its key", followNotReplayed},
		{"followers take a second end too", "a follower stays dead though the person was paid", followAgain},
		{"an attested payment reaches its followers", "a follower stays dead though the person was paid", followAttested},
		{"a follower's batch comes back under its unit's epoch", "the owner is fenced from the batch for ever", followerBatchEpoch},
	}
}

func mirrorCases() []testcase {
	return []testcase{
		{"a cancel promotes the oldest follower", "a cancel of one batch silently takes the payment from another", promoteOldest},
		{"a later follower is not promoted past the oldest", "two followers are sent", promoteInOrder},
		{"a cancelled follower is not promoted", "a cancelled payment is sent", promoteSkipsCancelled},
		{"a follower of a batch that had completed is promoted", "a payment is lost between a replay and a cancel", promoteCompleted},
		{"a line cancelled after it came back promotes too", "a cancel that waits for an answer loses the follower", promoteAfterWithdrawal},
		{"a promoted line is sent like any other", "a promoted follower is never sent", promotedIsSent},
		{"a follower is not promoted past a newer version", "the old version is paid beside the new one", promoteSuperseded},
		{"a promoted line waits where the cancelled one waited", "a correction is paid while the old version may be", promoteBlocked},
		{"mirroring is bounded and can be repeated", "one poll locks a huge batch", mirrorLimit},
	}
}

// twins are two batches with the same two lines; the second one follows.
func (f *fixture) twins() (live, follower *batch) {
	f.Helper()
	return f.submit(pay("ann"), pay("bob")), f.submit(pay("ann"), pay("bob"))
}

func followPaid(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	w.openFresh(live, 2).answer(paid)
	same(f, "changed", w.mirror(follower), 2)
	follower.stands(payroll.Settled)
	same(f, "settled as", follower.line(1).SettledAs, payroll.EarlierBatch)
	same(f, "state", follower.token().State, store.Completed)
	same(f, "completed at", follower.token().CompletedAt.Equal(f.now), true)
	same(f, "changed again", w.mirror(follower), 0)
}

func followRejected(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	w.openFresh(live, 2).answer(rejected, paid)
	w.mirror(follower)
	follower.stands(payroll.DeadLettered, payroll.Settled)
	same(f, "reason", follower.line(1).Reason, payroll.VendorRejected)
	same(f, "letters of the live item", len(live.letters()), 1)
	same(f, "letters of the follower", len(follower.letters()), 0)
}

func followSuperseded(f *fixture) {
	_, follower := f.twins()
	w := f.claim()
	f.submit(pay("ann").version(2))
	w.mirror(follower)
	follower.stands(payroll.Superseded, payroll.Pending)
}

func followNothingYet(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	w.openFresh(live, 2).answer(lost, refused)
	f.unchanged("mirroring open lines", func() { same(f, "changed", w.mirror(follower), 0) })
}

func followReplay(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	w.openFresh(live, 2).answer(rejected, paid)
	w.mirror(follower)
	before := follower.token()
	live.replay(1)
	follower.stands(payroll.Pending, payroll.Settled)
	after := follower.token()
	same(f, "complete", after.Complete(), false)
	same(f, "last cursor", after.LastCursor, 0)
	if after.ChangeSeq <= before.ChangeSeq {
		f.Fatalf("change_seq is %d, was %d", after.ChangeSeq, before.ChangeSeq)
	}
}

func followReplayCancelled(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	w.openFresh(live, 1).answer(rejected)
	w.mirror(follower)
	follower.stands(payroll.DeadLettered, payroll.Pending)
	follower.cancel()
	live.replay(1)
	same(f, "complete", follower.token().Complete(), true)
	w.finish(live)
	w.mirror(follower)
	same(f, "state", follower.token().State, store.CancelledBatch)
	same(f, "paid by the follower's batch", follower.token().Amounts["USD"].Earlier, follower.token().Amounts["USD"].Settled)
}

func followNotReplayed(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	w.openFresh(live, 2).answer(rejected)
	w.mirror(follower)
	f.unchanged("a replay of a follower", func() {
		if _, err := f.store.Amend(f.Context(), follower.amendment("replay", backToWork(f.now), 1)); err == nil {
			f.Fatalf("a follower went back to work by itself")
		}
	})
}

func followAgain(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	w.openFresh(live, 2).answer(rejected, paid)
	w.mirror(follower)
	live.replay(1)
	w.resend(live, 1).answer(paid)
	w.mirror(follower)
	follower.stands(payroll.Settled)
	same(f, "state", follower.token().State, store.Completed)
}

func followAttested(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	w.park(live, 2)
	w.mirror(follower)
	follower.stands(payroll.DeadLettered)
	live.amend("attest_paid", attestPaid, 1, 2)
	live.stands(payroll.Settled)
	w.mirror(follower)
	follower.stands(payroll.Settled)
}

func followerBatchEpoch(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	w.openFresh(live, 2).answer(rejected, paid)
	w.mirror(follower)
	w = f.claim()
	live.replay(1)
	same(f, "epoch of the live item's batch", live.token().Epoch, w.tenure.Epoch)
	same(f, "epoch of the follower's batch", follower.token().Epoch, w.tenure.Epoch)
}

func promoteOldest(f *fixture) {
	live, older := f.twins()
	younger := f.submit(pay("ann"), pay("bob"))
	w := f.claim()
	live.cancel()
	same(f, "promoted", w.mirror(older), 2)
	older.stands(payroll.Pending)
	same(f, "lines to be sent", older.sendable(), 2)
	w.mirror(younger)
	same(f, "lines of the younger to be sent", younger.sendable(), 0)
	w.finish(older)
	w.mirror(younger)
	younger.stands(payroll.Settled)
	live.stands(payroll.Cancelled)
}

func promoteInOrder(f *fixture) {
	live, older := f.twins()
	younger := f.submit(pay("ann"), pay("bob"))
	w := f.claim()
	live.cancel()
	w.mirror(younger)
	younger.stands(payroll.Pending)
	w.mirror(older)
	w.mirror(younger)
	w.finish(younger)
	younger.stands(payroll.Pending)
	w.finish(older)
	w.mirror(younger)
	younger.stands(payroll.Settled)
	older.stands(payroll.Settled)
}

func promoteSkipsCancelled(f *fixture) {
	live, older := f.twins()
	younger := f.submit(pay("ann"), pay("bob"))
	w := f.claim()
	older.cancel()
	live.cancel()
	w.mirror(younger)
	older.stands(payroll.Cancelled)
	w.finish(younger)
	younger.stands(payroll.Settled)
}

func promoteCompleted(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	w.openFresh(live, 2).answer(rejected)
	w.mirror(follower)
	same(f, "complete", follower.token().Complete(), true)
	live.replay(1, 2)
	live.cancel()
	live.stands(payroll.Cancelled)
	w.mirror(follower)
	w.finish(follower)
	follower.stands(payroll.Settled)
	same(f, "state", follower.token().State, store.Completed)
}

func promoteAfterWithdrawal(f *fixture) {
	live, follower := f.twins()
	w := f.claim()
	a := w.openFresh(live, 2)
	live.cancel()
	w.mirror(follower)
	follower.stands(payroll.Pending)
	same(f, "lines to be sent while the live item is in flight", follower.sendable(), 0)
	a.answer(refused, paid)
	live.stands(payroll.Cancelled, payroll.Settled)
	w.mirror(follower)
	w.finish(follower)
	follower.stands(payroll.Settled)
}

func promotedIsSent(f *fixture) {
	live := f.submit(pay("bob"))
	follower := f.submit(pay("ann"), pay("bob"), pay("cho"))
	w := f.claim()
	w.openFresh(follower, 2).answer(paid) // ann and cho: the follower between them is passed over
	same(f, "next ordinal", follower.token().NextOrdinal, 4)
	live.cancel()
	w.mirror(follower)
	w.finish(follower)
	follower.stands(payroll.Settled)
	same(f, "settled as", follower.line(2).SettledAs, payroll.Created)
	same(f, "state", follower.token().State, store.Completed)
}

func promoteSuperseded(f *fixture) {
	live, follower := f.submit(pay("ann")), f.submit(pay("ann"))
	live.cancel()
	newer := f.overtakes()
	w := f.claim()
	w.mirror(follower)
	follower.stands(payroll.Superseded)
	w.finish(newer)
	newer.stands(payroll.Settled)
}

func promoteBlocked(f *fixture) {
	old := f.submit(pay("ann"))
	w := f.claim()
	w.openFresh(old, 1)
	live, follower := f.overtakes(), f.overtakes()
	live.cancel()
	w.mirror(follower)
	follower.waitsBehind(old.ref(1), payroll.InFlight)
}

func mirrorLimit(f *fixture) {
	live, follower := f.submit(crew("staff", 5)...), f.submit(crew("staff", 5)...)
	w := f.claim()
	w.finish(live)
	for _, want := range []int{2, 2, 1, 0} {
		n := read[int](f)(f.store.Mirror(f.Context(), follower.id, w.tenure.Epoch, f.now, 2))
		same(f, "changed", n, want)
		f.mustAddUp()
	}
	follower.stands(payroll.Settled)
}
