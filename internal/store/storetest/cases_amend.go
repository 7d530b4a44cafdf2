package storetest

import (
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func amendCases() []testcase {
	return []testcase{
		{"a replay puts a completed batch back to work", "a replayed line waits in a batch that nobody looks at", replayRevives},
		{"a replayed line is sent under its old memory", "a replay forgets that the line was sent before", replayRemembers},
		{"a second replay acts again", "a dead letter can be replayed once only", replayTwice},
		{"an attested payment settles a parked line", "an operator who found the payment cannot record it", attested},
		{"a parked line is reopened to be looked up", "a parked line can never be resolved", reopened},
		{"late evidence settles a parked line", "a paid line stays outcome_unknown for ever", parkedThenPaid},
		{"closing leaves the line and tells why", "a closed dead letter says nothing about who and why", closed},
		{"a closed dead letter does not come back by a second close", "a close overwrites who closed it", closedTwice},
		{"a dead letter that nobody closed by hand names the gateway", "nobody can tell a person's close from one that followed", closedByGateway},
		{"an amendment sees lines and letters", "a guard decides on half of what is known", amendStandings},
		{"an amendment raises change_seq", "a plan overlooks what a person decided", amendRaises},
		{"a replay of some lines leaves the others", "a replay moves lines that nobody named", replaySome},
	}
}

func replayRevives(f *fixture) {
	b := f.submit(crew("staff", 4)...)
	w := f.claim()
	w.openFresh(b, 4).answer(paid, paid, rejected, paid)
	same(f, "last cursor", b.token().LastCursor, 4)
	f.must(f.store.Release(f.Context(), w.tenure))
	same(f, "units to work on", len(f.claimable(10)), 0)

	f.after(time.Hour)
	applied := b.replay(3)
	same(f, "complete", applied.Token.Complete(), false)
	t := b.token()
	same(f, "complete", t.Complete(), false)
	same(f, "last cursor below it", t.LastCursor < 3, true)
	b.stands(payroll.Settled, payroll.Settled, payroll.Pending, payroll.Settled)
	same(f, "units to work on", len(f.claimable(10)), 1)
	same(f, "status of the letter", b.letter(3).Status, store.LetterReplayed)

	w = f.claim()
	same(f, "batches of the tenure", len(read[[]store.Token](f)(f.store.Work(f.Context(), w.tenure))), 1)
	w.finish(b)
	b.stands(payroll.Settled)
	same(f, "completed at", b.token().CompletedAt.Equal(f.now), true)
}

func replayRemembers(f *fixture) {
	b := f.submit(pay("ann"))
	w := f.claim()
	w.openFresh(b, 1).answer(refused)
	first := b.trouble(1).FirstSentAt
	f.after(time.Hour)
	w.resend(b, 1).answer(rejected)
	same(f, "kept with the dead letter", b.letter(1).Standing.Trouble.Sends, 2)
	b.replay(1)
	t := b.trouble(1)
	same(f, "sends", t.Sends, 2)
	same(f, "first sent", t.FirstSentAt.Equal(first), true)
}

func replayTwice(f *fixture) {
	b := f.submit(pay("ann"))
	w := f.claim()
	w.openFresh(b, 1).answer(rejected)
	for range 2 {
		f.after(time.Hour)
		b.replay(1)
		w.resend(b, 1).answer(rejected)
		b.stands(payroll.DeadLettered)
	}
	letters := b.fullLetters()
	same(f, "dead letters", len(letters), 3)
	same(f, "attempts in the newest", len(b.letter(1).History), 3)
	open := f.letters(store.LetterFilter{Tenant: "acme", Status: store.LetterOpen}, 10)
	same(f, "open ones", len(open), 1)
	same(f, "the newest is open", open[0].ID, b.letter(1).ID)
}

func attested(f *fixture) {
	b := f.submit(pay("ann"))
	f.claim().park(b, 1)
	applied := b.amend("attest_paid", attestPaid, 1)
	same(f, "state", applied.Token.State, store.Completed)
	v := b.line(1)
	same(f, "state of the line", v.State, payroll.Settled)
	same(f, "settled as", v.SettledAs, payroll.Attested)
	same(f, "reference", v.Reference, "bank statement 12")
	if s := b.letter(1).Status; s == store.LetterOpen {
		f.Fatalf("the dead letter of a paid line is open")
	}
}

func reopened(f *fixture) {
	f.policy.LookUp = true
	b := f.submit(pay("ann"))
	w := f.claim()
	w.park(b, 1)
	b.amend("look_up", func(s payroll.Standing) payroll.Change {
		t := *s.Trouble
		t.LookUpNext, t.DueAt = true, f.now
		return payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Reopened, Trouble: &t}
	}, 1)
	b.stands(payroll.Unknown)
	same(f, "still ambiguous", b.trouble(1).Ambiguous, true)
	f.after(time.Hour)
	w.lookUp(b, 1).answer(found)
	b.stands(payroll.Settled)
	same(f, "state", b.token().State, store.Completed)
}

func parkedThenPaid(f *fixture) {
	b := f.submit(crew("staff", 2)...)
	w := f.claim()
	w.park(b, 1)
	b.amend("late_answer", func(s payroll.Standing) payroll.Change {
		same(f, "ambiguous", s.Trouble.Ambiguous, true)
		return payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Paid, Settled: payroll.Settlement{As: payroll.Created, Status: 201}}
	}, 1)
	b.stands(payroll.Settled, payroll.Pending)
	w.finish(b)
	same(f, "state", b.token().State, store.Completed)
}

func closed(f *fixture) {
	b := f.submit(pay("ann"), pay("bob"))
	f.claim().openFresh(b, 2).answer(rejected, paid)
	f.after(time.Hour)
	amendment := b.amendment("close", closing(payroll.PaidOutside), 1)
	amendment.Close = &store.CloseNote{Note: "cheque 4711", RootCause: "bank data"}
	read[store.Applied](f)(f.store.Amend(f.Context(), amendment))
	f.mustAddUp()
	b.stands(payroll.DeadLettered, payroll.Settled)
	l := b.letter(1)
	same(f, "status", l.Status, store.LetterClosed)
	same(f, "closed as", l.ClosedAs, string(payroll.PaidOutside))
	same(f, "by", l.Actor, "operator-key")
	same(f, "note", l.Note, "cheque 4711")
	same(f, "root cause", l.RootCause, "bank data")
	same(f, "closed at", l.ClosedAt.Equal(f.now), true)
	same(f, "reason", l.Reason, payroll.VendorRejected)
	same(f, "complete", b.token().Complete(), true)
}

func closedTwice(f *fixture) {
	b := f.submit(pay("ann"))
	f.claim().openFresh(b, 1).answer(rejected)
	b.amend("close", closing(payroll.WrittenOff), 1)
	before := b.letter(1)
	f.after(time.Hour)
	again := b.amendment("close", closing(payroll.PaidOutside), 1)
	_, _ = f.store.Amend(f.Context(), again) // an error or nothing: there is no open letter to close
	f.mustAddUp()
	f.mustEqual("the letter", b.letter(1), before)
}

func amendStandings(f *fixture) {
	live := f.submit(pay("ann"), pay("bob"), pay("cho"))
	w := f.claim()
	w.openFresh(live, 2).answer(rejected, paid)
	follower := f.submit(pay("cho"))
	var seen []payroll.Standing
	look := func(s payroll.Standing) payroll.Change {
		seen = append(seen, s)
		return payroll.Change{Ordinal: s.Line.Ordinal, Trouble: s.Trouble}
	}
	letter, trouble := live.letter(1), live.letter(1).Standing.Trouble
	live.amend("look", look, 1)
	f.mustEqual("a dead letter's line", seen[0], payroll.Standing{
		Line: *live.item(1).Line, Live: true, State: payroll.DeadLettered, Trouble: trouble, Reason: payroll.VendorRejected, Letter: letter.ID,
	})
	seen = nil
	follower.amend("look", look, 1)
	f.mustEqual("a follower", seen[0], payroll.Standing{Line: *follower.item(1).Line, State: payroll.Pending, FollowerOf: live.ref(3)})
}

func closedByGateway(f *fixture) {
	first := f.submit(pay("ann"), pay("bob"))
	f.claim().openFresh(first, 2).answer(rejected, rejected)
	f.submit(pay("ann"), pay("bob").version(2))
	for ordinal, as := range []payroll.CloseReason{payroll.Resubmitted, payroll.Corrected} {
		l := first.letter(int32(ordinal + 1))
		same(f, "closed as", l.ClosedAs, string(as))
		same(f, "closed by", l.Actor, "gateway")
	}
}

func amendRaises(f *fixture) {
	b := f.submit(pay("ann"))
	f.claim().openFresh(b, 1).answer(rejected)
	before := b.token()
	b.replay(1)
	after := b.token()
	if after.ChangeSeq <= before.ChangeSeq || after.Version <= before.Version {
		f.Fatalf("change_seq %d to %d, version %d to %d", before.ChangeSeq, after.ChangeSeq, before.Version, after.Version)
	}
}

func replaySome(f *fixture) {
	b := f.submit(crew("staff", 5)...)
	w := f.claim()
	w.openFresh(b, 5).answer(rejected)
	b.replay(2, 4)
	b.stands(payroll.DeadLettered, payroll.Pending, payroll.DeadLettered, payroll.Pending, payroll.DeadLettered)
	w.finish(b)
	b.stands(payroll.DeadLettered, payroll.Settled, payroll.DeadLettered, payroll.Settled, payroll.DeadLettered)
	same(f, "state", b.token().State, store.Completed)
}
