package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Cancel cancels a batch.
func (s *Store) Cancel(ctx context.Context, tenant, batchKey, actor string, now time.Time) (store.Token, error) {
	var t store.Token
	err := s.write(ctx, "Cancel", func(tx pgx.Tx) (err error) {
		t, err = s.ledger(tx, now).cancel(ctx, tenant, batchKey, actor)
		return err
	})
	if err != nil {
		return store.Token{}, err
	}
	return t, nil
}

func (g *ledger) cancel(ctx context.Context, tenant, batchKey, actor string) (store.Token, error) {
	w, err := g.find(ctx, "b.tenant = $1 AND b.batch_key = $2", tenant, batchKey)
	if err != nil {
		return store.Token{}, err
	}
	period, err := g.lockPeriod(ctx, w.tenant, w.period)
	if err != nil {
		return store.Token{}, err
	}
	epochs, err := g.lockUnits(ctx, period)
	if err != nil {
		return store.Token{}, err
	}
	h, err := g.lockToken(ctx, w.batch)
	if err != nil {
		return store.Token{}, err
	}
	if h.token.CancelledFrom > 0 || h.token.Complete() {
		return h.token, nil
	}
	if err := h.withdraw(ctx); err != nil {
		return store.Token{}, err
	}
	if err := h.settle(ctx, byOutside, epochs[h.token.Batch.Vendor]); err != nil {
		return store.Token{}, err
	}
	err = g.record(ctx, tenant, actor, "cancel", batchKey, "")
	return h.token, err
}

// withdraw cancels what nothing happened to as a whole, by a bound in the token,
// and line by line what is certainly not applied and in no attempt.
func (h *held) withdraw(ctx context.Context) error {
	rows, err := h.tx.Query(ctx, `SELECT r.ordinal FROM troubles r WHERE r.batch_id = $1 AND r.attempt_no = 0 AND r.state = ANY($2) AND NOT r.ambiguous
		UNION ALL
		SELECT f.ordinal FROM adoptions f WHERE f.batch_id = $1 AND f.ordinal < $3
			AND NOT EXISTS (SELECT FROM outcomes o WHERE o.batch_id = f.batch_id AND o.ordinal = f.ordinal)
			AND NOT EXISTS (SELECT FROM troubles r WHERE r.batch_id = f.batch_id AND r.ordinal = f.ordinal)
		ORDER BY ordinal`, h.token.Batch.ID, []int16{int16(payroll.Pending), int16(payroll.Retrying)}, h.token.NextOrdinal)
	if err != nil {
		return err
	}
	ordinals, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		return err
	}
	err = h.each(ctx, mark{}, ordinals, func(s payroll.Standing) (payroll.Change, bool) {
		return payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Withdrawn}, true
	})
	if err != nil {
		return err
	}
	if err := h.withdrawUntouched(ctx); err != nil {
		return err
	}
	h.token.CancelledFrom = h.token.NextOrdinal
	return nil
}

func (h *held) withdrawUntouched(ctx context.Context) error {
	rows, err := h.tx.Query(ctx, `SELECT l.currency, sum(l.amount)::int8, count(*) FROM lines l WHERE l.batch_id = $1 AND l.ordinal >= $2
		AND (SELECT true FROM outcomes o WHERE o.batch_id = l.batch_id AND o.ordinal = l.ordinal) IS NULL
		AND (SELECT true FROM troubles r WHERE r.batch_id = l.batch_id AND r.ordinal = l.ordinal) IS NULL
		GROUP BY l.currency`, h.token.Batch.ID, h.token.NextOrdinal)
	if err != nil {
		return err
	}
	d := payroll.Delta{Amounts: map[string]payroll.Amounts{}}
	var currency string
	var amount, n int64
	_, err = pgx.ForEachRow(rows, []any{&currency, &amount, &n}, func() error {
		d.Amounts[currency] = payroll.Amounts{Cancelled: payroll.Minor(amount)}
		d.Counts[payroll.Pending] -= n
		d.Counts[payroll.Cancelled] += n
		return nil
	})
	add(&h.delta, d)
	return err
}
