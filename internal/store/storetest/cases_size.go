package storetest

import (
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

func sizeCases() []testcase {
	return []testcase{
		{"more lines than a statement has parameters", "a statement of 65,536 parameters fails, or wraps and stores a part", manyLines},
	}
}

// many is above 65,535, the most parameters that a Postgres statement takes.
const many = 70_000

func manyLines(f *fixture) {
	b := f.submit(crew("staff", many)...)
	w := f.claim()
	a := w.send(b, w.planFresh(b, many))
	same(f, "ordinals of the attempt", len(b.openAttempts()[0].Ordinals), many)
	said := make([]payroll.Reading, many)
	for i := range said {
		said[i] = []payroll.Reading{paid, refused, rejected}[i%3]
	}
	applied := a.answer(said...)
	same(f, "dead letters", len(applied.Dead), many/3)
	t := b.token()
	same(f, "settled", t.Counts.Of(payroll.Settled), many/3+1)
	same(f, "retrying", t.Counts.Of(payroll.Retrying), many/3)
	follower := f.accept(f.draft(crew("staff", many)...))
	same(f, "settled by the earlier batch", follower.token().Counts.Of(payroll.Settled), many/3+1)
	same(f, "taken up", follower.token().NextOrdinal == 1 && len(follower.fresh(many)) == many/3, true)
	same(f, "state", b.cancel().State, store.CancelledBatch)
}
