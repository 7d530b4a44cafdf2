package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// token is a batch with its token as a transaction works on it.
type token struct {
	store.Token
	periodID, unitID int64
	unitEpoch        int64
	amounts          map[string]payroll.Amounts // to be added to what is stored
}

const selectToken = `SELECT b.id, p.tenant, b.vendor, p.pay_period, b.run_attempt_group, b.currency, b.pay_date, b.cutoff_at,
  b.content_hash, b.total, b.created_by, b.created_at,
  t.token, t.state, t.hold_reason, u.owner, u.heartbeat_at, t.epoch, t.change_seq, t.version, t.next_ordinal, t.last_cursor,
  t.next_attempt, t.cancelled_from, t.pending, t.in_flight, t.retrying, t.unknown, t.settled, t.dead_lettered, t.cancelled,
  t.superseded, t.rejected, t.updated_at, t.completed_at, b.period_id, b.unit_id, u.epoch
FROM resume_tokens t
JOIN batches b ON b.id = t.batch_id
JOIN periods p ON p.id = b.period_id
JOIN units u ON u.id = b.unit_id
`

func scanToken(row scanner) (*token, error) {
	k := &token{}
	b, c := &k.Batch, &k.Counts
	err := row.Scan(&b.ID, &b.Tenant, &b.Vendor, &b.PayPeriod, &b.Group, &b.Currency, &b.PayDate, at{&b.CutoffAt},
		fixed{b.ContentHash[:]}, &b.Total, &b.CreatedBy, at{&b.CreatedAt},
		fixed{k.Token.Token[:]}, &k.State, &k.HoldReason, &k.Owner, at{&k.HeartbeatAt}, &k.Epoch, &k.ChangeSeq, &k.Version, &k.NextOrdinal,
		&k.LastCursor, &k.NextAttempt, &k.CancelledFrom, &c[payroll.Pending], &c[payroll.InFlight], &c[payroll.Retrying],
		&c[payroll.Unknown], &c[payroll.Settled], &c[payroll.DeadLettered], &c[payroll.Cancelled], &c[payroll.Superseded],
		&k.Rejected, at{&k.UpdatedAt}, at{&k.CompletedAt}, &k.periodID, &k.unitID, &k.unitEpoch)
	return k, err
}

func readToken(ctx context.Context, q querier, batchID int64) (*token, error) {
	k, err := scanToken(q.row(ctx, selectToken+"WHERE t.batch_id = ?", batchID))
	return k, found(err)
}

// fence reads the token of a worker's write. In a transaction that writes, the
// turn is ours, so an epoch that is right stays right until the commit. What
// counts is the unit's epoch: that of a complete batch may be older.
func fence(ctx context.Context, q querier, batchID, epoch int64) (*token, error) {
	k, err := readToken(ctx, q, batchID)
	if err != nil {
		return nil, err
	}
	if k.unitEpoch != epoch {
		return nil, store.ErrFenced
	}
	k.Epoch = epoch
	return k, nil
}

// disturb is what every write from outside does: a plan made before it is void.
func (k *token) disturb() { k.ChangeSeq++ }

// lower keeps the cursor below a line that is pending again.
func (k *token) lower(ordinal int32) { k.LastCursor = min(k.LastCursor, ordinal-1) }

// add takes what effects do to counts and amounts.
func (k *token) add(d payroll.Delta) {
	for s, n := range d.Counts {
		k.Counts[s] += n
	}
	for currency, a := range d.Amounts {
		k.addAmount(currency, a)
	}
}

func (k *token) addAmount(currency string, a payroll.Amounts) {
	if k.amounts == nil {
		k.amounts = make(map[string]payroll.Amounts, 1)
	}
	sum := k.amounts[currency]
	sum.Total += a.Total
	sum.Settled += a.Settled
	sum.Earlier += a.Earlier
	sum.DeadLettered += a.DeadLettered
	sum.Cancelled += a.Cancelled
	sum.Superseded += a.Superseded
	k.amounts[currency] = sum
}

// rest completes the batch when its last item came to rest, and puts it back to
// work, under its unit's epoch, when one left its end.
func (k *token) rest(now time.Time) {
	switch {
	case k.Counts.AtRest():
		k.State, k.HoldReason, k.LastCursor = store.Completed, "", k.Batch.Total
		if k.CancelledFrom > 0 {
			k.State = store.CancelledBatch
		}
		if k.CompletedAt.IsZero() {
			k.CompletedAt = stored(now)
		}
	case !k.CompletedAt.IsZero():
		k.CompletedAt, k.Epoch, k.State = time.Time{}, k.unitEpoch, store.InProgress
		if k.Epoch == 0 {
			k.State = store.Queued
		}
	}
}

const updateToken = `UPDATE resume_tokens SET state = ?, hold_reason = ?, epoch = ?, change_seq = ?, version = version + 1, next_ordinal = ?,
  last_cursor = ?, next_attempt = ?, cancelled_from = ?, pending = ?, in_flight = ?, retrying = ?, unknown = ?, settled = ?,
  dead_lettered = ?, cancelled = ?, superseded = ?, rejected = ?, updated_at = ?, completed_at = ?
WHERE batch_id = ? AND version = ?`

var errLostToken = errors.New("the token was written twice in one transaction")

// save writes the token, what it came to and its amounts: the last step of
// every write of lines. Whether the transaction took effect can be told by it.
func (t *tx) save(ctx context.Context, k *token, now time.Time) error {
	k.rest(now)
	k.UpdatedAt = stored(now)
	c := k.Counts
	n, err := t.count(ctx, updateToken, k.State, k.HoldReason, k.Epoch, k.ChangeSeq, k.NextOrdinal, k.LastCursor, k.NextAttempt, k.CancelledFrom,
		c[payroll.Pending], c[payroll.InFlight], c[payroll.Retrying], c[payroll.Unknown], c[payroll.Settled],
		c[payroll.DeadLettered], c[payroll.Cancelled], c[payroll.Superseded], k.Rejected, micros(k.UpdatedAt), micros(k.CompletedAt),
		k.Batch.ID, k.Version)
	switch {
	case err != nil:
		return fmt.Errorf("token: %w", err)
	case n != 1:
		return errLostToken
	}
	k.Version++
	t.proveBy(k.Batch.ID, k.Version)
	return t.saveAmounts(ctx, k)
}

// proveBy takes a token's version for the proof that the transaction took effect.
func (t *tx) proveBy(batchID, version int64) {
	t.proof = func(ctx context.Context) (bool, error) {
		return exists(ctx, t, "SELECT 1 FROM resume_tokens WHERE batch_id = ? AND version = ?", batchID, version)
	}
}

func (t *tx) saveAmounts(ctx context.Context, k *token) error {
	for currency, a := range k.amounts {
		err := t.exec(ctx, `INSERT INTO batch_amounts (batch_id, currency, total, settled, earlier, dead_lettered, cancelled, superseded)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (batch_id, currency) DO UPDATE SET total = total + excluded.total, settled = settled + excluded.settled,
			  earlier = earlier + excluded.earlier, dead_lettered = dead_lettered + excluded.dead_lettered,
			  cancelled = cancelled + excluded.cancelled, superseded = superseded + excluded.superseded`,
			k.Batch.ID, currency, a.Total, a.Settled, a.Earlier, a.DeadLettered, a.Cancelled, a.Superseded)
		if err != nil {
			return fmt.Errorf("amounts: %w", err)
		}
	}
	k.amounts = nil
	return nil
}

func readAmounts(ctx context.Context, q querier, batchID int64) (map[string]payroll.Amounts, error) {
	amounts := map[string]payroll.Amounts{}
	err := each(ctx, q, func(row scanner) error {
		var currency string
		var a payroll.Amounts
		err := row.Scan(&currency, &a.Total, &a.Settled, &a.Earlier, &a.DeadLettered, &a.Cancelled, &a.Superseded)
		amounts[currency] = a
		return err
	}, `SELECT currency, total, settled, earlier, dead_lettered, cancelled, superseded FROM batch_amounts WHERE batch_id = ?`, batchID)
	return amounts, err
}
