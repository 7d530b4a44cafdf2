package sqlite

import (
	"context"
	"fmt"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Cancel cancels a batch. Lines that nothing happened to are cancelled as a
// whole, by one number in the token. A batch that is cancelled or complete
// already does not change.
func (s *Store) Cancel(ctx context.Context, tenant, batchKey, actor string, now time.Time) (k store.Token, err error) {
	err = s.write(ctx, "Cancel", func(ctx context.Context, t *tx) error {
		before, err := scanToken(t.row(ctx, selectToken+"WHERE b.batch_key = ? AND p.tenant = ?", batchKey, tenant))
		if err != nil {
			return found(err)
		}
		k = before.Token
		if k.CancelledFrom > 0 || k.Complete() {
			return nil
		}
		k, err = cancel(ctx, t, k.Batch.ID, actor, now)
		return err
	})
	return k, err
}

func cancel(ctx context.Context, t *tx, batchID int64, actor string, now time.Time) (store.Token, error) {
	d := newDesk(t, now, actor)
	e, err := d.edit(ctx, batchID)
	if err != nil {
		return store.Token{}, err
	}
	if err := e.withdraw(ctx); err != nil {
		return store.Token{}, err
	}
	if err := e.cancelUntouched(ctx); err != nil {
		return store.Token{}, err
	}
	if err := audit(ctx, t, now, e.k.Batch.Tenant, actor, "cancel", e.k.Batch.Key(), ""); err != nil {
		return store.Token{}, err
	}
	err = d.save(ctx)
	return e.k.Token, err
}

// withdraw cancels the lines that have rows of their own: those in troubles
// that are certainly not applied and in no attempt, and followers that the
// batch has passed.
func (e *edit) withdraw(ctx context.Context) error {
	list, err := collect(ctx, e.t, scanOrdinal, `SELECT ordinal FROM troubles
			WHERE batch_id = ?1 AND state IN (1, 3) AND ambiguous = 0 AND attempt_no = 0
		UNION
		SELECT a.ordinal FROM adoptions a WHERE a.batch_id = ?1 AND a.ordinal < ?2
			AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.batch_id = ?1 AND o.ordinal = a.ordinal)`, e.k.Batch.ID, e.k.NextOrdinal)
	if err != nil {
		return fmt.Errorf("lines: %w", err)
	}
	all, err := standings(ctx, e.t, e.k, list)
	if err != nil {
		return err
	}
	changes := make([]payroll.Change, len(all))
	for i, s := range all {
		changes[i] = payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Withdrawn}
	}
	_, err = e.apply(ctx, all, changes)
	return err
}

// cancelUntouched cancels what nothing happened to.
func (e *edit) cancelUntouched(ctx context.Context) error {
	e.k.CancelledFrom = e.k.NextOrdinal
	return each(ctx, e.t, func(row scanner) error {
		var currency string
		var n int64
		var a payroll.Amounts
		if err := row.Scan(&currency, &n, &a.Cancelled); err != nil {
			return err
		}
		e.k.Counts[payroll.Pending] -= n
		e.k.Counts[payroll.Cancelled] += n
		e.k.addAmount(currency, a)
		return nil
	}, `SELECT l.currency, count(*), sum(l.amount) FROM lines l WHERE l.batch_id = ?1 AND l.ordinal >= ?2
		AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.batch_id = ?1 AND o.ordinal = l.ordinal)
		AND NOT EXISTS (SELECT 1 FROM troubles r WHERE r.batch_id = ?1 AND r.ordinal = l.ordinal)
		GROUP BY l.currency`, e.k.Batch.ID, e.k.CancelledFrom)
}
