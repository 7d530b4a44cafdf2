package storetest

import (
	"context"
	"fmt"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Two writes meet at once this often; whichever is first, the end must be right.
const meetings = 15

// both runs two writes at once and fails on errors that are none of the allowed.
func (f *fixture) both(one, other func(context.Context) error, allowed ...error) {
	f.Helper()
	calls := []func(context.Context) error{one, other}
	f.onlyOf(together(2, func(i int) error { return calls[i](f.Context()) }), allowed...)
	f.mustAddUp()
}

// taking is a take-over whose tenure is put where told.
func (f *fixture) taking(tenure *store.Tenure) func(context.Context) error {
	c := f.claiming()
	c.Force = true
	return func(ctx context.Context) (err error) {
		*tenure, err = f.store.Claim(ctx, c)
		return err
	}
}

func intakeAndClaim(f *fixture) {
	f.submit(pay("ann"))
	f.claim()
	for round := range meetings {
		d := f.draft(crew(fmt.Sprintf("staff-%d", round), 3)...)
		var tenure store.Tenure
		var id int64
		f.both(f.taking(&tenure), func(ctx context.Context) error {
			r, err := f.store.Accept(ctx, d.submission(f.now))
			id = r.BatchID
			return err
		})
		b := f.adopt(d, id)
		same(f, "epoch of the batch", b.token().Epoch, tenure.Epoch)
		(&worker{f: f, tenure: tenure}).finish(b)
	}
}

func replayAndClaim(f *fixture) {
	f.submit(pay("ann"))
	live, follower := f.submit(pay("bob")), f.submit(pay("bob"))
	w := f.claim()
	w.openFresh(live, 1).answer(rejected)
	for range meetings {
		w.mirror(follower)
		var tenure store.Tenure
		replay := live.amendment("replay", backToWork(f.now), 1)
		f.both(f.taking(&tenure), func(ctx context.Context) error { return errorOf(f.store.Amend(ctx, replay)) })
		same(f, "epoch of the batch", live.token().Epoch, tenure.Epoch)
		same(f, "epoch of the follower's batch", follower.token().Epoch, tenure.Epoch)
		w = &worker{f: f, tenure: tenure}
		w.resend(live, 1).answer(rejected)
	}
}

func opensAndVersion(f *fixture) {
	for round := range meetings {
		name := fmt.Sprintf("staff-%d", round)
		old := f.submit(pay(name))
		w := f.claim()
		o := w.planFresh(old, 1)
		if round%2 == 1 { // a retry instead of a first send
			w.send(old, o).answer(refused)
			f.after(3600e9)
			o = w.plan(old, payroll.Submit, []int32{1})
		}
		newer := f.draft(pay(name).version(2))
		var id int64
		f.both(func(ctx context.Context) error { return f.store.Open(ctx, o) }, func(ctx context.Context) error {
			r, err := f.store.Accept(ctx, newer.submission(f.now))
			id = r.BatchID
			return err
		}, store.ErrChanged)
		b := f.adopt(newer, id)
		if old.line(1).State == payroll.InFlight {
			b.waitsBehind(old.ref(1), payroll.InFlight)
		} else {
			old.stands(payroll.Superseded)
			same(f, "lines of the newer version to be sent", b.sendable(), 1)
		}
		f.batches = nil // the next round has other people
	}
}

func mirrorsAtOnce(f *fixture) {
	for round := range meetings {
		name := fmt.Sprintf("staff-%d", round)
		live, older, younger := f.submit(pay(name)), f.submit(pay(name)), f.submit(pay(name))
		w := f.claim()
		live.cancel()
		mirror := func(b *batch) func(context.Context) error {
			return func(ctx context.Context) error {
				return errorOf(f.store.Mirror(ctx, b.id, w.tenure.Epoch, f.now, 10))
			}
		}
		f.both(mirror(older), mirror(younger))
		w.mirror(older)
		w.mirror(younger)
		same(f, "lines to be sent of the oldest", older.sendable(), 1)
		w.finish(older)
		w.mirror(younger)
		younger.stands(payroll.Settled)
		f.batches = nil // the next round has other people
	}
}
