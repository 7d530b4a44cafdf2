package storetest

import (
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func openCases() []testcase {
	return []testcase{
		{"an attempt is recorded before its request", "after a crash nobody knows what was sent", openRecords},
		{"fresh lines are taken in order, once", "a line is sent in two requests", openMoves},
		{"the same attempt twice is refused", "a request is sent twice", openTwice},
		{"an attempt planned before a cancel is refused", "a cancelled line is sent", openAfterCancel},
		{"an attempt planned before a newer version is refused", "a superseded line is sent", openAfterVersion},
		{"an attempt planned before an amendment is refused", "a plan overlooks what a person decided", openAfterAmend},
		{"a retry counts a send and keeps the first time", "the vendor's memory of a key is overestimated", resendCounts},
		{"a first send out of trouble sets the first time", "the vendor's memory of a key is never known", resendFirst},
		{"a taken line is not taken again", "a line is sent in two requests", resendTaken},
		{"a settled line is not opened again", "a paid line is sent again", resendSettled},
		{"a chunk is read in the order of its request", "a request with a key of its own is repeated with other bytes", chunkOrder},
		{"due lines by their time", "a line whose hint is an hour is sent at once, or never", dueOrder},
		{"the cursor moves with the results and never back", "a resume starts behind or ahead of the ledger", cursorMoves},
	}
}

func lookUpCases() []testcase {
	return []testcase{
		{"a look-up takes its lines and keeps their state", "a look-up counts as a send", lookUpKeeps},
		{"a look-up that finds the payment settles", "a paid line is resent", lookUpFinds},
		{"a look-up without an answer gives the line back", "a line is taken for ever", lookUpUnanswered},
		{"a look-up that counts as absent sends it on", "a line that was never paid is forgotten", lookUpAbsent},
	}
}

func openRecords(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	w := f.claim()
	o := w.planFresh(b, 3)
	a := w.send(b, o)
	open := b.openAttempts()
	same(f, "open attempts", len(open), 1)
	f.mustEqual("the attempt", open[0], o.Attempt)
	got, lines, err := f.store.Chunk(f.Context(), b.id, o.Attempt.No)
	f.must(err)
	f.mustEqual("the attempt of the chunk", got, o.Attempt)
	for i, d := range lines {
		f.mustEqual("a line of the chunk", d, store.Due{Line: *b.item(int32(i + 1)).Line, State: payroll.InFlight})
	}
	b.stands(payroll.InFlight)
	f.after(time.Second)
	a.answer(paid)
	got, lines, err = f.store.Chunk(f.Context(), b.id, o.Attempt.No)
	f.must(err)
	o.Attempt.ClosedAt, o.Attempt.Answer = f.now, store.Answer{HTTPStatus: 207, Detail: "by item"}
	f.mustEqual("the answered attempt", got, o.Attempt)
	same(f, "state of its first line", lines[0].State, payroll.Settled)
	same(f, "open attempts", len(b.openAttempts()), 0)
}

func openMoves(f *fixture) {
	b := f.submit(crew("staff", 7)...)
	w := f.claim()
	o := w.planFresh(b, 3)
	w.send(b, o)
	t := b.token()
	same(f, "next ordinal", t.NextOrdinal, 4)
	same(f, "next attempt", t.NextAttempt, 2)
	b.stands(payroll.InFlight, payroll.InFlight, payroll.InFlight, payroll.Pending)
	same(f, "the next fresh line", b.fresh(1)[0].Ordinal, 4)
	o.Attempt.No = t.NextAttempt
	f.unchanged("an open of lines that are taken", func() { f.mustBe(f.store.Open(f.Context(), o), store.ErrChanged) })
	w.openFresh(b, 10)
	b.stands(payroll.InFlight)
}

func openTwice(f *fixture) {
	b := f.submit(crew("staff", 6)...)
	w := f.claim()
	o := w.planFresh(b, 3)
	w.send(b, o).answer(refused, paid)
	second := w.planFresh(b, 3)
	second.Attempt.No = o.Attempt.No
	again := w.plan(b, payroll.Submit, []int32{1})
	again.Attempt.No = o.Attempt.No
	f.unchanged("an attempt number twice", func() {
		for _, x := range []store.Open{o, second, again} {
			f.mustBe(f.store.Open(f.Context(), x), store.ErrChanged)
		}
	})
}

func openAfterCancel(f *fixture) {
	b := f.submit(crew("staff", 6)...)
	w := f.claim()
	w.openFresh(b, 2).answer(refused, lost)
	f.after(3600e9)
	fresh, again := w.planFresh(b, 3), w.plan(b, payroll.Submit, []int32{1})
	t := b.cancel()
	f.unchanged("opens planned before the cancel", func() {
		f.mustBe(f.store.Open(f.Context(), fresh), store.ErrChanged)
		f.mustBe(f.store.Open(f.Context(), again), store.ErrChanged)
	})
	fresh.ChangeSeq, again.ChangeSeq = t.ChangeSeq, t.ChangeSeq
	f.unchanged("opens of cancelled lines", func() {
		f.mustBe(f.store.Open(f.Context(), fresh), store.ErrChanged)
		f.mustBe(f.store.Open(f.Context(), again), store.ErrChanged)
	})
	w.resend(b, 2).answer(paid) // its fate was unknown: the cancel does not stop its resolution
}

func openAfterVersion(f *fixture) {
	b := f.submit(pay("ann"), pay("bob"))
	w := f.claim()
	o := w.planFresh(b, 2)
	f.overtakes()
	f.unchanged("an open planned before", func() { f.mustBe(f.store.Open(f.Context(), o), store.ErrChanged) })
	same(f, "lines in the next attempt", len(w.openFresh(b, 2).o.Attempt.Ordinals), 1)
}

func openAfterAmend(f *fixture) {
	b := f.submit(crew("staff", 4)...)
	w := f.claim()
	w.openFresh(b, 2).answer(rejected)
	o := w.planFresh(b, 2)
	b.replay(1)
	f.unchanged("an open planned before", func() { f.mustBe(f.store.Open(f.Context(), o), store.ErrChanged) })
}

func resendCounts(f *fixture) {
	b := f.submit(pay("ann"))
	w := f.claim()
	w.openFresh(b, 1).answer(refused)
	first := f.now
	t := b.trouble(1)
	same(f, "sends", t.Sends, 1)
	same(f, "first sent", t.FirstSentAt.Equal(first), true)
	f.after(time.Hour)
	a := w.resend(b, 1)
	t = b.trouble(1)
	same(f, "sends", t.Sends, 2)
	same(f, "first sent", t.FirstSentAt.Equal(first), true)
	same(f, "taken by", t.AttemptNo, a.o.Attempt.No)
	b.stands(payroll.InFlight)
	same(f, "due lines", len(b.due()), 0)
	a.answer(paid)
	b.stands(payroll.Settled)
	same(f, "still remembered", b.line(1).Trouble != nil, false)
}

func resendFirst(f *fixture) {
	b := f.submit(pay("ann").capped())
	w := f.claim()
	b.replay(1)
	same(f, "sends", b.trouble(1).Sends, 0)
	f.after(time.Minute)
	w.resend(b, 1)
	t := b.trouble(1)
	same(f, "sends", t.Sends, 1)
	same(f, "first sent", t.FirstSentAt.Equal(f.now), true)
}

func resendTaken(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	w := f.claim()
	w.openFresh(b, 3).answer(refused)
	f.after(time.Hour)
	w.resend(b, 1, 2)
	for _, kind := range []payroll.AttemptKind{payroll.Submit, payroll.LookUp} {
		o := w.plan(b, kind, []int32{2, 3})
		f.unchanged("an open with a taken line", func() { f.mustBe(f.store.Open(f.Context(), o), store.ErrChanged) })
	}
}

func resendSettled(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	w := f.claim()
	w.openFresh(b, 3).answer(refused, paid, rejected)
	f.after(time.Hour)
	for _, ordinals := range [][]int32{{2}, {1, 2}, {3}, {1, 3}} {
		o := w.plan(b, payroll.Submit, ordinals)
		f.unchanged("an open with a line at rest", func() { f.mustBe(f.store.Open(f.Context(), o), store.ErrChanged) })
	}
}

func chunkOrder(f *fixture) {
	b := f.submit(crew("staff", 4)...)
	w := f.claim()
	w.openFresh(b, 4).answer(refused, lost)
	f.after(time.Hour)
	a := w.resend(b, 3, 1, 4)
	got, lines, err := f.store.Chunk(f.Context(), b.id, a.o.Attempt.No)
	f.must(err)
	f.mustEqual("ordinals", got.Ordinals, []int32{3, 1, 4})
	for i, o := range []int32{3, 1, 4} {
		f.mustEqual("a line", lines[i], store.Due{Line: *b.item(o).Line, State: payroll.InFlight, Trouble: b.trouble(o)})
	}
	a.answer(paid, rejected, lost)
	b.stands(payroll.DeadLettered, payroll.Unknown, payroll.Settled, payroll.Unknown)
}

func dueOrder(f *fixture) {
	b := f.submit(crew("staff", 5)...)
	w := f.claim()
	same(f, "nothing is due", read[time.Time](f)(f.store.NextDue(f.Context(), b.id)).IsZero(), true)
	w.openFresh(b, 4).answer(refused)
	start := f.now
	for o, wait := range map[int32]time.Duration{1: 3 * time.Hour, 2: time.Hour, 3: 3 * time.Hour, 4: 2 * time.Hour} {
		w.decide(b, func(s payroll.Standing) payroll.Change {
			t := *s.Trouble
			t.DueAt = start.Add(wait)
			return payroll.Change{Ordinal: s.Line.Ordinal, Trouble: &t}
		}, o)
	}
	same(f, "the first is due at", read[time.Time](f)(f.store.NextDue(f.Context(), b.id)).Equal(start.Add(time.Hour)), true)
	f.now = start.Add(time.Hour - time.Microsecond)
	same(f, "due too early", len(b.due()), 0)
	f.now = start.Add(time.Hour)
	same(f, "due in time", len(b.due()), 1)
	f.now = start.Add(3 * time.Hour)
	f.mustEqual("in order", ordinals(b.due()), []int32{2, 4, 1, 3})
	limited := read[[]store.Due](f)(f.store.Due(f.Context(), b.id, f.now, 3))
	f.mustEqual("limited", ordinals(limited), []int32{2, 4, 1})
	f.mustEqual("as it stands", limited[0], store.Due{Line: *b.item(2).Line, State: payroll.Retrying, Trouble: b.trouble(2)})
	w.resend(b, 2)
	same(f, "the next is due at", read[time.Time](f)(f.store.NextDue(f.Context(), b.id)).Equal(start.Add(2*time.Hour)), true)
}

func ordinals(due []store.Due) (all []int32) {
	for _, d := range due {
		all = append(all, d.Line.Ordinal)
	}
	return all
}

func cursorMoves(f *fixture) {
	b := f.submit(crew("staff", 6)...)
	w := f.claim()
	first, second := w.openFresh(b, 2), w.openFresh(b, 2)
	second.answer(paid)
	same(f, "last cursor", b.token().LastCursor, 0)
	first.answer(paid, refused)
	same(f, "last cursor", b.token().LastCursor, 4)
	work := w.openFresh(b, 2).work(paid)
	work.Cursor = 1
	w.apply(work)
	same(f, "last cursor", b.token().LastCursor, 4)
}

func lookUpKeeps(f *fixture) {
	f.policy.LookUp = true
	b := f.submit(crew("staff", 2)...)
	w := f.claim()
	w.openFresh(b, 2).answer(lost, refused)
	f.after(time.Hour)
	before := b.trouble(1)
	counts := b.token().Counts
	a := w.lookUp(b, 1)
	b.stands(payroll.Unknown, payroll.Retrying)
	same(f, "counts", b.token().Counts, counts)
	before.AttemptNo = a.o.Attempt.No
	f.mustEqual("what is remembered", b.trouble(1), before)
	f.mustEqual("due lines", ordinals(b.due()), []int32{2})
	same(f, "kind", b.openAttempts()[0].Kind, payroll.LookUp)
}

func lookUpFinds(f *fixture) {
	f.policy.LookUp = true
	b := f.submit(pay("ann"))
	w := f.claim()
	w.openFresh(b, 1).answer(lost)
	f.after(time.Hour)
	w.lookUp(b, 1).answer(found)
	b.stands(payroll.Settled)
	v := b.line(1)
	same(f, "settled as", v.SettledAs, payroll.LookedUp)
	same(f, "reference", v.Reference, found.Reference)
}

func lookUpUnanswered(f *fixture) {
	f.policy.LookUp = true
	b := f.submit(pay("ann"))
	w := f.claim()
	w.openFresh(b, 1).answer(lost)
	f.after(time.Hour)
	w.lookUp(b, 1).answer(lost)
	b.stands(payroll.Unknown)
	t := b.trouble(1)
	same(f, "taken by", t.AttemptNo, 0)
	same(f, "look-ups spent", t.Used[payroll.ClassLookUp], 1)
	f.after(time.Hour)
	same(f, "due lines", len(b.due()), 1)
}

func lookUpAbsent(f *fixture) {
	f.policy.LookUp = true
	b := f.submit(pay("ann"))
	w := f.claim()
	w.openFresh(b, 1).answer(lost)
	f.after(time.Hour)
	w.lookUp(b, 1).answer(absent)
	b.stands(payroll.Pending)
	same(f, "ambiguous", b.trouble(1).Ambiguous, false)
	w.finish(b)
	b.stands(payroll.Settled)
}
