package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Who changed a batch decides about its change_seq and its epoch.
type side int

const (
	byWorker  side = iota // under its epoch
	byOutside             // change_seq goes up, so that no plan made before is carried out
)

// settle moves the batch's counts and amounts by what its changes came to, and
// completes it, or puts it back to work. epoch is that of its unit today.
func (h *held) settle(ctx context.Context, by side, epoch int64) error {
	if err := h.settleAmounts(ctx); err != nil {
		return err
	}
	t := &h.token
	for s, n := range h.delta.Counts {
		t.Counts[s] += n
	}
	if h.lowest > 0 {
		t.LastCursor = min(t.LastCursor, h.lowest-1)
	}
	if by == byOutside {
		t.ChangeSeq++
		t.Epoch = epoch
	}
	t.Version++
	t.UpdatedAt = h.now.UTC().Truncate(time.Microsecond)
	completion(t)
	h.delta = payroll.Delta{}
	return h.save(ctx)
}

// completion: every item at rest is complete, and nothing else is.
func completion(t *store.Token) {
	switch {
	case !t.Counts.AtRest():
		if t.Complete() {
			t.State, t.CompletedAt = store.InProgress, time.Time{}
		}
	case !t.Complete():
		t.State, t.HoldReason, t.CompletedAt, t.LastCursor = store.Completed, "", t.UpdatedAt, t.Batch.Total
		if t.CancelledFrom > 0 {
			t.State = store.CancelledBatch
		}
	}
}

// save writes the token row, which this transaction has locked.
func (h *held) save(ctx context.Context) error {
	t, n := h.token, h.token.Counts
	tag, err := h.tx.Exec(ctx, `UPDATE resume_tokens SET state = $2, hold_reason = $3, epoch = $4, change_seq = $5, version = $6,
		last_cursor = $7, cancelled_from = nullif($8::int4, 0), pending = $9, in_flight = $10, retrying = $11, unknown = $12,
		settled = $13, dead_lettered = $14, cancelled = $15, superseded = $16, rejected = $17, updated_at = $18, completed_at = $19, next_ordinal = $20
		WHERE batch_id = $1`,
		t.Batch.ID, int16(t.State), t.HoldReason, t.Epoch, t.ChangeSeq, t.Version, t.LastCursor, t.CancelledFrom,
		n[payroll.Pending], n[payroll.InFlight], n[payroll.Retrying], n[payroll.Unknown],
		n[payroll.Settled], n[payroll.DeadLettered], n[payroll.Cancelled], n[payroll.Superseded], t.Rejected, stamp(t.UpdatedAt), stamp(t.CompletedAt), t.NextOrdinal)
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("the token of batch %d is gone", t.Batch.ID)
	}
	return err
}

func (h *held) settleAmounts(ctx context.Context) error {
	for _, currency := range slices.Sorted(maps.Keys(h.delta.Amounts)) {
		a := h.delta.Amounts[currency]
		if a == (payroll.Amounts{}) {
			continue
		}
		if _, err := h.tx.Exec(ctx, `UPDATE batch_amounts SET settled = settled + $3, earlier = earlier + $4, dead_lettered = dead_lettered + $5,
			cancelled = cancelled + $6, superseded = superseded + $7 WHERE batch_id = $1 AND currency = $2`,
			h.token.Batch.ID, currency, int64(a.Settled), int64(a.Earlier), int64(a.DeadLettered), int64(a.Cancelled), int64(a.Superseded)); err != nil {
			return fmt.Errorf("move amounts: %w", err)
		}
	}
	return nil
}
