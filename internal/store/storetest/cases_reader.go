package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func readerCases() []testcase {
	return []testcase{
		{"what does not exist is not found", "a status page shows what is not there, or breaks", readNothing},
		{"lines page by ordinal, by state", "a list skips or repeats lines", readLinePages},
		{"an employee's lines over all batches of a period", "a person's payments are hidden", readEmployee},
		{"a tenant's batches page by page", "a list skips or repeats batches", readBatches},
		{"a line by its key", "a caller who knows the key cannot find the line", readLine},
		{"statistics", "an alert on stuck lines never fires", readStatistics},
		{"a list of refused rows is bounded", "a status page of a bad file is a million rows long", readRejected},
		{"the store tells the time and that it works", "the gateway's clock starts anywhere", readClock},
		{"a bad cursor is told from a broken store", "a caller's mistake looks like an outage", readBadCursor},
	}
}

func readNothing(f *fixture) {
	f.submit(pay("ann"))
	_, err := f.store.Batch(f.Context(), "acme", "batch_2026-03_00000000000000000000")
	f.mustBe(err, store.ErrNotFound)
	_, err = f.store.Token(f.Context(), "acme", uuid.New())
	f.mustBe(err, store.ErrNotFound)
	_, err = f.store.Letter(f.Context(), "acme", uuid.New())
	f.mustBe(err, store.ErrNotFound)
	for _, key := range []string{"nonsense", "pl_acme_2026-03_000000000000000000000000", "pl_acme_2099-01_000000000000000000000000"} {
		_, err = f.store.Line(f.Context(), "acme", key)
		f.mustBe(err, store.ErrNotFound)
	}
	_, err = f.store.Cancel(f.Context(), "acme", "batch_2026-03_00000000000000000000", "hr-key", f.now)
	f.mustBe(err, store.ErrNotFound)
	items, next, err := f.store.EmployeeLines(f.Context(), "acme", "2026-03", "nobody", store.Page{Limit: 10})
	f.must(err)
	same(f, "lines of nobody", len(items), 0)
	same(f, "the next page of nobody's", next, "")
}

func readLinePages(f *fixture) {
	b := f.submit(crew("staff", 23)...)
	f.claim().openFresh(b, 20).answer(paid, refused, paid, refused, paid)
	for _, limit := range []int{1, 5, 23, 1000} {
		for _, s := range []payroll.State{0, payroll.Settled, payroll.Retrying, payroll.Pending, payroll.Unknown} {
			got := pages(f, limit, func(ctx context.Context, p store.Page) ([]store.LineView, string, error) {
				return f.store.Lines(ctx, b.id, s, p)
			})
			f.mustEqual(fmt.Sprintf("lines %v in pages of %d", s, limit), got, b.lines(s))
		}
	}
	for i, v := range b.lines(0) {
		same(f, "ordinal", v.Line.Ordinal, int32(i+1))
		f.mustEqual("line", v.Line, *b.item(int32(i + 1)).Line)
		same(f, "batch key", v.BatchKey, b.key())
		same(f, "tenant and period", v.Tenant+" "+v.PayPeriod, "acme 2026-03")
	}
}

func readEmployee(f *fixture) {
	first := f.submit(pay("ann"), pay("bob"), pay("ann").ref("bonus"))
	second := f.submit(pay("cho"), pay("ann"), pay("ann").ref("bonus").version(2))
	f.at(payroll.Unit{Tenant: "acme", PayPeriod: "2026-04", Vendor: "paywell"}).submit(pay("ann"))
	f.claim().openFresh(first, 1).answer(refused)
	for _, limit := range []int{1, 3, 100} {
		got := pages(f, limit, func(ctx context.Context, p store.Page) ([]store.LineView, string, error) {
			return f.store.EmployeeLines(ctx, "acme", "2026-03", "ann", p)
		})
		same(f, "lines", len(got), 4)
		for _, v := range got {
			b := first
			if v.BatchKey == second.key() {
				b = second
			}
			f.mustEqual("a line", v, b.line(v.Line.Ordinal))
		}
	}
}

func readBatches(f *fixture) {
	want := map[string]bool{}
	for range 7 {
		want[f.submit(pay("ann")).key()] = true
	}
	f.at(payroll.Unit{Tenant: "bolt", PayPeriod: "2026-03", Vendor: "paywell"}).submit(pay("ann"))
	for _, limit := range []int{1, 3, 7, 50} {
		seen := map[string]bool{}
		for _, t := range pages(f, limit, func(ctx context.Context, p store.Page) ([]store.Token, string, error) {
			return f.store.Batches(ctx, "acme", p)
		}) {
			if seen[t.Batch.Key()] {
				f.Fatalf("a batch is listed twice")
			}
			seen[t.Batch.Key()] = true
		}
		f.mustEqual(fmt.Sprintf("batches in pages of %d", limit), seen, want)
	}
}

func readLine(f *fixture) {
	b := f.submit(pay("ann"), pay(`o'neil "7"`).ref("x_y"))
	w := f.claim()
	w.openFresh(b, 2).answer(refused, rejected)
	f.after(time.Hour)
	w.resend(b, 1)
	for _, o := range []int32{1, 2} {
		got := f.liveLine(b.lineKey(o))
		attempts := got.Attempts
		got.Attempts = nil
		f.mustEqual("the line", got, b.line(o))
		same(f, "attempts", len(attempts), int(3-o))
	}
	open := f.liveLine(b.lineKey(1)).Attempts[1]
	f.mustEqual("an attempt that is open", open, store.HistoryEntry{AttemptID: store.AttemptID(b.key(), 2), Kind: payroll.Submit, SentAt: f.now})
	same(f, "reason", f.liveLine(b.lineKey(2)).Reason, payroll.VendorRejected)
}

func readStatistics(f *fixture) {
	none := read[store.Statistics](f)(f.store.Statistics(f.Context()))
	same(f, "oldest unsettled of nothing", none.OldestUnsettled.IsZero(), true)
	oldest := f.now
	b := f.submit(crew("staff", 6)...)
	f.after(time.Hour)
	done := f.submit(pay("ann"), poison("x"))
	w := f.claim()
	w.finish(done)
	w.openFresh(b, 4).answer(refused, lost, rejected, paid)
	w.openFresh(b, 1)
	s := read[store.Statistics](f)(f.store.Statistics(f.Context()))
	same(f, "lines of unfinished batches", s.Lines, b.token().Counts)
	same(f, "oldest unsettled", s.OldestUnsettled.Equal(oldest), true)
	same(f, "retry queue", s.RetryDepth, 2)
	f.mustEqual("open dead letters", s.OpenLetters, map[store.LetterLabels]int64{
		{Reason: payroll.PoisonMessage, Stage: payroll.StageIntake}:    1,
		{Reason: payroll.VendorRejected, Stage: payroll.StageResponse}: 1,
	})
}

func readRejected(f *fixture) {
	rows := []row{pay("ann")}
	for i := range 12 {
		rows = append(rows, poison(fmt.Sprint(i)))
	}
	b := f.submit(rows...)
	listed := read[[]store.Letter](f)(f.store.Rejected(f.Context(), b.id, 10))
	same(f, "listed", len(listed), 10)
	for i, l := range listed {
		same(f, "ordinal", l.Ordinal, int32(i+2))
		same(f, "detail", l.LastError, "is not an object")
	}
}

func readClock(f *fixture) {
	f.must(f.store.Ping(f.Context()))
	first := read[time.Time](f)(f.store.Now(f.Context()))
	second := read[time.Time](f)(f.store.Now(f.Context()))
	if first.IsZero() || second.Before(first) {
		f.Fatalf("the store's clock says %v, then %v", first, second)
	}
	if p := f.store.Precision(); p <= 0 || p > time.Millisecond {
		f.Fatalf("times are kept to %v", p)
	}
}

func readBadCursor(f *fixture) {
	b := f.submit(crew("staff", 3)...)
	bad := store.Page{Limit: 10, After: "%%%"}
	_, _, err := f.store.Lines(f.Context(), b.id, 0, bad)
	f.mustBe(err, store.ErrBadCursor)
	_, _, err = f.store.Batches(f.Context(), "acme", bad)
	f.mustBe(err, store.ErrBadCursor)
	_, _, err = f.store.EmployeeLines(f.Context(), "acme", "2026-03", "ann", bad)
	f.mustBe(err, store.ErrBadCursor)
}
