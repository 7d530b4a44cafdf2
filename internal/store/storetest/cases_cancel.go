package storetest

import (
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func cancelCases() []testcase {
	return []testcase{
		{"a cancel of an untouched batch", "a cancelled run is paid", cancelUntouched},
		{"a cancel spares what may have been paid", "a paid person is shown as cancelled", cancelMixed},
		{"a cancel twice changes nothing", "a repeated cancel stops a plan for nothing", cancelTwice},
		{"a line in flight that comes back is cancelled", "a cancelled line is paid later, or hangs", cancelComesBack},
		{"an ambiguous line is resolved after a cancel", "a cancel hides a payment", cancelThenResolved},
		{"a cancel takes blocked lines", "a cancelled correction goes out when its turn comes", cancelBlocked},
		{"a cancel takes followers on both sides of the plan", "a follower of a cancelled batch is sent", cancelFollowers},
		{"a cancel leaves dead letters as they are", "a dead letter vanishes with a cancel", cancelDead},
		{"a replay in a cancelled batch ends cancelled", "a replayed line of a cancelled run is paid, or hangs", cancelThenReplay},
		{"a cancel of the unplanned rest only", "lines before the cut are cancelled twice or not at all", cancelRest},
	}
}

func cancelUntouched(f *fixture) {
	b := f.submit(crew("staff", 5)...)
	before := b.token()
	t := b.cancel()
	b.stands(payroll.Cancelled)
	same(f, "state", t.State, store.CancelledBatch)
	same(f, "completed at", t.CompletedAt.Equal(f.now), true)
	if t.ChangeSeq <= before.ChangeSeq {
		f.Fatalf("change_seq did not rise")
	}
	same(f, "units to work on", len(f.claimable(10)), 0)
	same(f, "state of a line by its key", f.liveLine(b.lineKey(3)).State, payroll.Cancelled)
}

func cancelMixed(f *fixture) {
	b := f.submit(crew("staff", 10)...)
	w := f.claim()
	w.openFresh(b, 5).answer(paid, refused, lost, rejected, returned)
	f.after(time.Hour)
	w.openFresh(b, 2)
	w.resend(b, 2)
	w.openFresh(b, 1).answer(refused)
	t := b.cancel()
	b.stands(payroll.Settled, payroll.InFlight, payroll.Unknown, payroll.DeadLettered, payroll.Cancelled,
		payroll.InFlight, payroll.InFlight, payroll.Cancelled, payroll.Cancelled, payroll.Cancelled)
	same(f, "complete", t.Complete(), false)
	same(f, "cancelled from", t.CancelledFrom, 9)
	want := b.token()
	want.Amounts, t.Amounts = nil, nil
	f.mustEqual("the token that the cancel returns", t, want)
}

func cancelTwice(f *fixture) {
	b := f.submit(crew("staff", 4)...)
	f.claim().openFresh(b, 2).answer(lost, refused)
	first := b.cancel()
	f.after(time.Minute)
	f.unchanged("a second cancel", func() { same(f, "version", b.cancel().Version, first.Version) })
}

func cancelComesBack(f *fixture) {
	b := f.submit(crew("staff", 4)...)
	w := f.claim()
	a := w.openFresh(b, 4)
	b.cancel()
	b.stands(payroll.InFlight)
	applied := a.answer(paid, refused, returned, rejected)
	b.stands(payroll.Settled, payroll.Cancelled, payroll.Cancelled, payroll.DeadLettered)
	same(f, "state", applied.Token.State, store.CancelledBatch)
	same(f, "complete", applied.Token.Complete(), true)
}

func cancelThenResolved(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	w := f.claim()
	w.openFresh(b, 2).answer(lost)
	b.cancel()
	b.stands(payroll.Unknown, payroll.Unknown, payroll.Cancelled)
	f.after(time.Hour)
	w.resend(b, 1, 2).answer(paid, paid)
	b.stands(payroll.Settled, payroll.Settled, payroll.Cancelled)
	same(f, "state", b.token().State, store.CancelledBatch)
}

func cancelBlocked(f *fixture) {
	old := f.submit(pay("ann"))
	f.claim().openFresh(old, 1)
	newer := f.overtakes()
	newer.cancel()
	newer.stands(payroll.Cancelled)
	same(f, "lines that wait", len(newer.blocked()), 0)
	same(f, "state", newer.token().State, store.CancelledBatch)
}

func cancelFollowers(f *fixture) {
	live := f.submit(pay("bob"), pay("dee"))
	b := f.submit(pay("ann"), pay("bob"), pay("cho"), pay("dee"))
	w := f.claim()
	w.openFresh(b, 2).answer(paid, refused)
	same(f, "next ordinal", b.token().NextOrdinal, 4)
	b.cancel()
	b.stands(payroll.Settled, payroll.Cancelled, payroll.Cancelled, payroll.Cancelled)
	same(f, "state", b.token().State, store.CancelledBatch)
	w.finish(live)
	f.unchanged("mirroring a cancelled batch", func() { same(f, "changed", w.mirror(b), 0) })
}

func cancelDead(f *fixture) {
	b := f.submit(pay("ann"), pay("bob"), poison("x"), pay("cho").capped())
	w := f.claim()
	w.openFresh(b, 1).answer(rejected)
	b.cancel()
	b.stands(payroll.DeadLettered, payroll.Cancelled, payroll.DeadLettered)
	for _, o := range []int32{1, 3, 4} {
		same(f, "letter", b.letter(o).Status, store.LetterOpen)
	}
}

func cancelThenReplay(f *fixture) {
	b := f.submit(crew("staff", 2)...)
	w := f.claim()
	w.openFresh(b, 1).answer(rejected)
	b.cancel()
	same(f, "complete", b.token().Complete(), true)
	b.amend("replay", func(s payroll.Standing) payroll.Change {
		same(f, "known to be cancelled", s.Cancelled, true)
		return payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Withdrawn}
	}, 1)
	b.stands(payroll.Cancelled)
	same(f, "state", b.token().State, store.CancelledBatch)
}

func cancelRest(f *fixture) {
	b := f.submit(crew("staff", 6)...)
	w := f.claim()
	w.openFresh(b, 4).answer(paid)
	t := b.cancel()
	same(f, "cancelled from", t.CancelledFrom, 5)
	same(f, "state", t.State, store.CancelledBatch)
	b.stands(payroll.Settled, payroll.Settled, payroll.Settled, payroll.Settled, payroll.Cancelled)
}
