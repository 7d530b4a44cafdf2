package storetest

import (
	"context"
	"errors"
	"iter"
	"sync"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func faultCases() []testcase {
	return []testcase{
		{"intake whose commit answer is lost", "HR is told to send again what is stored, or that stored is what is not", acceptLost},
		{"an open whose commit answer is lost", "a recorded attempt is taken for unrecorded, and sent by two", openLost},
		{"an answer whose commit answer is lost", "an answer is applied twice, or dropped", answerLost},
		{"other writes whose commit answer is lost", "a lost answer passes for success, or the sums are off", othersLost},
		{"a caller that gives up during intake", "half a file is paid", giveUpIntake},
		{"a caller that gives up during a decision", "half a decision is written", giveUpDecision},
		{"a caller that gives up before it begins", "a write happens that nobody waits for", giveUpBefore},
	}
}

var errWire = errors.New("the connection was lost")

// losing loses the next commit of a method, or only its answer.
func (f *fixture) losing(op string, applied bool) {
	f.Helper()
	faulty, ok := f.store.(CommitFaulter)
	if !ok {
		f.Fatalf("%T is no storetest.CommitFaulter: what happens when a commit is lost cannot be shown", f.store)
	}
	var once sync.Once
	faulty.InjectCommitFault(func(name string) (bool, error) {
		took, err := true, error(nil)
		if name == op {
			once.Do(func() { took, err = applied, errWire })
		}
		return took, err
	})
}

// lostWrite calls a write whose commit fails, which must say so and leave
// nothing, or be done after all; then one whose answer alone is lost.
func (f *fixture) lostWrite(op string, write func() error, done func() bool) {
	f.Helper()
	f.losing(op, false)
	err := write()
	f.mustAddUp()
	if err == nil && !done() {
		f.Fatalf("%s says that it is done, and it is not", op)
	}
	if err != nil {
		f.mustBe(err, store.ErrUnavailable)
		same(f, op+" that failed is done", done(), false)
	}
	if !done() {
		f.losing(op, true)
		err = write()
		f.mustAddUp()
		same(f, op+" whose answer was lost is done", done(), true)
		if err != nil {
			f.mustBe(err, store.ErrUnavailable)
		}
	}
}

// known calls a write whose answer alone is lost: it reads again and knows.
func (f *fixture) known(op string, write func() error) {
	f.Helper()
	f.losing(op, true)
	f.must(write())
	f.mustAddUp()
}

func acceptLost(f *fixture) {
	d := f.draft(pay("ann"), poison("x"))
	f.lostWrite("Accept", func() error { return errorOf(f.store.Accept(f.Context(), d.submission(f.now))) }, func() bool {
		return !errors.Is(errorOf(f.store.Batch(f.Context(), "acme", d.batch.Key())), store.ErrNotFound)
	})
	d = f.draft(pay("bob"), pay("ann").amount(1))
	f.known("Accept", func() error {
		r, err := f.store.Accept(f.Context(), d.submission(f.now))
		same(f, "replayed", r.Replayed, false)
		same(f, "duplicates", r.Duplicates, 1)
		f.adopt(d, r.BatchID)
		return err
	})
	f.unchanged("the same content again", func() { same(f, "replayed", f.accept(d).receipt.Replayed, true) })
}

func openLost(f *fixture) {
	b := f.submit(crew("staff", 6)...)
	w := f.claim()
	o := w.planFresh(b, 2)
	f.lostWrite("Open", func() error { return f.store.Open(f.Context(), o) }, func() bool { return len(b.openAttempts()) == 1 })
	o = w.planFresh(b, 2)
	f.known("Open", func() error { return f.store.Open(f.Context(), o) })
	(&flight{w: w, b: b, o: o}).answer(refused)
	f.after(3600e9)
	again := w.plan(b, payroll.Submit, []int32{3, 4})
	f.known("Open", func() error { return f.store.Open(f.Context(), again) })
	same(f, "sends", b.trouble(3).Sends, 2)
	same(f, "open attempts", len(b.openAttempts()), 2)
}

func answerLost(f *fixture) {
	b := f.submit(crew("staff", 8)...)
	w := f.claim()
	for _, said := range [][]payroll.Reading{{paid}, {paid, rejected, lost}} {
		a := w.openFresh(b, 2)
		work := a.work(said...)
		f.lostWrite("Apply", func() error { return errorOf(f.store.Apply(f.Context(), work)) }, func() bool { return len(b.openAttempts()) == 0 })
		a = w.openFresh(b, 2)
		f.known("Apply", func() error {
			applied, err := f.store.Apply(f.Context(), a.work(said...))
			same(f, "counts", applied.Token.Counts, b.token().Counts)
			return err
		})
	}
}

func othersLost(f *fixture) {
	b := f.submit(crew("staff", 4)...)
	follower := f.submit(crew("staff", 4)...)
	w := f.claim()
	w.openFresh(b, 2).answer(rejected, paid)
	f.lostWrite("Mirror", func() error { return errorOf(f.store.Mirror(f.Context(), follower.id, w.tenure.Epoch, f.now, 10)) },
		func() bool { return follower.token().Counts.Of(payroll.DeadLettered) == 1 })
	amendment := b.amendment("replay", backToWork(f.now), 1)
	f.lostWrite("Amend", func() error { return errorOf(f.store.Amend(f.Context(), amendment)) },
		func() bool { return b.line(1).State == payroll.Pending })
	f.lostWrite("Cancel", func() error { return errorOf(f.store.Cancel(f.Context(), "acme", b.key(), "hr-key", f.now)) },
		func() bool { return b.token().CancelledFrom > 0 })
	epoch := w.tenure.Epoch
	claim := f.claiming()
	claim.Force = true
	f.lostWrite("Claim", func() error { return errorOf(f.store.Claim(f.Context(), claim)) },
		func() bool { return follower.token().Epoch > epoch })
}

func giveUpIntake(f *fixture) {
	f.submit(pay("ann"))
	ctx, giveUp := context.WithCancel(f.Context())
	defer giveUp()
	d := f.draft(append(crew("staff", 3000), pay("ann").version(2))...)
	s := d.submission(f.now)
	s.Rows = interrupted(s.Rows, 1500, giveUp)
	before := f.snapshot()
	r, err := f.store.Accept(ctx, s)
	if err == nil {
		f.adopt(d, r.BatchID) // it was too late to give up: stored whole
		f.mustAddUp()
		return
	}
	f.mustEqual("the store after an intake that was given up", f.snapshot(), before)
	f.mustBe(errorOf(f.store.Batch(f.Context(), "acme", d.batch.Key())), store.ErrNotFound)
	same(f, "replayed when it is sent again", f.accept(d).receipt.Replayed, false)
}

// interrupted calls stop after n rows and goes on.
func interrupted(rows func() iter.Seq2[store.Row, error], n int, stop func()) func() iter.Seq2[store.Row, error] {
	return func() iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			left := n
			for r, err := range rows() {
				if left--; left == 0 {
					stop()
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

func giveUpDecision(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	w := f.claim()
	a := w.openFresh(b, 3)
	work := a.work(rejected, refused, lost)
	ctx, giveUp := context.WithCancel(f.Context())
	defer giveUp()
	decide := work.Decide
	work.Decide = func(standings []payroll.Standing) []payroll.Change {
		giveUp()
		return decide(standings)
	}
	before := f.snapshot()
	if _, err := f.store.Apply(ctx, work); err != nil {
		f.mustEqual("the store after a decision that was given up", f.snapshot(), before)
		a.answer(rejected, refused, lost)
	}
	b.stands(payroll.DeadLettered, payroll.Retrying, payroll.Unknown)
}

func giveUpBefore(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	w := f.claim()
	o := w.planFresh(b, 3)
	ctx, giveUp := context.WithCancel(f.Context())
	giveUp()
	f.unchanged("calls with a context that is over", func() {
		if f.store.Open(ctx, o) == nil || errorOf(f.store.Cancel(ctx, "acme", b.key(), "hr-key", f.now)) == nil {
			f.Fatalf("a write was made for a caller that had gone")
		}
	})
	w.finish(b)
}
