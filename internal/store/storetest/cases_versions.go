package storetest

import (
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func versionCases() []testcase {
	return []testcase{
		{"a new version replaces a pending one", "both versions are paid", versionOverPending},
		{"a new version replaces a line that waits for a retry", "both versions are paid", versionOverRetrying},
		{"a new version waits behind one in flight", "both versions are paid", versionOverInFlight},
		{"a new version waits behind an unknown one", "both versions are paid", versionOverUnknown},
		{"a new version waits behind a parked one", "both versions are paid", versionOverParked},
		{"a new version closes a dead letter as corrected", "the old version is replayed beside the new one", versionOverDead},
		{"a new version over a cancelled one", "a cancelled line blocks its correction", versionOverCancelled},
		{"an old version that comes late is superseded", "files that arrive out of order are both paid", versionLate},
		{"an old version sent again is superseded", "HR posts the old file again and pays the old amount", versionResubmitted},
		{"an old version that was cancelled is not taken up", "a retake pays the old version beside the new one", versionCancelledResubmitted},
		{"versions in one body", "a file with a line and its correction pays both", versionsInOneBody},
		{"a third version over a blocked second one", "the middle version comes back and is paid", versionChain},
		{"another line_ref is another payment", "a bonus replaces the salary", versionOtherRef},
		{"a replay of a superseded payment knows it", "a replayed old version is paid beside the new one", versionKnownToReplay},
		{"a line that comes back while a newer version exists", "a returned old version is sent again", versionKnownToAnswer},
		{"a new version at another vendor replaces too", "two vendors each pay a version", versionElsewhere},
		{"a cancelled correction that comes again waits again", "a correction is paid while the old version may be", versionRetakenWaits},
		{"a blocked line goes on when it is let go", "a correction waits for ever", versionUnblocked},
	}
}

func correctionCases() []testcase {
	return []testcase{
		{"a correction of a paid line is refused by default", "a vendor that only adds pays both amounts", correctionRefused},
		{"a correction is sent where the vendor replaces", "a correction is never paid", correctionReplaces},
		{"a correction goes to no other vendor", "two vendors each pay a version in full", correctionElsewhere},
		{"a correction of a line that was blocked", "a status page hides what was corrected", correctionAfterBlock},
		{"a version over one paid outside is a correction", "a person paid by cheque is paid again", correctionOfCheque},
	}
}

// overtakes submits a second version of ann's payment and returns its batch.
func (f *fixture) overtakes() *batch {
	f.Helper()
	return f.submit(pay("ann").version(2).amount(2_000_00))
}

func versionOverPending(f *fixture) {
	old := f.submit(pay("ann"), pay("bob"))
	before := old.token()
	newer := f.overtakes()
	old.stands(payroll.Superseded, payroll.Pending)
	newer.stands(payroll.Pending)
	same(f, "blocked", newer.receipt.Blocked, 0)
	if old.token().ChangeSeq <= before.ChangeSeq {
		f.Fatalf("change_seq did not rise: a plan made before could still send the old version")
	}
	w := f.claim()
	w.finish(old)
	w.finish(newer)
	old.stands(payroll.Superseded, payroll.Settled)
	same(f, "state", old.token().State, store.Completed)
}

func versionOverRetrying(f *fixture) {
	old := f.submit(pay("ann"))
	f.claim().openFresh(old, 1).answer(refused)
	f.overtakes()
	old.stands(payroll.Superseded)
	same(f, "state", old.token().State, store.Completed)
	f.after(24 * 3600e9)
	same(f, "due lines", len(old.due()), 0)
}

// waitsBehind fails unless the newer batch's only line waits for ref.
func (b *batch) waitsBehind(ref payroll.LineRef, s payroll.State) {
	b.f.Helper()
	b.stands(payroll.Pending)
	same(b.f, "blocked by", b.trouble(1).BlockedBy, ref)
	same(b.f, "blocked by the key", b.line(1).BlockedBy, b.f.keyOf(ref))
	same(b.f, "lines to be sent", b.sendable(), 0)
	blocked := b.blocked()
	same(b.f, "lines that wait", len(blocked), 1)
	same(b.f, "ordinal", blocked[0].Ordinal, 1)
	same(b.f, "waits for", blocked[0].Older.Ref, ref)
	same(b.f, "whose state is", blocked[0].Older.State, s)
	b.f.after(3600e9)
	same(b.f, "lines to be sent later", b.sendable(), 0)
}

func versionOverInFlight(f *fixture) {
	old := f.submit(pay("ann"))
	a := f.claim().openFresh(old, 1)
	newer := f.overtakes()
	same(f, "blocked", newer.receipt.Blocked, 1)
	old.stands(payroll.InFlight)
	newer.waitsBehind(old.ref(1), payroll.InFlight)
	a.answer(paid)
	newer.waitsBehind(old.ref(1), payroll.Settled)
}

func versionOverUnknown(f *fixture) {
	old := f.submit(pay("ann"))
	f.claim().openFresh(old, 1).answer(lost)
	newer := f.overtakes()
	same(f, "blocked", newer.receipt.Blocked, 1)
	old.stands(payroll.Unknown)
	newer.waitsBehind(old.ref(1), payroll.Unknown)
	same(f, "ambiguous", newer.blocked()[0].Older.Ambiguous, true)
	same(f, "vendor", newer.blocked()[0].Older.Vendor, f.unit.Vendor)
	same(f, "the old line is due and known to be superseded", old.due()[0].Superseded, true)
}

func versionOverParked(f *fixture) {
	old := f.submit(pay("ann"))
	f.claim().park(old, 1)
	newer := f.overtakes()
	newer.waitsBehind(old.ref(1), payroll.DeadLettered)
	same(f, "reason", newer.blocked()[0].Older.Reason, payroll.OutcomeUnknown)
	same(f, "the parked letter", old.letter(1).Status, store.LetterOpen)
	old.amend("close", closing(payroll.WrittenOff), 1)
	same(f, "how it was closed", newer.blocked()[0].Older.LetterClosed, payroll.WrittenOff)
}

func versionOverDead(f *fixture) {
	old := f.submit(pay("ann"))
	w := f.claim()
	w.openFresh(old, 1).answer(rejected)
	newer := f.overtakes()
	l := old.letter(1)
	same(f, "status", l.Status, store.LetterClosed)
	same(f, "closed as", l.ClosedAs, string(payroll.Corrected))
	old.stands(payroll.DeadLettered)
	same(f, "blocked", newer.receipt.Blocked, 0)
	w.finish(newer)
	newer.stands(payroll.Settled)
}

func versionOverCancelled(f *fixture) {
	old := f.submit(pay("ann"))
	old.cancel()
	newer := f.overtakes()
	f.claim().finish(newer)
	newer.stands(payroll.Settled)
	old.stands(payroll.Cancelled)
}

func versionLate(f *fixture) {
	newer := f.overtakes()
	late := f.submit(pay("ann"), pay("bob"))
	late.stands(payroll.Superseded, payroll.Pending)
	newer.stands(payroll.Pending)
	f.mustEqual("fresh lines", late.fresh(10), []payroll.Line{asRequested(*late.item(2).Line)})
	same(f, "state of the key", f.liveLine(late.lineKey(1)).State, payroll.Superseded)
	middle := f.submit(pay("cho").version(3))
	same(f, "lines to be sent", middle.sendable(), 1)
	f.submit(pay("cho").version(2)).stands(payroll.Superseded)
}

func versionResubmitted(f *fixture) {
	f.submit(pay("ann"))
	newer := f.overtakes()
	f.submit(pay("ann")).stands(payroll.Superseded)
	f.claim().finish(newer)
	f.submit(pay("ann")).stands(payroll.Superseded)
}

func versionCancelledResubmitted(f *fixture) {
	f.submit(pay("ann")).cancel()
	newer := f.overtakes()
	again := f.submit(pay("ann"))
	again.stands(payroll.Superseded)
	newer.stands(payroll.Pending)

	w := f.claim()
	dead := f.submit(pay("bob"))
	w.openFresh(dead, 1).answer(rejected)
	f.submit(pay("bob").version(2))
	f.submit(pay("bob")).stands(payroll.Superseded)
}

func versionsInOneBody(f *fixture) {
	b := f.submit(pay("ann"), pay("bob").version(2), pay("ann").version(2), pay("bob"), pay("cho"))
	b.stands(payroll.Superseded, payroll.Pending, payroll.Pending, payroll.Superseded, payroll.Pending)
	same(f, "lines to be sent", b.sendable(), 3)
	f.claim().finish(b)
	same(f, "state", b.token().State, store.Completed)
}

func versionChain(f *fixture) {
	first := f.submit(pay("ann"))
	a := f.claim().openFresh(first, 1)
	second := f.overtakes()
	third := f.submit(pay("ann").version(3))
	second.stands(payroll.Superseded)
	third.waitsBehind(first.ref(1), payroll.InFlight)
	a.answer(rejected)
	first.stands(payroll.Superseded)
	third.waitsBehind(first.ref(1), payroll.Superseded)
}

func versionOtherRef(f *fixture) {
	salary := f.submit(pay("ann"))
	bonus := f.submit(pay("ann").ref("bonus").version(2))
	salary.stands(payroll.Pending)
	bonus.stands(payroll.Pending)
	same(f, "lines to be sent", salary.sendable()+bonus.sendable(), 2)
}

func versionKnownToReplay(f *fixture) {
	old := f.submit(pay("ann"), pay("bob"))
	w := f.claim()
	w.openFresh(old, 2).answer(rejected)
	f.overtakes()
	var seen []payroll.Standing
	old.amend("replay", func(s payroll.Standing) payroll.Change {
		seen = append(seen, s)
		return payroll.Change{Ordinal: s.Line.Ordinal, Trouble: s.Trouble}
	}, 1, 2)
	same(f, "superseded", seen[0].Superseded, true)
	same(f, "closed as", seen[0].LetterClosed, payroll.Corrected)
	same(f, "superseded", seen[1].Superseded, false)
	same(f, "closed as", seen[1].LetterClosed, "")
}

func versionKnownToAnswer(f *fixture) {
	old := f.submit(pay("ann"), pay("bob"))
	a := f.claim().openFresh(old, 2)
	newer := f.overtakes()
	a.answer(returned)
	old.stands(payroll.Superseded, payroll.Pending)
	newer.waitsBehind(old.ref(1), payroll.Superseded)
}

func versionElsewhere(f *fixture) {
	old := f.submit(pay("ann"), pay("bob"))
	w := f.claim()
	o := w.planFresh(old, 2)
	f.elsewhere().overtakes()
	old.stands(payroll.Superseded, payroll.Pending)
	f.unchanged("an open planned before", func() { f.mustBe(f.store.Open(f.Context(), o), store.ErrChanged) })
}

func versionRetakenWaits(f *fixture) {
	old := f.submit(pay("ann"))
	w := f.claim()
	w.openFresh(old, 1)
	f.overtakes().cancel()
	second := f.overtakes()
	second.waitsBehind(old.ref(1), payroll.InFlight)
	w.decide(second, givenUp(payroll.CutoffPassed, payroll.StageSend), 1)
	third := f.overtakes()
	third.waitsBehind(old.ref(1), payroll.InFlight)
	same(f, "blocked", third.receipt.Blocked, 1)
}

func versionUnblocked(f *fixture) {
	old := f.submit(pay("ann"))
	w := f.claim()
	a := w.openFresh(old, 1)
	newer := f.overtakes()
	a.answer(rejected)
	w.decide(newer, unblocked(f.now), 1)
	same(f, "lines that wait", len(newer.blocked()), 0)
	same(f, "blocked by", newer.line(1).BlockedBy, "")
	w.finish(newer)
	newer.stands(payroll.Settled)
}

// corrects fails unless the batch says that its only line corrects paid.
func (b *batch) corrects(paid *batch) {
	b.f.Helper()
	got := read[[]store.CorrectionView](b.f)(b.f.store.Corrections(b.f.Context(), b.id, 10))
	b.f.mustEqual("corrections", got, []store.CorrectionView{{LineKey: b.lineKey(1), Corrects: []string{paid.lineKey(1)}}})
}

func correctionRefused(f *fixture) {
	old := f.submit(pay("ann"))
	f.claim().finish(old)
	newer := f.overtakes()
	newer.stands(payroll.DeadLettered)
	l := newer.letter(1)
	same(f, "reason", l.Reason, payroll.CorrectionRefused)
	same(f, "stage", l.Stage, payroll.StageIntake)
	same(f, "status", l.Status, store.LetterOpen)
	newer.corrects(old)
	old.stands(payroll.Settled)
}

// replacing is a second version of ann's payment for a vendor that replaces.
func (f *fixture) replacing() *batch {
	f.Helper()
	d := f.draft(pay("ann").version(2).amount(2_000_00))
	d.corrections = payroll.CorrectionsReplace
	return f.accept(d)
}

func correctionReplaces(f *fixture) {
	old := f.submit(pay("ann"))
	w := f.claim()
	w.finish(old)
	newer := f.replacing()
	newer.stands(payroll.Pending)
	newer.corrects(old)
	w.finish(newer)
	newer.stands(payroll.Settled)
	old.stands(payroll.Settled)
	f.submit(pay("ann")).stands(payroll.Settled)
}

func correctionElsewhere(f *fixture) {
	old := f.submit(pay("ann"))
	f.claim().finish(old)
	newer := f.elsewhere().replacing()
	newer.stands(payroll.DeadLettered)
	same(f, "reason", newer.letter(1).Reason, payroll.CorrectionRefused)
	newer.corrects(old)
}

func correctionAfterBlock(f *fixture) {
	old := f.submit(pay("ann"))
	w := f.claim()
	a := w.openFresh(old, 1)
	newer := f.replacing()
	newer.waitsBehind(old.ref(1), payroll.InFlight)
	a.answer(paid)
	f.must(f.store.Correct(f.Context(), newer.id, 1, old.ref(1)))
	f.must(f.store.Correct(f.Context(), newer.id, 1, old.ref(1))) // a crash between this and the send repeats it
	newer.corrects(old)
	w.decide(newer, unblocked(f.now), 1)
	w.finish(newer)
	newer.stands(payroll.Settled)
}

func correctionOfCheque(f *fixture) {
	old := f.submit(pay("ann"))
	f.claim().openFresh(old, 1).answer(rejected)
	old.amend("close", closing(payroll.PaidOutside), 1)
	newer := f.replacing()
	newer.stands(payroll.DeadLettered)
	same(f, "reason", newer.letter(1).Reason, payroll.CorrectionRefused)
}
