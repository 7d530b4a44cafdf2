package storetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// oppositeOrders: intake, cancel, amendments, answers and mirroring meet in the
// same batches, each coming from another side.
func oppositeOrders(f *fixture) {
	for round := range 12 {
		f.storm(fmt.Sprintf("staff-%d", round))
	}
}

func (f *fixture) storm(name string) {
	f.Helper()
	rows := crew(name, 20)
	reversed := slices.Clone(rows)
	slices.Reverse(reversed)
	first, second := f.submit(rows...), f.submit(reversed...)
	w := f.claim()
	w.openFresh(first, 6).answer(rejected, refused, paid)
	answer := w.openFresh(first, 6).work(paid, refused, lost)

	newer := make([]row, len(rows))
	for i, r := range reversed {
		newer[i] = r.version(2)
	}
	drafts, ids := []draft{f.draft(rows...), f.draft(newer...), f.draft(reversed...)}, make([]int64, 3)
	epoch := w.tenure.Epoch
	replay := first.amendment("replay", backToWork(f.now), 1)
	replay.Decide = func(standings []payroll.Standing) ([]payroll.Change, error) {
		if standings[0].State != payroll.DeadLettered || standings[0].Superseded || !standings[0].Live {
			return nil, nil // somebody was faster
		}
		return []payroll.Change{backToWork(f.now)(standings[0])}, nil
	}
	accept := func(ctx context.Context, i int) (err error) {
		r, err := f.store.Accept(ctx, drafts[i].submission(f.now))
		ids[i] = r.BatchID
		return err
	}
	calls := []func(context.Context) error{
		func(ctx context.Context) error { return accept(ctx, 0) },
		func(ctx context.Context) error { return accept(ctx, 1) },
		func(ctx context.Context) error { return accept(ctx, 2) },
		func(ctx context.Context) error { return errorOf(f.store.Apply(ctx, answer)) },
		func(ctx context.Context) error { return errorOf(f.store.Amend(ctx, replay)) },
		func(ctx context.Context) error {
			return errorOf(f.store.Cancel(ctx, second.tenant(), second.key(), "hr", f.now))
		},
		func(ctx context.Context) error {
			return errorOf(f.store.Cancel(ctx, first.tenant(), first.key(), "hr", f.now))
		},
		func(ctx context.Context) error { return errorOf(f.store.Mirror(ctx, first.id, epoch, f.now, 100)) },
		func(ctx context.Context) error { return errorOf(f.store.Mirror(ctx, second.id, epoch, f.now, 100)) },
	}
	ctx, stop := context.WithTimeout(f.Context(), time.Minute)
	defer stop()
	f.onlyOf(together(len(calls), func(i int) error { return calls[i](ctx) }))
	for i, d := range drafts {
		f.adopt(d, ids[i])
	}
	f.mustAddUp()
	f.batches = nil // the next round has other people
}

// errorOf is the error of a call that also gives a value.
func errorOf[V any](_ V, err error) error { return err }

// readersSeeWhole reads a batch's counts while they move: they add up each time.
func readersSeeWhole(f *fixture) {
	const lines, chunk = 400, 20
	b := f.submit(crew("staff", lines)...)
	w := f.claim()
	done := make(chan struct{})
	errs := together(3, func(i int) error {
		if i == 0 {
			defer close(done)
			return w.payAll(b, lines, chunk)
		}
		for {
			t, err := f.store.Batch(f.Context(), b.tenant(), b.key())
			if err != nil {
				return err
			}
			var settled payroll.Minor
			for _, a := range t.Amounts {
				settled += a.Settled
			}
			if t.Counts.Total() != lines || (t.Counts.Of(payroll.Settled) == 0) != (settled == 0) || t.Complete() != t.Counts.AtRest() {
				return fmt.Errorf("counts %v, settled %d, complete %v", t.Counts, settled, t.Complete())
			}
			select {
			case <-done:
				return nil
			default:
			}
		}
	})
	f.onlyOf(errs)
	b.stands(payroll.Settled)
}

// payAll pays a fresh batch chunk by chunk, as one of many goroutines.
func (w *worker) payAll(b *batch, lines, chunk int32) error {
	ctx, s := w.f.Context(), w.f.store
	for from := int32(1); from <= lines; from += chunk {
		o := store.Open{From: from, Next: from + chunk, Attempt: store.Attempt{
			BatchID: b.id, No: from/chunk + 1, Epoch: w.tenure.Epoch, Kind: payroll.Submit, SentAt: w.f.now, SendBefore: w.f.now,
		}}
		work := store.Work{BatchID: b.id, Epoch: w.tenure.Epoch, AttemptNo: o.Attempt.No, Cursor: from + chunk - 1, Now: w.f.now}
		for i := from; i < from+chunk; i++ {
			o.Attempt.Ordinals = append(o.Attempt.Ordinals, i)
			work.Clean = append(work.Clean, b.settledLine(i, payroll.Reading{As: payroll.Created}))
		}
		if err := s.Open(ctx, o); err != nil {
			return err
		}
		if _, err := s.Apply(ctx, work); err != nil {
			return err
		}
	}
	return nil
}
