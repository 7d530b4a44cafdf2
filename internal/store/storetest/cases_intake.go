package storetest

import (
	"errors"
	"iter"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func intakeCases() []testcase {
	return []testcase{
		{"a batch is stored as it was sent", "what is paid is not what HR sent", storedAsSent},
		{"the same content again is replayed", "HR's own retry makes a second pay run", sameContentAgain},
		{"the same content again after a cancel", "a retried POST revives or breaks a cancelled run", sameContentAfterCancel},
		{"the same content with rows that were refused", "a file with a bad row can never be posted again safely", sameContentWithRefusedRows},
		{"other content names its first difference", "two pay runs under one key, or HR searching a million rows by hand", otherContent},
		{"other content in a refused row", "a corrected bad row is taken for the same file and stays unpaid", otherRefusedRow},
		{"other content of another length", "a truncated file passes for the whole one", otherLength},
		{"other envelope", "a new cut-off is silently ignored", otherEnvelope},
		{"refused rows are dead letters without a line", "a row that could not be read disappears", refusedRows},
		{"a batch of refused rows only is complete", "a batch that never ends", onlyRefusedRows},
		{"a line dead at intake", "an amount beyond the limits is paid, or its line cannot be replayed", deadAtIntake},
		{"an error of the rows stores nothing", "half a file is paid", rowsError},
		{"totals by currency", "yen and dollars are added up", totalsByCurrency},
		{"a new batch takes its unit's epoch", "the owner cannot work on a batch that came while it works", batchTakesEpoch},
	}
}

func strictCases() []testcase {
	return []testcase{
		{"strict: refused rows refuse the whole", "a strict caller gets half a pay run", strictRefusesRejects},
		{"strict: a clash refuses the whole", "a strict caller gets half a pay run", strictRefusesClash},
		{"strict: a correction that may not be sent refuses the whole", "a strict caller gets half a pay run", strictRefusesCorrection},
		{"strict: a refusal moves nothing of other batches", "a refused file supersedes what it was to replace", strictMovesNothing},
		{"strict: a clean file is stored", "strict refuses everything", strictTakesClean},
	}
}

func storedAsSent(f *fixture) {
	d := f.draft(pay("ann"), pay("bob").ref("bonus").amount(-250_00), pay("cho").in("JPY").amount(300_000), pay(`o"neil \ 007`))
	d.batch.CutoffAt = f.now.Add(48 * 3600e9)
	b := f.accept(d)

	t := b.token()
	want := d.submission(f.now).Batch
	want.ID = b.id
	f.mustEqual("the batch", t.Batch, want)
	same(f, "state", t.State, store.Queued)
	same(f, "next ordinal", t.NextOrdinal, 1)
	same(f, "next attempt", t.NextAttempt, 1)
	same(f, "last cursor", t.LastCursor, 0)
	for i, v := range b.lines(0) {
		f.mustEqual("a line", v.Line, *b.item(int32(i + 1)).Line)
	}
	same(f, "fresh lines", len(b.fresh(10)), 4)
	f.mustEqual("by its resume token", read[store.Token](f)(f.store.Token(f.Context(), b.tenant(), t.Token)), t)
}

func sameContentAgain(f *fixture) {
	b := f.submit(crew("staff", 5)...)
	f.unchanged("the same content again", func() {
		again := f.accept(b.draft)
		same(f, "replayed", again.receipt.Replayed, true)
		same(f, "batch", again.id, b.id)
	})
	f.claim().openFresh(b, 5).answer(paid)
	f.unchanged("the same content after it was paid", func() {
		same(f, "replayed", f.accept(b.draft).receipt.Replayed, true)
	})
}

func sameContentAfterCancel(f *fixture) {
	b := f.submit(crew("staff", 5)...)
	b.cancel()
	f.unchanged("the same content after a cancel", func() {
		again := f.accept(b.draft)
		same(f, "replayed", again.receipt.Replayed, true)
		same(f, "batch", again.id, b.id)
	})
}

func sameContentWithRefusedRows(f *fixture) {
	f.submit(pay("ann"))
	clash := pay("ann").amount(9_99)
	b := f.submit(pay("bob"), poison("garbage"), clash, misread("cho", 100_00, "USD"), pay("dee").capped())
	same(f, "duplicates", b.receipt.Duplicates, 1)
	f.unchanged("the same content again", func() {
		same(f, "replayed", f.accept(b.draft).receipt.Replayed, true)
	})
}

// differs has a changed draft of b refused and returns the first difference.
func (b *batch) differs(rows ...row) int32 {
	b.f.Helper()
	d := b.draft
	d.rows = rows
	var ordinal int32
	b.f.unchanged("other content", func() {
		_, err := b.f.tryAccept(d)
		ordinal = mustAs[*store.ContentDiffersError](b.f, err).Ordinal
	})
	return ordinal
}

func otherContent(f *fixture) {
	b := f.submit(pay("ann"), pay("bob"), pay("cho"), pay("dee"))
	same(f, "first difference", b.differs(pay("ann"), pay("bob"), pay("cho").amount(1), pay("eve")), 3)
	same(f, "first difference", b.differs(pay("bob"), pay("ann"), pay("cho"), pay("dee")), 1)
	b.cancel()
	same(f, "first difference after a cancel", b.differs(pay("ann"), pay("bob"), pay("cho"), pay("eve")), 4)
}

func otherRefusedRow(f *fixture) {
	f.submit(pay("eve"))
	b := f.submit(pay("ann"), poison("garbage"), pay("bob"), pay("eve").amount(1))
	same(f, "another refused row", b.differs(pay("ann"), poison("rubbish"), pay("bob"), pay("eve").amount(1)), 2)
	same(f, "a line instead of a refused row", b.differs(pay("ann"), pay("cho"), pay("bob"), pay("eve").amount(1)), 2)
	same(f, "a refused row instead of a line", b.differs(pay("ann"), poison("garbage"), poison("more"), pay("eve").amount(1)), 3)
	same(f, "another clashing row", b.differs(pay("ann"), poison("garbage"), pay("bob"), pay("eve").amount(2)), 4)
}

func otherLength(f *fixture) {
	b := f.submit(pay("ann"), pay("bob"), pay("cho"))
	same(f, "a shorter file", b.differs(pay("ann"), pay("bob")), 3)
	same(f, "a longer file", b.differs(pay("ann"), pay("bob"), pay("cho"), pay("dee")), 4)
}

func otherEnvelope(f *fixture) {
	b := f.submit(pay("ann"), pay("bob"))
	d := b.draft
	d.batch.CutoffAt = f.now.Add(3600e9)
	f.unchanged("another cut-off", func() {
		_, err := f.tryAccept(d)
		same(f, "first difference", mustAs[*store.ContentDiffersError](f, err).Ordinal, 0)
	})
}

func refusedRows(f *fixture) {
	b := f.submit(poison("not json"), pay("ann"), misread("bob", 70_00, "EUR"))
	t := b.token()
	same(f, "rejected", t.Rejected, 2)
	same(f, "dead-lettered", t.Counts.Of(payroll.DeadLettered), 2)
	same(f, "euros", t.Amounts["EUR"], payroll.Amounts{Total: 70_00, DeadLettered: 70_00})
	same(f, "lines", len(b.lines(0)), 1)

	listed := read[[]store.Letter](f)(f.store.Rejected(f.Context(), b.id, 1))
	same(f, "the first refused item", listed[0].Ordinal, 1)
	l := b.letter(1)
	same(f, "payload", string(l.Payload), "not json")
	same(f, "reason", l.Reason, payroll.PoisonMessage)
	same(f, "stage", l.Stage, payroll.StageIntake)
	same(f, "status", l.Status, store.LetterOpen)
	same(f, "has a line", l.Standing != nil, false)
	l = b.letter(3)
	same(f, "employee", l.EmployeeID, "bob")
	same(f, "amount", l.Amount, 70_00)
	same(f, "detail", l.LastError, "line_version: must be an integer")
}

func onlyRefusedRows(f *fixture) {
	b := f.submit(poison("a"), poison("b"))
	t := b.token()
	same(f, "state", t.State, store.Completed)
	same(f, "complete", t.Complete(), true)
	units := read[[]store.Claimable](f)(f.store.Claimable(f.Context(), f.now, lockTTL, 10))
	same(f, "units to work on", len(units), 0)
}

func deadAtIntake(f *fixture) {
	b := f.submit(pay("ann").capped(), pay("bob"))
	b.stands(payroll.DeadLettered, payroll.Pending)
	same(f, "rejected", b.token().Rejected, 1)
	same(f, "reason of the line", b.line(1).Reason, payroll.StatutoryCapBreach)
	l := b.letter(1)
	same(f, "stage", l.Stage, payroll.StageIntake)
	same(f, "line key", l.LineKey, b.lineKey(1))
	same(f, "has a line", l.Standing != nil, true)
	f.mustEqual("fresh lines", b.fresh(10), []payroll.Line{asRequested(*b.item(2).Line)})

	w := f.claim()
	b.replay(1)
	w.resend(b, 1).answer(paid)
	w.finish(b)
	b.stands(payroll.Settled)
}

func rowsError(f *fixture) {
	f.submit(pay("ann").version(1))
	broken := errors.New("the spool is broken")
	d := f.draft(crew("staff", 3000)...)
	d.rows[0] = pay("ann").version(2)
	s := d.submission(f.now)
	s.Rows = failing(s.Rows, 2500, broken)
	f.unchanged("rows that end with an error", func() {
		_, err := f.store.Accept(f.Context(), s)
		f.mustBe(err, broken)
	})
	_, err := f.store.Batch(f.Context(), f.unit.Tenant, d.batch.Key())
	f.mustBe(err, store.ErrNotFound)
	same(f, "replayed when it is sent whole", f.accept(d).receipt.Replayed, false)
}

// failing yields n rows and then an error.
func failing(rows func() iter.Seq2[store.Row, error], n int, err error) func() iter.Seq2[store.Row, error] {
	return func() iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			left := n
			for r, fault := range rows() {
				if left == 0 {
					yield(store.Row{}, err)
					return
				}
				left--
				if !yield(r, fault) {
					return
				}
			}
		}
	}
}

func totalsByCurrency(f *fixture) {
	b := f.submit(pay("ann").amount(100), pay("bob").in("JPY").amount(7000), pay("cho").amount(-30), misread("dee", 5, "JPY"), poison("?"))
	f.mustEqual("amounts", b.token().Amounts, map[string]payroll.Amounts{
		"USD": {Total: 70}, "JPY": {Total: 7005, DeadLettered: 5},
	})
	f.claim().openFresh(b, 3).answer(paid, rejected, paid)
	f.mustEqual("amounts", b.token().Amounts, map[string]payroll.Amounts{
		"USD": {Total: 70, Settled: 70}, "JPY": {Total: 7005, DeadLettered: 7005},
	})
}

func batchTakesEpoch(f *fixture) {
	f.submit(pay("ann"))
	f.claim()
	w := f.claim()
	b := f.submit(pay("bob"))
	same(f, "epoch", b.token().Epoch, w.tenure.Epoch)
	w.openFresh(b, 1).answer(paid)
}

// refusedStrictly has a draft refused whole, and returns the rows at fault that
// are listed and how many there are.
func (f *fixture) refusedStrictly(d draft) ([]payroll.Reject, int) {
	f.Helper()
	d.strict = true
	var refusal *store.RefusedError
	f.unchanged("a strict refusal", func() {
		_, err := f.tryAccept(d)
		refusal = mustAs[*store.RefusedError](f, err)
	})
	_, err := f.store.Batch(f.Context(), d.batch.Tenant, d.batch.Key())
	f.mustBe(err, store.ErrNotFound)
	return refusal.Rejects, refusal.Total
}

func strictRefusesRejects(f *fixture) {
	listed, total := f.refusedStrictly(f.draft(pay("ann"), poison("x"), misread("bob", 1, "USD"), pay("cho").capped()))
	same(f, "refused rows", total, 3)
	for i, ordinal := range []int32{2, 3, 4} {
		same(f, "refused item", listed[i].Ordinal, ordinal)
	}
	same(f, "its reason", listed[2].Reason, payroll.StatutoryCapBreach)

	rows := make([]row, 1200)
	for i := range rows {
		rows[i] = poison("x")
	}
	listed, total = f.refusedStrictly(f.draft(rows...))
	same(f, "refused rows", total, 1200)
	same(f, "listed rows", len(listed), 1000)
}

func strictRefusesClash(f *fixture) {
	f.submit(pay("ann"))
	listed, total := f.refusedStrictly(f.draft(pay("bob"), pay("ann").amount(1)))
	same(f, "refused rows", total, 1)
	same(f, "refused item", listed[0].Ordinal, 2)
	same(f, "its reason", listed[0].Reason, payroll.DuplicateNaturalKey)
}

func strictRefusesCorrection(f *fixture) {
	b := f.submit(pay("ann"))
	f.claim().finish(b)
	listed, total := f.refusedStrictly(f.draft(pay("bob"), pay("ann").version(2)))
	same(f, "refused rows", total, 1)
	same(f, "its reason", listed[0].Reason, payroll.CorrectionRefused)
}

func strictMovesNothing(f *fixture) {
	b := f.submit(pay("ann"), pay("bob"))
	b.cancel()
	f.submit(pay("cho"))
	f.refusedStrictly(f.draft(pay("ann"), pay("cho").version(2), poison("x")))
	again := f.submit(pay("ann"), pay("cho"))
	again.stands(payroll.Pending)
	same(f, "lines to be sent", again.sendable(), 1)
}

func strictTakesClean(f *fixture) {
	d := f.draft(crew("staff", 3)...)
	d.strict = true
	f.accept(d).stands(payroll.Pending)
}
