package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func letterCases() []testcase {
	return []testcase{
		{"a dead letter has the whole story", "a person cannot judge what happened to a line", letterStory},
		{"a dead letter keeps the row", "a person cannot see what was to be paid", letterPayload},
		{"dead letters by filter", "an operator replays what was not asked for", letterFilters},
		{"pages of dead letters of one instant", "a page skips dead letters with equal times", letterPages},
		{"more than ten thousand dead letters", "the oldest dead letters are dropped", lettersNeverEvicted},
		{"a refused row is closed", "a refused row asks for a person for ever", rejectClosed},
		{"a refused row is closed once, and no line's letter is", "a close hides a line, or who closed it", rejectClosedOnce},
		{"a cut row says so", "a payload passes for the whole row", letterCut},
	}
}

func letterStory(f *fixture) {
	f.policy.LookUp = true
	d := f.draft(pay("bob"), pay("ann").amount(1_830_50))
	d.batch.CutoffAt = f.now.Add(72 * time.Hour)
	b := f.accept(d)
	w := f.claim()
	start := f.now
	w.openFresh(b, 2).answer(paid, refused)
	f.after(time.Hour)
	w.resend(b, 2).answer(lost)
	f.after(time.Hour)
	w.lookUp(b, 2).answer(absent)
	f.after(time.Hour)
	w.resend(b, 2).answer(rejected)

	l := b.letter(2)
	want := store.Letter{
		ID: l.ID, Tenant: "acme", Vendor: "paywell", BatchID: b.id, BatchKey: b.key(), PayPeriod: "2026-03", Ordinal: 2,
		LineKey: b.lineKey(2), EmployeeID: "ann", Amount: 1_830_50, Currency: "USD", CutoffAt: d.batch.CutoffAt,
		Status: store.LetterOpen, Reason: payroll.VendorRejected, Stage: payroll.StageResponse,
		LastStatus: 422, LastError: l.LastError, Attempts: 4, Payload: l.Payload,
		FirstSeenAt: start, DeadLetteredAt: f.now, Standing: l.Standing,
		History: []store.HistoryEntry{
			story(b, 1, payroll.Submit, start, refused), story(b, 2, payroll.Submit, start.Add(time.Hour), lost),
			story(b, 3, payroll.LookUp, start.Add(2*time.Hour), absent), story(b, 4, payroll.Submit, start.Add(3*time.Hour), rejected),
		},
	}
	f.mustEqual("the dead letter", l, want)
	same(f, "names the vendor's words", strings.Contains(l.LastError, rejected.Detail), true)
	same(f, "its line today", l.Standing.State, payroll.DeadLettered)
	f.mustEqual("attempts of the line", f.liveLine(b.lineKey(2)).Attempts, want.History)

	listed := b.letters()[0]
	want.History, want.Payload, want.Standing, listed.Standing = nil, nil, nil, nil
	f.mustEqual("in a list", listed, want)
}

// story is how a reading shows in a line's history.
func story(b *batch, no int32, kind payroll.AttemptKind, at time.Time, r payroll.Reading) store.HistoryEntry {
	return store.HistoryEntry{AttemptID: store.AttemptID(b.key(), no), Kind: kind, SentAt: at, HTTPStatus: r.Status, Verdict: r.Verdict, Detail: r.Detail}
}

func letterPayload(f *fixture) {
	b := f.submit(pay("ann").ref("bonus").version(2), pay("bob").capped())
	f.claim().openFresh(b, 1).answer(rejected)
	for _, o := range []int32{1, 2} {
		want, cut := store.Payload(*b.item(o).Line)
		l := b.letter(o)
		same(f, "payload", string(l.Payload), string(want))
		same(f, "cut", l.PayloadCut, cut)
	}
}

func letterFilters(f *fixture) {
	b := f.submit(pay("ann"), pay("bob"), pay("cho"), poison("x"), pay("dee").capped())
	w := f.claim()
	w.openFresh(b, 3).answer(rejected, rejected, lost)
	w.decide(b, givenUp(payroll.OutcomeUnknown, payroll.StageResolve), 3)
	b.amend("close", closing(payroll.WrittenOff), 1)
	other := f.elsewhere().submit(poison("y"))
	next := f.at(payroll.Unit{Tenant: "acme", PayPeriod: "2026-04", Vendor: "paywell"}).submit(poison("z"))
	f.at(payroll.Unit{Tenant: "bolt", PayPeriod: "2026-03", Vendor: "paywell"}).submit(poison("w"))
	for _, c := range []struct {
		filter store.LetterFilter
		want   int
	}{
		{store.LetterFilter{}, 7},
		{store.LetterFilter{Status: store.LetterOpen}, 6},
		{store.LetterFilter{Status: store.LetterClosed}, 1},
		{store.LetterFilter{Status: store.LetterReplayed}, 0},
		{store.LetterFilter{Reason: payroll.VendorRejected}, 2},
		{store.LetterFilter{Reason: payroll.VendorRejected, Status: store.LetterOpen}, 1},
		{store.LetterFilter{Class: payroll.UnknownClass}, 1},
		{store.LetterFilter{Class: payroll.Permanent}, 6},
		{store.LetterFilter{Class: payroll.Transient}, 0},
		{store.LetterFilter{Stage: payroll.StageIntake}, 4},
		{store.LetterFilter{Stage: payroll.StageResponse}, 2},
		{store.LetterFilter{Vendor: "otherpay"}, 1},
		{store.LetterFilter{BatchKey: other.key()}, 1},
		{store.LetterFilter{BatchKey: b.key(), Vendor: "otherpay"}, 0},
		{store.LetterFilter{PayPeriod: "2026-04"}, 1},
		{store.LetterFilter{BatchKey: next.key(), PayPeriod: "2026-04", Stage: payroll.StageIntake, Class: payroll.Permanent}, 1},
	} {
		c.filter.Tenant = "acme"
		what := fmt.Sprintf("letters by %+v", c.filter)
		same(f, what, len(f.letters(c.filter, 2)), c.want)
		same(f, "counted "+what, read[int](f)(f.store.CountLetters(f.Context(), c.filter)), c.want)
	}
}

func letterPages(f *fixture) {
	rows := make([]row, 25)
	for i := range rows {
		rows[i] = poison(fmt.Sprint(i))
	}
	b := f.submit(rows...)
	f.submit(poison("another"))
	for _, limit := range []int{1, 2, 7, 25, 100} {
		seen := map[uuid.UUID]bool{}
		for _, l := range f.letters(store.LetterFilter{Tenant: "acme", BatchKey: b.key()}, limit) {
			seen[l.ID] = true
		}
		same(f, fmt.Sprintf("letters in pages of %d", limit), len(seen), 25)
	}
	_, _, err := f.store.Letters(f.Context(), store.LetterFilter{Tenant: "acme"}, store.Page{Limit: 10, After: "no cursor of ours"})
	f.mustBe(err, store.ErrBadCursor)
}

func lettersNeverEvicted(f *fixture) {
	const n = 10_050
	rows := make([]row, n)
	for i := range rows {
		rows[i] = poison(fmt.Sprint(i))
	}
	f.submit(rows...)
	seen := map[int32]bool{}
	for _, l := range pages(f, 1000, func(ctx context.Context, p store.Page) ([]store.Letter, string, error) {
		return f.store.Letters(ctx, store.LetterFilter{Tenant: "acme", Status: store.LetterOpen}, p)
	}) {
		seen[l.Ordinal] = true
	}
	same(f, "dead letters", len(seen), n)
}

// closeReject closes the dead letter of a refused row.
func (f *fixture) closeReject(l store.Letter, as payroll.CloseReason) error {
	f.Helper()
	note := store.CloseNote{Note: "sent again by hand", RootCause: "export"}
	return f.store.CloseReject(f.Context(), l.Tenant, l.ID, as, note, "operator-key", f.now)
}

func rejectClosed(f *fixture) {
	b := f.submit(poison("x"), pay("ann"))
	f.after(time.Hour)
	want := b.letter(1)
	f.must(f.closeReject(want, payroll.WrittenOff))
	f.mustAddUp()
	want.Status, want.ClosedAt, want.ClosedAs = store.LetterClosed, f.now, string(payroll.WrittenOff)
	want.Actor, want.Note, want.RootCause = "operator-key", "sent again by hand", "export"
	f.mustEqual("the letter", b.letter(1), want)
	same(f, "dead-lettered", b.token().Counts.Of(payroll.DeadLettered), 1)
}

func rejectClosedOnce(f *fixture) {
	b := f.submit(poison("x"), pay("ann"))
	f.claim().openFresh(b, 1).answer(rejected)
	f.must(f.closeReject(b.letter(1), payroll.WrittenOff))
	f.after(time.Hour)
	f.unchanged("closes that have nothing to close", func() {
		for _, l := range []store.Letter{b.letter(1), b.letter(2)} {
			if err := f.closeReject(l, payroll.PaidOutside); err == nil {
				f.Fatalf("item %d was closed", l.Ordinal)
			}
		}
	})
}

func letterCut(f *fixture) {
	cut := poison(strings.Repeat("x", payroll.MaxPayload))
	cut.reject.PayloadCut = true
	l := f.submit(cut).letter(1)
	same(f, "bytes", len(l.Payload), payroll.MaxPayload)
	same(f, "cut", l.PayloadCut, true)
}
