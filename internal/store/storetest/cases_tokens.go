package storetest

import (
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func tokenCases() []testcase {
	return []testcase{
		{"a claim raises the epochs of unfinished batches", "a paused owner goes on writing after a take-over", claimRaises},
		{"a live owner holds its unit", "two workers send the same lines", claimHeld},
		{"a silent owner loses its unit", "nobody takes a crashed worker's period over", claimAfterSilence},
		{"force takes a unit whose owner is known to be gone", "a resume has to wait for a time-out", claimForced},
		{"a heartbeat keeps the unit, and fails after a take-over", "a paused owner believes that it still owns", heartbeats},
		{"a release gives a unit back at once, but only one's own", "a slow release takes the unit from its next owner", releases},
		{"units that nobody works on, most urgent first", "a cut-off passes while a later period is paid", claimables},
		{"the tenure's unfinished batches", "a batch of the period is never worked on", tenureWork},
		{"the lowest pending line below the plan", "the cursor passes a line that is not done", tenureLowest},
		{"what a batch waits for", "a status page cannot say why nothing moves", statesAndHolds},
		{"a claim sees open attempts first now", "an absent look-up counts while the old owner's request is on its way", claimSettles},
		{"periods and vendors are units of their own", "a take-over fences workers of another period", unitsApart},
	}
}

func claimRaises(f *fixture) {
	done, open := f.submit(pay("ann")), f.submit(pay("bob"), pay("cho"))
	w := f.claim()
	w.finish(done)
	first := w.tenure.Epoch
	next := f.claim()
	if next.tenure.Epoch <= first {
		f.Fatalf("epoch %d after %d", next.tenure.Epoch, first)
	}
	same(f, "epoch of the open batch", open.token().Epoch, next.tenure.Epoch)
	same(f, "owner of the open batch", open.token().Owner, next.tenure.Owner)
	same(f, "unit", next.tenure.Unit, f.unit)
	later := f.submit(pay("dee"))
	same(f, "epoch of a later batch", later.token().Epoch, next.tenure.Epoch)
}

func claimHeld(f *fixture) {
	f.submit(pay("ann"))
	c := f.claiming()
	w, err := f.tryClaim(c)
	f.must(err)
	f.after(lockTTL - time.Second)
	f.unchanged("a claim of a held unit", func() {
		_, err = f.tryClaim(f.claiming())
		held := mustAs[*store.HeldError](f, err)
		same(f, "held by", held.Owner, w.tenure.Owner)
		same(f, "heartbeat", held.HeartbeatAt.Equal(c.Now), true)
	})
}

func claimAfterSilence(f *fixture) {
	f.submit(pay("ann"))
	_, err := f.tryClaim(f.claiming())
	f.must(err)
	f.after(lockTTL + time.Second)
	_, err = f.tryClaim(f.claiming())
	f.must(err)
}

func claimForced(f *fixture) {
	b := f.submit(pay("ann"))
	_, err := f.tryClaim(f.claiming())
	f.must(err)
	c := f.claiming()
	c.Force = true
	w, err := f.tryClaim(c)
	f.must(err)
	same(f, "owner", b.token().Owner, w.tenure.Owner)
}

func heartbeats(f *fixture) {
	b := f.submit(pay("ann"))
	w := f.claim()
	for range 3 {
		f.after(lockTTL - time.Second)
		f.must(f.store.Heartbeat(f.Context(), w.tenure, f.now))
		same(f, "heartbeat", b.token().HeartbeatAt.Equal(f.now), true)
		f.mustBeHeld()
	}
	f.claim()
	f.unchanged("a stale heartbeat", func() {
		f.mustBe(f.store.Heartbeat(f.Context(), w.tenure, f.now), store.ErrFenced)
	})
}

func releases(f *fixture) {
	b := f.submit(pay("ann"))
	first := f.claim()
	f.must(f.store.Release(f.Context(), first.tenure))
	second, err := f.tryClaim(f.claiming())
	f.must(err)
	f.unchanged("a stale release", func() { f.must(f.store.Release(f.Context(), first.tenure)) })
	same(f, "owner", b.token().Owner, second.tenure.Owner)
	f.mustBeHeld()
}

// mustBeHeld fails unless the unit has a live owner.
func (f *fixture) mustBeHeld() {
	f.Helper()
	_, err := f.tryClaim(f.claiming())
	same(f, "held", mustAs[*store.HeldError](f, err).Owner != "", true)
}

func (f *fixture) claimable(limit int) []store.Claimable {
	f.Helper()
	return read[[]store.Claimable](f)(f.store.Claimable(f.Context(), f.now, lockTTL, limit))
}

func claimables(f *fixture) {
	units := []payroll.Unit{{Tenant: "acme", PayPeriod: "a"}, {Tenant: "acme", PayPeriod: "b"}, {Tenant: "bolt", PayPeriod: "a"}, {Tenant: "bolt", PayPeriod: "c"}, {Tenant: "coop", PayPeriod: "a"}}
	cutoffs := []time.Duration{0, 48 * time.Hour, 24 * time.Hour, 0, 0}
	for i := range units {
		units[i].Vendor = "paywell"
		at := f.at(units[i])
		d := at.draft(pay("ann"))
		if cutoffs[i] > 0 {
			d.batch.CutoffAt = f.now.Add(cutoffs[i])
		}
		at.accept(d)
	}
	f.at(units[4]).claim() // held
	got := f.claimable(10)
	same(f, "units", len(got), 4)
	for i, want := range []int{2, 1, 0, 3} {
		same(f, "unit", got[i].Unit, units[want])
	}
	same(f, "cut-off", got[0].CutoffAt.Equal(f.now.Add(24*time.Hour)), true)
	same(f, "no cut-off", got[2].CutoffAt.IsZero(), true)
	same(f, "owner of what was never taken", got[0].Owner, "")
	same(f, "limited", len(f.claimable(2)), 2)

	f.after(lockTTL + time.Second)
	same(f, "units after the owner's silence", len(f.claimable(10)), 5)
	f.at(units[0]).claim().finish(f.batches[0])
	f.after(lockTTL + time.Second)
	same(f, "units when one is done", len(f.claimable(10)), 4)
}

func tenureWork(f *fixture) {
	done, first, second := f.submit(pay("ann")), f.submit(pay("bob")), f.submit(pay("cho"))
	f.elsewhere().submit(pay("dee"))
	w := f.claim()
	w.finish(done)
	got := read[[]store.Token](f)(f.store.Work(f.Context(), w.tenure))
	same(f, "unfinished batches", len(got), 2)
	for i, b := range []*batch{first, second} {
		want := b.token()
		want.Amounts, got[i].Amounts = nil, nil
		f.mustEqual("a token", got[i], want)
	}
}

// lowest is the lowest pending line of a batch's planned part.
func (w *worker) lowest(b *batch) int32 {
	w.f.Helper()
	for _, t := range read[[]store.Token](w.f)(w.f.store.Work(w.f.Context(), w.tenure)) {
		if t.Batch.ID == b.id {
			return t.LowestPending
		}
	}
	w.f.Fatalf("the batch is not among the tenure's work")
	return 0
}

func tenureLowest(f *fixture) {
	f.submit(pay("bob"))
	b := f.submit(pay("ann"), pay("bob"), pay("cho"), pay("dee"), pay("eve"))
	w := f.claim()
	same(f, "of an untouched batch", w.lowest(b), 0)
	first := w.openFresh(b, 1)
	second := w.openFresh(b, 1) // cho: bob follows another batch
	same(f, "in flight", w.lowest(b), 1)
	first.answer(refused)
	same(f, "following", w.lowest(b), 2)
	w.finish(f.batches[0])
	w.mirror(b)
	same(f, "in a later attempt", w.lowest(b), 3)
	second.answer(paid)
	same(f, "all planned ones left", w.lowest(b), 0)
	f.after(time.Hour)
	w.resend(b, 1)
	same(f, "in flight again", w.lowest(b), 1)
}

func statesAndHolds(f *fixture) {
	b := f.submit(pay("ann"))
	w := f.claim()
	for _, s := range []struct {
		state store.BatchState
		hold  string
	}{{store.InProgress, ""}, {store.Waiting, "throttled"}, {store.Suspended, "suspended"}, {store.InProgress, ""}} {
		f.must(f.store.SetState(f.Context(), b.id, w.tenure.Epoch, s.state, s.hold, f.now))
		same(f, "state", b.token().State, s.state)
		same(f, "hold reason", b.token().HoldReason, s.hold)
		f.mustAddUp()
	}
}

func claimSettles(f *fixture) {
	b := f.submit(crew("staff", 4)...)
	w := f.claim()
	w.openFresh(b, 3).answer(lost, refused, paid)
	w.openFresh(b, 1).answer(lost)
	early := b.trouble(1).QuietAt
	w.decide(b, func(s payroll.Standing) payroll.Change {
		t := *s.Trouble
		t.QuietAt = f.now.Add(time.Hour)
		return payroll.Change{Ordinal: s.Line.Ordinal, Trouble: &t}
	}, 4)
	f.after(30 * time.Second)
	f.claim()
	quiet := f.now.Add(f.policy.Settle)
	same(f, "later than before", quiet.After(early), true)
	same(f, "quiet at", b.trouble(1).QuietAt.Equal(quiet), true)
	same(f, "quiet at of an unambiguous line", b.trouble(2).QuietAt.IsZero(), true)
	same(f, "a later quiet at stays", b.trouble(4).QuietAt.Equal(f.now.Add(time.Hour-30*time.Second)), true)
}

func unitsApart(f *fixture) {
	here := f.submit(pay("ann"))
	otherVendor, otherPeriod := f.elsewhere(), f.at(payroll.Unit{Tenant: "acme", PayPeriod: "2026-04", Vendor: "paywell"})
	w := f.claim()
	for _, other := range []*fixture{otherVendor, otherPeriod} {
		b := other.submit(pay("bob-" + other.unit.PayPeriod + other.unit.Vendor))
		other.claim()
		other.claim().finish(b)
	}
	w.finish(here)
	here.stands(payroll.Settled)
}
