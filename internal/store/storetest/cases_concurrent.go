package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func concurrentCases() []testcase {
	return []testcase{
		{"fifty writers", "a busy store refuses writes at once", fiftyWriters},
		{"many claimers, one owner", "two workers own a pay period", manyClaimers},
		{"one batch from many posts", "a retried POST makes two pay runs", manyPosts},
		{"two contents under one batch key", "two pay runs under one key", twoContents},
		{"overlapping batches at once", "a line is live in two batches", overlapsAtOnce},
		{"versions at once", "two versions of a payment are sent", versionsAtOnce},
		{"opens and a cancel at once", "a cancelled line is sent", opensAndCancel},
		{"opens at once", "a line is in two requests", opensAtOnce},
		{"answers at once", "an answer counts twice", answersAtOnce},
		{"intake and take-overs at once", "the owner is fenced from a batch that came while it took over", intakeAndClaim},
		{"replays and take-overs at once", "the owner is fenced from a batch that came back while it took over", replayAndClaim},
		{"opens and a newer version at once", "both versions are sent", opensAndVersion},
		{"followers mirrored at once", "two followers are promoted", mirrorsAtOnce},
		{"opposite orders", "a deadlock reaches a caller", oppositeOrders},
		{"readers see whole writes", "a status page shows counts that do not add up", readersSeeWhole},
	}
}

// together runs n calls at the same time and returns their errors by number.
func together(n int, call func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = call(i)
		})
	}
	close(start)
	all.Wait()
	return errs
}

// onlyOf fails on errors that are none of the allowed ones, and counts successes.
func (f *fixture) onlyOf(errs []error, allowed ...error) (succeeded int) {
	f.Helper()
	for i, err := range errs {
		if err == nil {
			succeeded++
			continue
		}
		if !slices.ContainsFunc(allowed, func(a error) bool { return errors.Is(err, a) }) {
			f.Fatalf("call %d: unexpected error: %v", i, err)
		}
	}
	return succeeded
}

// adopt makes the accountant look after a batch that was accepted elsewhere.
func (f *fixture) adopt(d draft, id int64) *batch {
	b := &batch{f: f, draft: d, id: id}
	f.batches = append(f.batches, b)
	return b
}

func fiftyWriters(f *fixture) {
	const writers = 50
	drafts, ids := make([]draft, writers), make([]int64, writers)
	units := make([]*fixture, writers)
	for i := range drafts {
		units[i] = f.at(payroll.Unit{Tenant: fmt.Sprintf("tenant-%d", i%10), PayPeriod: fmt.Sprintf("2026-%02d", i/10+1), Vendor: "paywell"})
		drafts[i] = units[i].draft(crew("staff", 20)...)
	}
	f.onlyOf(together(writers, func(i int) error { return f.payAlone(units[i].unit, drafts[i], &ids[i]) }))
	for i, d := range drafts {
		units[i].adopt(d, ids[i]).stands(payroll.Settled)
	}
	f.mustAddUp()
}

// payAlone takes a batch from its submission to its end without the fixture's
// verbs, which are not made for many goroutines.
func (f *fixture) payAlone(u payroll.Unit, d draft, id *int64) error {
	ctx := f.Context()
	r, err := f.store.Accept(ctx, d.submission(f.now))
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	*id = r.BatchID
	tenure, err := f.store.Claim(ctx, store.Claim{Unit: u, Owner: "w", Now: f.now, TTL: lockTTL})
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	t, err := f.store.Batch(ctx, u.Tenant, d.batch.Key())
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	all := store.Open{ChangeSeq: t.ChangeSeq, From: 1, Next: int32(len(d.rows)) + 1, Attempt: store.Attempt{
		BatchID: r.BatchID, No: 1, Epoch: tenure.Epoch, Kind: payroll.Submit, SentAt: f.now, SendBefore: f.now,
	}}
	work := store.Work{BatchID: r.BatchID, Epoch: tenure.Epoch, AttemptNo: 1, Cursor: int32(len(d.rows)), Now: f.now}
	b := &batch{f: f, draft: d}
	for i := range d.rows {
		all.Attempt.Ordinals = append(all.Attempt.Ordinals, int32(i+1))
		work.Clean = append(work.Clean, b.settledLine(int32(i+1), payroll.Reading{As: payroll.Created, Status: 201}))
	}
	if err := f.store.Open(ctx, all); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if _, err := f.store.Apply(ctx, work); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return nil
}

func manyClaimers(f *fixture) {
	f.submit(pay("ann"))
	const claimers = 16
	claims := make([]store.Claim, claimers)
	for i := range claims {
		claims[i] = f.claiming()
	}
	held, owners := make([]bool, claimers), 0
	errs := together(claimers, func(i int) error {
		_, err := f.store.Claim(f.Context(), claims[i])
		var alive *store.HeldError
		if held[i] = errors.As(err, &alive); held[i] {
			return nil
		}
		return err
	})
	f.onlyOf(errs)
	for _, h := range held {
		if !h {
			owners++
		}
	}
	same(f, "owners", owners, 1)
}

func manyPosts(f *fixture) {
	d := f.draft(crew("staff", 30)...)
	receipts := make([]store.Receipt, 16)
	f.onlyOf(together(len(receipts), func(i int) (err error) {
		receipts[i], err = f.store.Accept(f.Context(), d.submission(f.now))
		return err
	}))
	stored := 0
	for _, r := range receipts {
		same(f, "batch", r.BatchID, receipts[0].BatchID)
		if !r.Replayed {
			stored++
		}
	}
	same(f, "stored", stored, 1)
	f.adopt(d, receipts[0].BatchID).stands(payroll.Pending)
}

func twoContents(f *fixture) {
	one := f.draft(crew("staff", 10)...)
	other := one
	other.rows = crew("crew", 10)
	drafts := []draft{one, other}
	ids, differ := make([]int64, 12), make([]bool, 12)
	f.onlyOf(together(12, func(i int) error {
		r, err := f.store.Accept(f.Context(), drafts[i%2].submission(f.now))
		ids[i] = r.BatchID
		var d *store.ContentDiffersError
		if differ[i] = errors.As(err, &d); differ[i] {
			return nil
		}
		return err
	}))
	for i := range differ {
		same(f, "both contents were taken", differ[i], differ[i%2])
	}
	same(f, "one content was refused", differ[0] != differ[1], true)
	winner := 0
	if differ[0] {
		winner = 1
	}
	f.adopt(drafts[winner], ids[winner]).stands(payroll.Pending)
}

func overlapsAtOnce(f *fixture) {
	const runs = 8
	drafts, ids := make([]draft, runs), make([]int64, runs)
	for i := range drafts {
		rows := crew("staff", 25)
		if i%2 == 1 {
			slices.Reverse(rows)
		}
		drafts[i] = f.draft(rows...)
	}
	f.onlyOf(together(runs, func(i int) error {
		r, err := f.store.Accept(f.Context(), drafts[i].submission(f.now))
		ids[i] = r.BatchID
		return err
	}))
	for i, d := range drafts {
		f.adopt(d, ids[i])
	}
	f.mustAddUp()
	w, sent := f.claim(), 0
	for _, b := range f.batches {
		sent += b.sendable()
	}
	same(f, "lines to be sent", sent, 25)
	for _, b := range f.batches {
		w.finish(b)
	}
	for _, b := range f.batches {
		w.mirror(b)
		b.stands(payroll.Settled)
	}
}

func versionsAtOnce(f *fixture) {
	const versions = 8
	drafts, ids := make([]draft, versions), make([]int64, versions)
	for i := range drafts {
		drafts[i] = f.draft(pay("ann").version(int32(i+1)), pay("bob").version(int32(versions-i)))
	}
	f.onlyOf(together(versions, func(i int) error {
		r, err := f.store.Accept(f.Context(), drafts[i].submission(f.now))
		ids[i] = r.BatchID
		return err
	}))
	for i, d := range drafts {
		f.adopt(d, ids[i])
	}
	for i, b := range f.batches {
		want := []payroll.State{payroll.Superseded, payroll.Superseded}
		if i == versions-1 {
			want[0] = payroll.Pending
		}
		if i == 0 {
			want[1] = payroll.Pending
		}
		b.stands(want...)
	}
}

func opensAndCancel(f *fixture) {
	for round := range 10 {
		b := f.submit(crew(fmt.Sprintf("staff-%d", round), 6)...)
		w := f.claim()
		first := w.planFresh(b, 3)
		f.onlyOf(together(2, func(i int) error {
			if i == 0 {
				return f.store.Open(f.Context(), first)
			}
			_, err := f.store.Cancel(f.Context(), b.tenant(), b.key(), "hr-key", f.now)
			return err
		}), store.ErrChanged)
		f.mustAddUp()
		if open := b.openAttempts(); len(open) > 0 {
			b.stands(payroll.InFlight, payroll.InFlight, payroll.InFlight, payroll.Cancelled)
			(&flight{w: w, b: b, o: first}).answer(paid)
		} else {
			b.stands(payroll.Cancelled)
		}
		same(f, "state", b.token().State, store.CancelledBatch)
	}
}

func opensAtOnce(f *fixture) {
	b := f.submit(crew("staff", 12)...)
	w := f.claim()
	for range 4 {
		plans := make([]store.Open, 6)
		for i := range plans {
			plans[i] = w.planFresh(b, 3)
			plans[i].Attempt.BodySHA256[0] = byte(i)
		}
		opened := f.onlyOf(together(len(plans), func(i int) error { return f.store.Open(f.Context(), plans[i]) }), store.ErrChanged)
		same(f, "opened", opened, 1)
		f.mustAddUp()
	}
	b.stands(payroll.InFlight)
}

func answersAtOnce(f *fixture) {
	b := f.submit(crew("staff", 12)...)
	w := f.claim()
	for range 4 {
		a := w.openFresh(b, 3)
		works := []store.Work{a.work(paid), a.work(paid, refused, lost), a.work(paid), a.work(rejected)}
		applied := f.onlyOf(together(len(works), func(i int) error {
			_, err := f.store.Apply(f.Context(), works[i])
			return err
		}), store.ErrAnswered)
		same(f, "applied", applied, 1)
		f.mustAddUp()
	}
}
