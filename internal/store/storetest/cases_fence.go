package storetest

import (
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func fenceCases() []testcase {
	return []testcase{
		{"a stale worker opens nothing", "two owners send the same lines", fencedOpen},
		{"a stale worker's answer is not applied", "an old answer overwrites what the new owner found out", fencedAnswer},
		{"a stale worker decides nothing", "an old plan gives up a line that was paid", fencedDecision},
		{"a stale worker notes no state", "a status page shows what nobody does", fencedState},
		{"a stale worker mirrors nothing", "an old owner makes followers live", fencedMirror},
		{"the new owner answers the old owner's attempt", "an attempt of a dead worker is open for ever", answerOfPredecessor},
		{"a late answer is noted whatever the epoch", "a paid line is parked though its answer came", lateAnswer},
		{"a batch that comes back takes the unit's epoch", "the unit's owner is fenced from a replay, or an old one is not", epochOfReplay},
	}
}

// overtaken is a worker that does not know yet that it lost its unit.
func (f *fixture) overtaken(b *batch) (stale *worker, a *flight) {
	f.Helper()
	stale = f.claim()
	a = stale.openFresh(b, 2)
	a.answer(refused)
	a = stale.openFresh(b, 2)
	f.claim()
	return stale, a
}

func fencedOpen(f *fixture) {
	b := f.submit(crew("staff", 8)...)
	stale, _ := f.overtaken(b)
	f.after(3600e9)
	fresh, again := stale.planFresh(b, 2), stale.plan(b, payroll.Submit, []int32{1, 2})
	look := stale.plan(b, payroll.LookUp, []int32{1})
	f.unchanged("stale opens", func() {
		for _, o := range []store.Open{fresh, again, look} {
			f.mustBe(f.store.Open(f.Context(), o), store.ErrFenced)
		}
	})
}

func fencedAnswer(f *fixture) {
	b := f.submit(crew("staff", 8)...)
	_, a := f.overtaken(b)
	clean, mixed := a.work(paid), a.work(paid, rejected)
	f.unchanged("stale answers", func() {
		for _, w := range []store.Work{clean, mixed} {
			_, err := f.store.Apply(f.Context(), w)
			f.mustBe(err, store.ErrFenced)
		}
	})
}

func fencedDecision(f *fixture) {
	b := f.submit(crew("staff", 8)...)
	stale, _ := f.overtaken(b)
	give := stale.deciding(b, givenUp(payroll.CutoffPassed, payroll.StageSend), 1)
	unsent := stale.deciding(b, givenUp(payroll.CutoffPassed, payroll.StageSend), 5, 6)
	unsent.From, unsent.Next, unsent.ChangeSeq = 5, 7, b.token().ChangeSeq
	f.unchanged("stale decisions", func() {
		for _, w := range []store.Work{give, unsent} {
			_, err := f.store.Apply(f.Context(), w)
			f.mustBe(err, store.ErrFenced)
		}
	})
}

func fencedState(f *fixture) {
	b := f.submit(crew("staff", 8)...)
	stale, _ := f.overtaken(b)
	f.unchanged("a stale state", func() {
		f.mustBe(f.store.SetState(f.Context(), b.id, stale.tenure.Epoch, store.Suspended, "suspended", f.now), store.ErrFenced)
	})
}

func fencedMirror(f *fixture) {
	live, follower := f.twins()
	stale := f.claim()
	stale.openFresh(live, 2).answer(paid)
	w := f.claim()
	f.unchanged("a stale mirroring", func() {
		_, err := f.store.Mirror(f.Context(), follower.id, stale.tenure.Epoch, f.now, 100)
		f.mustBe(err, store.ErrFenced)
	})
	same(f, "changed", w.mirror(follower), 2)
}

func answerOfPredecessor(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	old := f.claim()
	a := old.openFresh(b, 3)
	w := f.claim()
	open := b.openAttempts()
	same(f, "open attempts", len(open), 1)
	same(f, "its epoch", open[0].Epoch, old.tenure.Epoch)
	a.w = w
	a.answer(lost)
	b.stands(payroll.Unknown)
	same(f, "open attempts", len(b.openAttempts()), 0)
}

func lateAnswer(f *fixture) {
	b := f.submit(crew("staff", 2)...)
	f.claim().openFresh(b, 2)
	f.claim()
	no := b.openAttempts()[0].No
	f.must(f.store.NoteAnswer(f.Context(), b.id, no, []byte("HTTP/1.1 200 OK")))
	same(f, "late answer", string(b.openAttempts()[0].Answer.Late), "HTTP/1.1 200 OK")
	b.stands(payroll.InFlight)
	f.mustAddUp()
}

func epochOfReplay(f *fixture) {
	done := f.submit(pay("ann"))
	stale := f.claim()
	stale.openFresh(done, 1).answer(rejected)
	f.submit(pay("bob"))
	w := f.claim()
	done.replay(1)
	same(f, "epoch", done.token().Epoch, w.tenure.Epoch)
	o := stale.plan(done, payroll.Submit, []int32{1})
	f.unchanged("a stale open", func() { f.mustBe(f.store.Open(f.Context(), o), store.ErrFenced) })
	w.finish(done)
	done.stands(payroll.Settled)
}
