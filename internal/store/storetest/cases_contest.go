package storetest

import (
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func contestCases() []testcase {
	return []testcase{
		{"the same key with other content is refused", "a person is paid twice, with two amounts", clashOfContent},
		{"the same key at another vendor is refused", "a person is paid once by each vendor", clashOfVendor},
		{"what an earlier batch paid is settled", "a person is paid once by each batch", paidByEarlier},
		{"a cancelled line is taken up by the next batch", "HR cancels a run, sends it again, and nobody is paid", retakeCancelled},
		{"a cancelled line is taken up at another vendor", "a cancelled run cannot be moved to another vendor", retakeElsewhere},
		{"a dead letter is taken up by the next batch", "a corrected run leaves a dead letter and an unpaid person", retakeDead},
		{"a dead letter that may have been paid is followed", "a person is paid a second time behind outcome_unknown", followParked},
		{"a closed dead letter is not taken up", "a person paid by cheque is paid again", closedStays},
		{"an item that lost its key does not come back", "a replay of the old item pays beside the new one", lostKeyStays},
		{"an open line is followed", "two batches send the same payment", followOpen},
		{"of many batches with a key one is live", "one payment is sent once by each batch", manyBatchesOneLive},
		{"a retake while followers wait", "a follower is sent beside the new live item, or waits for ever", retakeWithFollower},
	}
}

func clashOfContent(f *fixture) {
	first := f.submit(pay("ann"), pay("bob"))
	second := f.submit(pay("cho"), pay("ann").amount(77))
	same(f, "duplicates", second.receipt.Duplicates, 1)
	same(f, "rejected", second.token().Rejected, 1)
	l := second.letter(2)
	same(f, "reason", l.Reason, payroll.DuplicateNaturalKey)
	same(f, "stage", l.Stage, payroll.StageIntake)
	same(f, "employee", l.EmployeeID, "ann")
	same(f, "amount", l.Amount, 77)
	same(f, "line key", l.LineKey, first.lineKey(1))
	first.stands(payroll.Pending)
	second.stands(payroll.Pending)

	f.claim().finish(first)
	third := f.submit(pay("ann").amount(78))
	same(f, "duplicates of a paid line", third.receipt.Duplicates, 1)
	same(f, "state", third.token().State, store.Completed)
}

func clashOfVendor(f *fixture) {
	f.submit(pay("ann"))
	elsewhere := f.elsewhere()
	b := elsewhere.submit(pay("ann"), pay("bob"))
	same(f, "duplicates", b.receipt.Duplicates, 1)
	same(f, "reason", b.letter(1).Reason, payroll.DuplicateNaturalKey)
}

func paidByEarlier(f *fixture) {
	first := f.submit(pay("ann"), pay("bob"))
	f.claim().openFresh(first, 1).answer(paid)
	second := f.submit(pay("ann"), pay("cho"))
	second.stands(payroll.Settled, payroll.Pending)
	v := second.line(1)
	same(f, "settled as", v.SettledAs, payroll.EarlierBatch)
	a := second.token().Amounts["USD"]
	same(f, "earlier", a.Earlier, v.Line.Amount)
	same(f, "settled", a.Settled, v.Line.Amount)
	same(f, "the live line's batch", f.liveLine(first.lineKey(1)).BatchKey, first.key())
}

// liveLine is the live line of a key.
func (f *fixture) liveLine(key string) store.LineView {
	f.Helper()
	return read[store.LineView](f)(f.store.Line(f.Context(), f.unit.Tenant, key))
}

func retakeCancelled(f *fixture) {
	first := f.submit(pay("ann"), pay("bob"))
	first.cancel()
	second := f.submit(pay("ann"), pay("bob"))
	second.stands(payroll.Pending)
	first.stands(payroll.Cancelled)
	same(f, "the cancelled batch", first.token().State, store.CancelledBatch)
	same(f, "the live line's batch", f.liveLine(first.lineKey(1)).BatchKey, second.key())
	f.claim().finish(second)
	second.stands(payroll.Settled)
	first.stands(payroll.Cancelled)
}

func retakeElsewhere(f *fixture) {
	f.submit(pay("ann")).cancel()
	elsewhere := f.elsewhere()
	b := elsewhere.submit(pay("ann"))
	b.stands(payroll.Pending)
	elsewhere.claim().finish(b)
	b.stands(payroll.Settled)
	same(f, "at the first vendor again", f.submit(pay("ann")).receipt.Duplicates, 1)
}

func retakeDead(f *fixture) {
	first := f.submit(pay("ann"), pay("bob"))
	w := f.claim()
	w.openFresh(first, 2).answer(rejected, paid)
	f.after(60e9)
	second := f.submit(pay("ann"), pay("bob"))
	second.stands(payroll.Pending, payroll.Settled)
	same(f, "what is remembered", second.line(1).Trouble == nil, true)

	first.stands(payroll.DeadLettered, payroll.Settled)
	same(f, "the first batch", first.token().State, store.Completed)
	l := first.letter(1)
	same(f, "status", l.Status, store.LetterClosed)
	same(f, "closed as", l.ClosedAs, string(payroll.Resubmitted))
	same(f, "closed at", l.ClosedAt.Equal(f.now), true)
	w.finish(second)
	first.stands(payroll.DeadLettered, payroll.Settled)
}

func followParked(f *fixture) {
	first := f.submit(pay("ann"))
	w := f.claim()
	w.park(first, 1)
	second := f.submit(pay("ann"))
	same(f, "fresh lines", len(second.fresh(10)), 0)
	w.mirror(second)
	second.stands(payroll.DeadLettered)
	same(f, "dead letters of the follower", len(second.letters()), 0)
	same(f, "the live item's letter", first.letter(1).Status, store.LetterOpen)
}

// park loses the answer about a fresh line and gives the line to a person.
func (w *worker) park(b *batch, n int) {
	w.f.Helper()
	a := w.openFresh(b, n)
	a.answer(lost)
	w.decide(b, givenUp(payroll.OutcomeUnknown, payroll.StageResolve), a.o.Attempt.Ordinals...)
}

func closedStays(f *fixture) {
	first := f.submit(pay("ann"), pay("bob"))
	w := f.claim()
	w.openFresh(first, 2).answer(rejected)
	first.amend("close", closing(payroll.PaidOutside), 1)
	first.amend("close", closing(payroll.WrittenOff), 2)
	second := f.submit(pay("ann"), pay("bob"))
	same(f, "lines to be sent", second.sendable(), 0)
	w.mirror(second)
	second.stands(payroll.DeadLettered)
	same(f, "how it was closed", first.letter(2).ClosedAs, string(payroll.WrittenOff))
	same(f, "what is left to do", second.token().Complete(), true)
}

func lostKeyStays(f *fixture) {
	first := f.submit(pay("ann"))
	w := f.claim()
	w.openFresh(first, 1).answer(rejected)
	second := f.submit(pay("ann"))
	f.unchanged("a replay of the item that lost its key", func() {
		if _, err := f.store.Amend(f.Context(), first.amendment("replay", backToWork(f.now), 1)); err == nil {
			f.Fatalf("an item without its key went back to work")
		}
	})
	same(f, "lines to be sent", first.sendable()+second.sendable(), 1)
}

func followOpen(f *fixture) {
	first := f.submit(crew("staff", 4)...)
	w := f.claim()
	w.openFresh(first, 3).answer(refused, lost, paid)
	w.openFresh(first, 1)
	second := f.submit(crew("staff", 5)...)
	second.stands(payroll.Pending, payroll.Pending, payroll.Settled, payroll.Pending, payroll.Pending)
	f.mustEqual("fresh lines", second.fresh(10), []payroll.Line{asRequested(*second.item(5).Line)})
	same(f, "due lines", len(second.due()), 0)
	same(f, "the live line's state", f.liveLine(first.lineKey(2)).State, payroll.Unknown)
}

func manyBatchesOneLive(f *fixture) {
	all := []*batch{f.submit(pay("ann")), f.submit(pay("ann"), pay("bob")), f.submit(pay("bob"), pay("ann")), f.submit(pay("bob"))}
	same(f, "fresh lines of the third", len(all[2].fresh(10)), 0)
	w := f.claim()
	for _, b := range all {
		w.finish(b)
	}
	for _, b := range all {
		w.mirror(b)
		b.stands(payroll.Settled)
		same(f, "state", b.token().State, store.Completed)
	}
}

func retakeWithFollower(f *fixture) {
	first, follower := f.submit(pay("ann")), f.submit(pay("ann"))
	first.cancel()
	third := f.submit(pay("ann"))
	w := f.claim()
	for _, b := range []*batch{follower, third} {
		w.mirror(b)
		w.finish(b)
	}
	for _, b := range []*batch{follower, third} {
		w.mirror(b)
		b.stands(payroll.Settled)
	}
}
