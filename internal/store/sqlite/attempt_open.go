package sqlite

import (
	"context"
	"fmt"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Open commits an attempt before its request leaves. An attempt whose commit's
// answer was lost is found again, or store.ErrUnavailable says that it may be
// recorded; then nothing may be sent.
func (s *Store) Open(ctx context.Context, o store.Open) error {
	return s.write(ctx, "Open", func(ctx context.Context, t *tx) error {
		k, err := fence(ctx, t, o.Attempt.BatchID, o.Attempt.Epoch)
		if err != nil {
			return err
		}
		if k.ChangeSeq != o.ChangeSeq || k.NextAttempt != o.Attempt.No {
			return store.ErrChanged
		}
		take := takeTroubled
		if o.Next > 0 {
			take = takeFresh
		}
		if err := take(ctx, t, k, o); err != nil {
			return err
		}
		if err := insertAttempt(ctx, t, o.Attempt, o.Next > 0); err != nil {
			return fmt.Errorf("attempt: %w", err)
		}
		k.NextAttempt++
		return t.save(ctx, k, o.Attempt.SentAt)
	})
}

// takeFresh moves NextOrdinal over the attempt's lines: that is all that says
// that they are in flight.
func takeFresh(_ context.Context, _ *tx, k *token, o store.Open) error {
	if k.NextOrdinal != o.From || k.CancelledFrom > 0 || o.Next <= o.From {
		return store.ErrChanged
	}
	n := int64(len(o.Attempt.Ordinals))
	k.NextOrdinal = o.Next
	k.Counts[payroll.Pending] -= n
	k.Counts[payroll.InFlight] += n
	return nil
}

// takeTroubled marks the rows of the attempt's lines as taken.
func takeTroubled(ctx context.Context, t *tx, k *token, o store.Open) error {
	submit := o.Attempt.Kind == payroll.Submit
	if submit {
		if err := countSent(ctx, t, k, o.Attempt); err != nil {
			return err
		}
	}
	n, err := t.count(ctx, `UPDATE troubles AS r SET attempt_no = ?1, state = CASE WHEN ?2 THEN 2 ELSE state END, sends = sends + ?2,
		first_sent_at = CASE WHEN ?2 AND first_sent_at = 0 THEN ?3 ELSE first_sent_at END
		WHERE r.batch_id = ?4 AND r.ordinal IN (SELECT value FROM json_each(?5)) AND `+waiting,
		o.Attempt.No, flag(submit), micros(o.Attempt.SentAt), o.Attempt.BatchID, jsonList(o.Attempt.Ordinals))
	if err != nil {
		return fmt.Errorf("troubles: %w", err)
	}
	if n != int64(len(o.Attempt.Ordinals)) {
		return store.ErrChanged
	}
	return nil
}

// countSent moves the counts of lines that are about to be sent again.
func countSent(ctx context.Context, t *tx, k *token, a store.Attempt) error {
	return each(ctx, t, func(row scanner) error {
		var from payroll.State
		var n int64
		if err := row.Scan(&from, &n); err != nil {
			return err
		}
		to, ok := payroll.Transition(from, payroll.Sent)
		if !ok {
			return store.ErrChanged
		}
		k.Counts[from] -= n
		k.Counts[to] += n
		return nil
	}, `SELECT r.state, count(*) FROM troubles r
		WHERE r.batch_id = ? AND r.ordinal IN (SELECT value FROM json_each(?)) GROUP BY r.state`, a.BatchID, jsonList(a.Ordinals))
}
