package storetest

import (
	"errors"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func applyCases() []testcase {
	return []testcase{
		{"an answer in which everything is paid", "the ordinary case is wrong", applyClean},
		{"an answer by item", "one bad line fails or pays its whole chunk", applyMixed},
		{"an answer twice", "counts move twice and a batch never adds up again", applyTwice},
		{"a decision sees the lines as they stand", "a decision is made on what is no longer true", applyStandings},
		{"lines at rest and in other attempts are not decided", "an old answer moves a line that travels or rests", applyLeavesOthers},
		{"a decision about nothing changes nothing", "a look at lines counts as a decision", applyNothing},
		{"lines that are not sent at all", "a line past its cut-off hangs between plan and ledger", applyUnsent},
		{"lines not sent, planned before a change", "a line that a person moved is given up", applyUnsentChanged},
		{"a batch is complete in the write that ends its last line", "a crash leaves a batch that is done and never says so", applyCompletes},
		{"what is remembered is kept to the last field", "a budget or a bound is forgotten by a restart", applyTrouble},
		{"a decision reports what it did", "a dead letter raises no alert", applyReports},
		{"many lines and many answers", "the sums drift with every answer", applyRounds},
	}
}

func refusalCases() []testcase {
	return []testcase{
		{"an illegal step rolls everything back", "half a decision is written, and the sums are off", refuseIllegal},
		{"a decision that panics leaves nothing", "a fault in a rule locks the batch, or writes half of it", refusePanic},
		{"an answer that leaves a line of its attempt undecided", "a line is in flight for ever in no attempt", refuseUndecided},
		{"an amendment that gives up leaves nothing", "a refused replay changes the line", refuseAmendment},
		{"an illegal amendment leaves nothing", "a paid line goes back to work", refuseIllegalAmendment},
	}
}

func applyClean(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	w := f.claim()
	applied := w.openFresh(b, 3).answer(paid)
	b.stands(payroll.Settled)
	want := b.token()
	want.Amounts, applied.Token.Amounts = nil, nil
	f.mustEqual("the token that the write returns", applied.Token, want)
	v := b.line(2)
	same(f, "settled as", v.SettledAs, payroll.Created)
	same(f, "reference", v.Reference, paid.Reference)
	live := f.liveLine(b.lineKey(2))
	same(f, "attempts", len(live.Attempts), 1)
	same(f, "verdict", live.Attempts[0].Verdict, payroll.VerdictSettled)
	same(f, "attempt", live.Attempts[0].AttemptID, store.AttemptID(b.key(), 1))
	same(f, "sent at", live.Attempts[0].SentAt.Equal(f.now), true)
}

func applyMixed(f *fixture) {
	b := f.submit(crew("staff", 6)...)
	w := f.claim()
	applied := w.openFresh(b, 6).answer(paid, refused, rejected, lost, returned, paid)
	b.stands(payroll.Settled, payroll.Retrying, payroll.DeadLettered, payroll.Unknown, payroll.Pending, payroll.Settled)
	same(f, "counts", applied.Token.Counts, b.token().Counts)
	same(f, "ambiguous", b.trouble(4).Ambiguous, true)
	same(f, "spent", b.trouble(2).Used[payroll.ClassVendorError], 1)
	same(f, "open attempts", len(b.openAttempts()), 0)
	f.after(24 * 3600e9 / 2)
	f.mustEqual("due lines", len(b.due()), 3)
	w.resend(b, 2, 4, 5).answer(paid, refused, paid)
	b.stands(payroll.Settled, payroll.Settled, payroll.DeadLettered, payroll.Unknown, payroll.Settled)
}

func applyTwice(f *fixture) {
	b := f.submit(crew("staff", 4)...)
	a := f.claim().openFresh(b, 3)
	clean, mixed := a.work(paid), a.work(paid, rejected, lost)
	a.answer(paid, refused)
	f.unchanged("a second answer", func() {
		for _, w := range []store.Work{clean, mixed} {
			_, err := f.store.Apply(f.Context(), w)
			f.mustBe(err, store.ErrAnswered)
		}
	})
}

func applyStandings(f *fixture) {
	d := f.draft(crew("staff", 4)...)
	d.batch.CutoffAt = f.now.Add(8 * time.Hour)
	b := f.accept(d)
	w := f.claim()
	w.openFresh(b, 3).answer(refused, lost, paid)
	f.after(time.Hour)
	w.decide(b, func(s payroll.Standing) payroll.Change {
		t := *s.Trouble
		t.CutoffAt = f.now.Add(time.Hour)
		return payroll.Change{Ordinal: s.Line.Ordinal, Trouble: &t}
	}, 2)
	b.cancel()
	a := w.resend(b, 2)
	work := a.work(lost)
	var seen []payroll.Standing
	decide := work.Decide
	work.Decide = func(standings []payroll.Standing) []payroll.Change {
		seen = standings
		return decide(standings)
	}
	trouble := b.trouble(2)
	w.apply(work)
	f.mustEqual("the standing", seen, []payroll.Standing{{
		Line: *b.item(2).Line, Live: true, State: payroll.InFlight, Trouble: &trouble, Cancelled: true, CutoffAt: trouble.CutoffAt,
	}})
}

func applyLeavesOthers(f *fixture) {
	b := f.submit(crew("staff", 5)...)
	w := f.claim()
	w.openFresh(b, 4).answer(refused, refused, paid, rejected)
	f.after(time.Hour)
	a := w.resend(b, 1)
	other := w.openFresh(b, 1)
	var asked []int32
	watch := func(standings []payroll.Standing) {
		for _, s := range standings {
			asked = append(asked, s.Line.Ordinal)
		}
	}
	lines := b.lines(0)
	look := w.deciding(b, nil, 1, 2, 3, 4, 5)
	look.Decide = func(standings []payroll.Standing) []payroll.Change {
		watch(standings)
		return nil
	}
	w.apply(look)
	f.mustEqual("the lines", b.lines(0), lines)
	f.mustEqual("asked about", asked, []int32{2})

	asked = nil
	work := a.work(paid)
	decide := work.Decide
	work.Ordinals = []int32{1, 2, 3, 4, 5}
	work.Decide = func(standings []payroll.Standing) []payroll.Change {
		watch(standings)
		return decide(standings)
	}
	w.apply(work)
	f.mustEqual("asked about, of an answer", asked, []int32{1})
	other.answer(paid)
	b.stands(payroll.Settled, payroll.Retrying, payroll.Settled, payroll.DeadLettered, payroll.Settled)
}

func applyNothing(f *fixture) {
	b := f.submit(crew("staff", 2)...)
	w := f.claim()
	w.openFresh(b, 2).answer(refused)
	before := b.lines(0)
	w.apply(store.Work{
		BatchID: b.id, Epoch: w.tenure.Epoch, Ordinals: []int32{1, 2}, Now: f.now,
		Decide: func([]payroll.Standing) []payroll.Change { return nil },
	})
	f.mustEqual("the lines", b.lines(0), before)
}

// unsent is the decision not to send the next n fresh lines at all.
func (w *worker) unsent(b *batch, n int) store.Work {
	w.f.Helper()
	o := w.planFresh(b, n)
	work := w.deciding(b, givenUp(payroll.CutoffPassed, payroll.StageSend), o.Attempt.Ordinals...)
	work.From, work.Next, work.ChangeSeq, work.Cursor = o.From, o.Next, o.ChangeSeq, o.Next-1
	return work
}

func applyUnsent(f *fixture) {
	b := f.submit(crew("staff", 5)...)
	w := f.claim()
	w.openFresh(b, 1).answer(paid)
	work := w.unsent(b, 3)
	applied := w.apply(work)
	same(f, "dead letters", len(applied.Dead), 3)
	b.stands(payroll.Settled, payroll.DeadLettered, payroll.DeadLettered, payroll.DeadLettered, payroll.Pending)
	same(f, "next ordinal", b.token().NextOrdinal, 5)
	same(f, "last cursor", b.token().LastCursor, 4)
	f.unchanged("the same again", func() {
		_, err := f.store.Apply(f.Context(), work)
		f.mustBe(err, store.ErrChanged)
	})
	w.apply(w.unsent(b, 1))
	same(f, "state", b.token().State, store.Completed)
}

func applyUnsentChanged(f *fixture) {
	b := f.submit(pay("ann"), pay("bob"), pay("cho"))
	w := f.claim()
	work := w.unsent(b, 3)
	f.overtakes()
	f.unchanged("a plan from before", func() {
		_, err := f.store.Apply(f.Context(), work)
		f.mustBe(err, store.ErrChanged)
	})
	w.apply(w.unsent(b, 3))
	b.stands(payroll.Superseded, payroll.DeadLettered)
}

func applyCompletes(f *fixture) {
	b := f.submit(crew("staff", 4)...)
	w := f.claim()
	first, second := w.openFresh(b, 2), w.openFresh(b, 2)
	second.answer(paid, refused)
	first.answer(rejected, paid)
	same(f, "complete", b.token().Complete(), false)
	f.after(time.Hour)
	applied := w.resend(b, 4).answer(paid)
	same(f, "state", applied.Token.State, store.Completed)
	same(f, "completed at", applied.Token.CompletedAt.Equal(f.now), true)
	same(f, "stored", b.token().CompletedAt.Equal(f.now), true)
	same(f, "last cursor", b.token().LastCursor, 4)
	same(f, "units to work on", len(read[[]store.Token](f)(f.store.Work(f.Context(), w.tenure))), 0)
}

func applyTrouble(f *fixture) {
	b := f.submit(crew("staff", 2)...)
	w := f.claim()
	w.openFresh(b, 2).answer(lost)
	want := payroll.Trouble{
		Generation: 3, Sends: 17, Used: [payroll.RetryClasses]int{1, 2, 3, 4, 5},
		FirstSentAt: f.now.Add(-time.Hour), Ambiguous: true, QuietAt: f.now.Add(time.Minute), DueAt: f.now.Add(2 * time.Minute),
		LookUpNext: true, LookedUp: 2, Conflicted: true, MaxChunk: 31, Family: 7, FrozenWith: 1, CutoffAt: f.now.Add(5 * time.Hour),
	}
	w.decide(b, func(s payroll.Standing) payroll.Change {
		t := want
		return payroll.Change{Ordinal: s.Line.Ordinal, Trouble: &t}
	}, 2)
	f.mustEqual("what is remembered", b.trouble(2), want)
	f.after(time.Hour)
	f.mustEqual("with a due line", b.due()[1].Trouble, want)
	w.decide(b, givenUp(payroll.OutcomeUnknown, payroll.StageResolve), 2)
	f.mustEqual("of a dead letter", *b.letter(2).Standing.Trouble, want)
}

func applyReports(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	applied := f.claim().openFresh(b, 3).answer(rejected, refused, paid)
	f.mustEqual("dead letters", applied.Dead, []store.Dead{{Ordinal: 1, Reason: payroll.VendorRejected, Stage: payroll.StageResponse}})
	var changed []int32
	for _, c := range applied.Changes {
		changed = append(changed, c.Ordinal)
	}
	f.mustEqual("changes", changed, []int32{1, 2})
}

func applyRounds(f *fixture) {
	b := f.submit(crew("staff", 60)...)
	w := f.claim()
	said := []payroll.Reading{paid, refused, lost, returned, rejected, refused, paid, lost}
	for i := 0; len(b.fresh(1)) > 0; i++ {
		w.openFresh(b, 9).answer(append(said[i%len(said):], said...)...)
	}
	for round := range 40 {
		f.after(10 * time.Minute)
		due := ordinals(b.due())
		if len(due) == 0 {
			break
		}
		w.resend(b, due...).answer(said[round%len(said):]...)
	}
	same(f, "complete", b.token().Complete(), true)
}

func refuseIllegal(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	w := f.claim()
	w.openFresh(b, 2).answer(refused)
	f.after(time.Hour)
	again := func(s payroll.Standing) payroll.Change {
		if s.Line.Ordinal == 2 {
			return payroll.Change{Ordinal: 2, Event: payroll.Replayed, Trouble: s.Trouble}
		}
		return givenUp(payroll.RetryBudgetExhausted, payroll.StageSend)(s)
	}
	f.unchanged("an illegal decision", func() {
		f.refuses(w.deciding(b, again, 1, 2))
	})
	a := w.resend(b, 1, 2)
	work := a.work(paid)
	work.Decide = one(again)
	f.unchanged("an illegal answer", func() { f.refuses(work) })
	a.answer(paid)
	fresh := w.openFresh(b, 1).work(lost)
	fresh.Decide = one(func(s payroll.Standing) payroll.Change {
		return payroll.Change{Ordinal: 3, Event: payroll.Reopened, Trouble: s.Trouble}
	})
	f.unchanged("an illegal first answer", func() { f.refuses(fresh) })
}

// refuses fails unless the work is refused with an error that is none of the sentinels.
func (f *fixture) refuses(work store.Work) {
	f.Helper()
	_, err := f.store.Apply(f.Context(), work)
	for _, sentinel := range []error{nil, store.ErrFenced, store.ErrChanged, store.ErrAnswered, store.ErrUnavailable, store.ErrNotFound} {
		if errors.Is(err, sentinel) {
			f.Fatalf("error = %v, want one that says what is wrong", err)
		}
	}
}

func refusePanic(f *fixture) {
	b := f.submit(crew("staff", 2)...)
	w := f.claim()
	a := w.openFresh(b, 2)
	work := a.work(refused)
	work.Decide = func([]payroll.Standing) []payroll.Change { panic(errCallback) }
	f.unchanged("a panic", func() {
		defer func() { _ = recover() }()
		if _, err := f.store.Apply(f.Context(), work); err == nil {
			f.Fatalf("a decision that panicked was applied")
		}
	})
	amendment := b.amendment("replay", func(payroll.Standing) payroll.Change { panic(errCallback) }, 1)
	f.unchanged("a panic in an amendment", func() {
		defer func() { _ = recover() }()
		if _, err := f.store.Amend(f.Context(), amendment); err == nil {
			f.Fatalf("an amendment that panicked was applied")
		}
	})
	a.answer(paid)
	b.stands(payroll.Settled)
}

func refuseUndecided(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	w := f.claim()
	a := w.openFresh(b, 3)
	nothing := a.work(refused)
	nothing.Decide = func([]payroll.Standing) []payroll.Change { return nil }
	short, none := a.work(paid), a.closing()
	short.Clean = short.Clean[:2]
	f.unchanged("an answer with lines left out", func() {
		for _, work := range []store.Work{nothing, short, none} {
			f.refuses(work)
		}
	})
	a.answer(refused)
	f.after(time.Hour)
	again := w.resend(b, 1, 2)
	nothing = again.work(refused)
	nothing.Decide = func([]payroll.Standing) []payroll.Change { return nil }
	f.unchanged("an answer to a retry with lines left out", func() { f.refuses(nothing) })
}

func refuseAmendment(f *fixture) {
	b := f.submit(crew("staff", 2)...)
	f.claim().openFresh(b, 2).answer(rejected)
	amendment := b.amendment("replay", backToWork(f.now), 1, 2)
	amendment.Decide = func([]payroll.Standing) ([]payroll.Change, error) { return nil, errCallback }
	f.unchanged("an amendment that gives up", func() {
		_, err := f.store.Amend(f.Context(), amendment)
		f.mustBe(err, errCallback)
	})
}

func refuseIllegalAmendment(f *fixture) {
	b := f.submit(crew("staff", 2)...)
	f.claim().openFresh(b, 2).answer(rejected, paid)
	f.unchanged("a replay of a paid line", func() {
		if _, err := f.store.Amend(f.Context(), b.amendment("replay", backToWork(f.now), 1, 2)); err == nil {
			f.Fatalf("a paid line went back to work")
		}
	})
}

// errCallback is the error of a callback that has had enough.
var errCallback = errors.New("the callback gives up")
