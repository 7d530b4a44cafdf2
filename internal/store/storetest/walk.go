package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Walks of the suite are this many, each of this many steps.
const (
	walks     = 6
	walkSteps = 120
	walkRuns  = 7 // batches at most
)

func walkCases() []testcase {
	cases := make([]testcase, walks)
	for i := range cases {
		cases[i] = walkOf(uint64(i+1), walkSteps)
	}
	return cases
}

// walkOf is the walk of a seed; the same seed walks the same way.
func walkOf(seed uint64, steps int) testcase {
	return testcase{
		fmt.Sprintf("random walk of seed %d", seed), "some order of ordinary steps loses a line or a cent",
		func(f *fixture) { newWalker(f, seed).walk(steps) },
	}
}

// Walk takes random walks of other seeds and lengths than Run does, for soak tests.
func Walk(t *testing.T, open func(t *testing.T) store.Store, seeds []uint64, steps int) {
	t.Helper()
	for _, seed := range seeds {
		c := walkOf(seed, steps)
		t.Run(c.name, func(t *testing.T) { c.hold(t, open) })
	}
}

// walker takes random steps, also as a worker that was overtaken, and brings
// everything to rest in the end.
type walker struct {
	*fixture
	rng     *rand.Rand
	workers []*worker // the last one owns the unit
	flights []*flight
}

func newWalker(f *fixture, seed uint64) *walker {
	return &walker{fixture: f, rng: rand.New(rand.NewPCG(seed, 7))}
}

func (w *walker) walk(n int) {
	w.run()
	w.takeOver()
	steps := []func(){
		w.run, w.again, w.fresh, w.fresh, w.fresh, w.answer, w.answer, w.answer, w.answer, w.due, w.due, w.lookUp,
		w.giveUp, w.unblock, w.mirrorOne, w.cancelOne, w.replay, w.close, w.attest, w.takeOver, w.wait, w.wait,
	}
	for range n {
		steps[w.rng.IntN(len(steps))]()
	}
	w.rest()
}

func (w *walker) owner() *worker { return w.workers[len(w.workers)-1] }

// anyone is mostly the owner, sometimes one who was overtaken.
func (w *walker) anyone() *worker {
	if w.rng.IntN(5) == 0 {
		return w.workers[w.rng.IntN(len(w.workers))]
	}
	return w.owner()
}

func (w *walker) any() *batch { return w.batches[w.rng.IntN(len(w.batches))] }

// fenced runs a write of a worker: one that was overtaken changes nothing.
func (w *walker) fenced(by *worker, write func() error) bool {
	w.Helper()
	if by == w.owner() {
		w.must(write())
		w.mustAddUp()
		return true
	}
	w.unchanged("a stale write", func() { w.mustBe(write(), store.ErrFenced) })
	return false
}

func (w *walker) run() {
	if len(w.batches) == walkRuns {
		return
	}
	rows := make([]row, 0, 12)
	for _, i := range w.rng.Perm(9)[:3+w.rng.IntN(6)] {
		r := pay(fmt.Sprintf("staff-%d", i)).version(1 + int32(w.rng.IntN(5)/3))
		switch w.rng.IntN(15) {
		case 0:
			r = r.amount(1)
		case 1:
			r = r.in("EUR").ref("bonus")
		case 2:
			r = r.ref("cap").capped()
		}
		rows = append(rows, r)
	}
	if w.rng.IntN(4) == 0 {
		rows = append(rows, poison("x"), misread("zoe", 10, "EUR"))
	}
	d := w.draft(rows...)
	if w.rng.IntN(2) == 0 {
		d.corrections = payroll.CorrectionsReplace
	}
	w.accept(d)
}

func (w *walker) again() {
	b := w.any()
	w.unchanged("the same content", func() { same(w.fixture, "replayed", w.accept(b.draft).receipt.Replayed, true) })
}

func (w *walker) fresh() {
	by, b := w.anyone(), w.any()
	if b.token().CancelledFrom == 0 && len(b.fresh(1)) > 0 {
		w.open(by, b, by.planFresh(b, 1+w.rng.IntN(4)))
	}
}

func (w *walker) open(by *worker, b *batch, o store.Open) {
	w.Helper()
	if w.fenced(by, func() error { return w.store.Open(w.Context(), o) }) {
		w.flights = append(w.flights, &flight{w: by, b: b, o: o})
	}
}

func (w *walker) some(due []store.Due) []int32 {
	all := ordinals(due)
	w.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), 1+w.rng.IntN(4))]
}

func (w *walker) due() {
	by, b := w.anyone(), w.any()
	if taken := w.some(b.due()); len(taken) > 0 {
		w.open(by, b, by.plan(b, payroll.Submit, taken))
	}
}

func (w *walker) lookUp() {
	by, b := w.anyone(), w.any()
	due := slices.DeleteFunc(b.due(), func(d store.Due) bool { return d.State != payroll.Unknown })
	if taken := w.some(due); len(taken) > 0 {
		w.open(by, b, by.plan(b, payroll.LookUp, taken))
	}
}

// answer answers one attempt, in the hand of its own worker or of the owner.
func (w *walker) answer() {
	if len(w.flights) == 0 {
		return
	}
	i := w.rng.IntN(len(w.flights))
	a := *w.flights[i]
	if w.rng.IntN(2) == 0 {
		a.w = w.owner()
	}
	said := []payroll.Reading{paid, paid, paid, refused, rejected, lost, lost, returned}
	if a.o.Attempt.Kind == payroll.LookUp {
		said = []payroll.Reading{found, absent, lost}
	}
	readings := make([]payroll.Reading, len(a.o.Attempt.Ordinals))
	for i := range readings {
		readings[i] = said[w.rng.IntN(len(said))]
	}
	work := a.work(readings...)
	answered := w.fenced(a.w, func() error {
		_, err := w.store.Apply(w.Context(), work)
		return err
	})
	if answered {
		w.flights = slices.Delete(w.flights, i, i+1)
		w.unchanged("a second answer", func() {
			_, err := w.store.Apply(w.Context(), work)
			w.mustBe(err, store.ErrAnswered)
		})
	}
}

func (w *walker) giveUp() {
	by, b := w.anyone(), w.any()
	due := w.some(b.due())
	if len(due) == 0 {
		return
	}
	work := by.deciding(b, func(s payroll.Standing) payroll.Change {
		if s.Trouble.Ambiguous {
			return givenUp(payroll.OutcomeUnknown, payroll.StageResolve)(s)
		}
		return givenUp(payroll.CutoffPassed, payroll.StageSend)(s)
	}, due...)
	slices.Sort(work.Ordinals)
	w.fenced(by, func() error {
		_, err := w.store.Apply(w.Context(), work)
		return err
	})
}

func (w *walker) unblock() {
	w.letGo(w.any())
}

// letGo does what a worker does about lines whose older version has a fate.
func (w *walker) letGo(b *batch) {
	w.Helper()
	for _, blocked := range b.blocked() {
		switch payroll.Succeed(blocked.Older) {
		case payroll.PrecedesWaits, payroll.PrecedesReplaces:
		case payroll.PrecedesCorrects:
			w.must(w.store.Correct(w.Context(), b.id, blocked.Ordinal, blocked.Older.Ref))
			if b.draft.corrections.Sendable(b.draft.batch.Vendor, blocked.Older) {
				w.owner().decide(b, unblocked(w.now), blocked.Ordinal)
			} else {
				w.owner().decide(b, givenUp(payroll.CorrectionRefused, payroll.StageSend), blocked.Ordinal)
			}
		default:
			w.owner().decide(b, unblocked(w.now), blocked.Ordinal)
		}
	}
}

func (w *walker) mirrorOne() {
	by, b := w.anyone(), w.any()
	w.fenced(by, func() error {
		_, err := w.store.Mirror(w.Context(), b.id, by.tenure.Epoch, w.now, 1+w.rng.IntN(5))
		return err
	})
}

func (w *walker) cancelOne() {
	if w.rng.IntN(3) == 0 {
		w.any().cancel()
	}
}

// dead is an open dead letter of a line, of any batch, and how its line stands.
func (w *walker) dead(ambiguous bool) (b *batch, ordinal int32) {
	b = w.any()
	for _, l := range b.fullLetters() {
		s := l.Standing
		if l.Status == store.LetterOpen && s != nil && s.Live && (s.Trouble != nil && s.Trouble.Ambiguous) == ambiguous && !s.Superseded && !s.Cancelled {
			return b, l.Ordinal
		}
	}
	return b, 0
}

func (w *walker) replay() {
	if b, ordinal := w.dead(false); ordinal != 0 {
		b.replay(ordinal)
	}
}

func (w *walker) close() {
	if b, ordinal := w.dead(w.rng.IntN(2) == 0); ordinal != 0 {
		b.amend("close", closing(payroll.WrittenOff), ordinal)
	}
}

func (w *walker) attest() {
	if b, ordinal := w.dead(true); ordinal != 0 {
		b.amend("attest_paid", attestPaid, ordinal)
	}
}

func (w *walker) takeOver() { w.workers = append(w.workers, w.claim()) }

func (w *walker) wait() { w.after(time.Duration(w.rng.IntN(30)) * time.Minute) }

// rest answers, lets go, mirrors, attests and pays until every batch is at
// rest: no walk may leave a line that nothing can end.
func (w *walker) rest() {
	w.Helper()
	w.takeOver()
	for range 20 {
		if w.settled() {
			return
		}
		w.after(time.Hour)
		for _, b := range w.batches {
			w.bringOn(b)
		}
	}
	for _, b := range w.batches {
		t := b.token()
		w.Logf("%s: %v, counts %v", b.draft.batch.Group, t.State, t.Counts)
	}
	w.Fatalf("some lines do not come to rest")
}

func (w *walker) settled() bool {
	return !slices.ContainsFunc(w.batches, func(b *batch) bool { return !b.token().Complete() })
}

func (w *walker) bringOn(b *batch) {
	w.Helper()
	for _, a := range b.openAttempts() {
		(&flight{w: w.owner(), b: b, o: store.Open{Attempt: a}}).answer(paid)
	}
	for _, l := range b.fullLetters() {
		if l.Status == store.LetterOpen && l.Standing != nil && l.Reason == payroll.OutcomeUnknown {
			b.amend("attest_paid", attestPaid, l.Ordinal)
		}
	}
	w.letGo(b)
	_, err := w.store.Mirror(w.Context(), b.id, w.owner().tenure.Epoch, w.now, 100)
	if !errors.Is(err, store.ErrFenced) || !b.token().Complete() { // a complete batch may have an older epoch
		w.must(err)
	}
	if b.token().CancelledFrom == 0 {
		w.owner().finish(b)
	} else {
		for _, d := range b.due() {
			w.owner().resend(b, d.Line.Ordinal).answer(paid)
		}
	}
}
