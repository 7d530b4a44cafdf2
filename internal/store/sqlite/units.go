package sqlite

import (
	"context"
	"fmt"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Claimable lists units with unfinished batches whose owner is nobody or
// silent since before now-ttl, earliest cut-off first, then oldest batch.
func (s *Store) Claimable(ctx context.Context, now time.Time, ttl time.Duration, limit int) ([]store.Claimable, error) {
	return read(ctx, s, func(q querier) ([]store.Claimable, error) {
		return collect(ctx, q, func(row scanner) (c store.Claimable, err error) {
			err = row.Scan(&c.Unit.Tenant, &c.Unit.PayPeriod, &c.Unit.Vendor, &c.Owner, at{&c.HeartbeatAt}, at{&c.CutoffAt})
			return c, err
		}, `SELECT p.tenant, p.pay_period, u.vendor, u.owner, u.heartbeat_at,
			  coalesce(min(nullif(b.cutoff_at, 0)), 0) AS cutoff
			FROM resume_tokens t JOIN batches b ON b.id = t.batch_id JOIN units u ON u.id = b.unit_id JOIN periods p ON p.id = u.period_id
			WHERE t.completed_at = 0 AND (u.owner = '' OR u.heartbeat_at < ?)
			GROUP BY u.id ORDER BY cutoff = 0, cutoff, min(b.id) LIMIT ?`, micros(now.Add(-ttl)), limit)
	})
}

// Claim takes a unit. *store.HeldError where its owner is alive;
// store.ErrNotFound where nothing was ever submitted to it.
func (s *Store) Claim(ctx context.Context, c store.Claim) (tenure store.Tenure, err error) {
	err = s.write(ctx, "Claim", func(ctx context.Context, t *tx) error {
		tenure, err = claim(ctx, t, c)
		return err
	})
	return tenure, err
}

func claim(ctx context.Context, t *tx, c store.Claim) (store.Tenure, error) {
	tenure := store.Tenure{Unit: c.Unit, Owner: c.Owner}
	var held store.HeldError
	err := t.row(ctx, `SELECT u.id, u.epoch, u.owner, u.heartbeat_at FROM periods p JOIN units u ON u.period_id = p.id
		WHERE p.tenant = ? AND p.pay_period = ? AND u.vendor = ?`, c.Unit.Tenant, c.Unit.PayPeriod, c.Unit.Vendor).
		Scan(&tenure.UnitID, &tenure.Epoch, &held.Owner, at{&held.HeartbeatAt})
	if err != nil {
		return tenure, found(err)
	}
	if alive := held.Owner != "" && !held.HeartbeatAt.Before(c.Now.Add(-c.TTL)); alive && !c.Force {
		return tenure, &held
	}
	tenure.Epoch++
	err = t.exec(ctx, "UPDATE units SET epoch = ?, owner = ?, heartbeat_at = ? WHERE id = ?", tenure.Epoch, c.Owner, micros(c.Now), tenure.UnitID)
	if err != nil {
		return tenure, fmt.Errorf("unit: %w", err)
	}
	t.proof = func(ctx context.Context) (bool, error) {
		return exists(ctx, t, "SELECT 1 FROM units WHERE id = ? AND epoch = ? AND owner = ?", tenure.UnitID, tenure.Epoch, c.Owner)
	}
	return tenure, takeBatches(ctx, t, tenure, c)
}

// unfinished are the batches of a unit that are not complete.
const unfinished = `SELECT t.batch_id FROM resume_tokens t JOIN batches b ON b.id = t.batch_id WHERE t.completed_at = 0 AND b.unit_id = ?1`

// takeBatches raises the epochs of the unit's unfinished batches. What is
// ambiguous becomes quiet no earlier than a settle time after now: the new
// owner cannot know when a request of it was written.
func takeBatches(ctx context.Context, t *tx, tenure store.Tenure, c store.Claim) error {
	err := t.exec(ctx, `UPDATE resume_tokens SET epoch = ?2, version = version + 1, updated_at = ?3,
		state = CASE state WHEN 1 THEN 2 ELSE state END WHERE batch_id IN (`+unfinished+`)`, tenure.UnitID, tenure.Epoch, micros(c.Now))
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	err = t.exec(ctx, `UPDATE troubles SET quiet_at = max(quiet_at, ?2) WHERE ambiguous = 1 AND state < 5 AND batch_id IN (`+unfinished+`)`,
		tenure.UnitID, micros(c.Now.Add(c.Settle)))
	if err != nil {
		return fmt.Errorf("troubles: %w", err)
	}
	return nil
}

// Heartbeat says that the owner lives. store.ErrFenced after a take-over.
func (s *Store) Heartbeat(ctx context.Context, t store.Tenure, now time.Time) error {
	return s.write(ctx, "Heartbeat", func(ctx context.Context, w *tx) error {
		n, err := w.count(ctx, "UPDATE units SET heartbeat_at = ? WHERE id = ? AND epoch = ? AND owner = ?", micros(now), t.UnitID, t.Epoch, t.Owner)
		if err == nil && n == 0 {
			return store.ErrFenced
		}
		return err
	})
}

// Release gives a unit back at once; no error where it was taken over.
func (s *Store) Release(ctx context.Context, t store.Tenure) error {
	return s.write(ctx, "Release", func(ctx context.Context, w *tx) error {
		return w.exec(ctx, "UPDATE units SET owner = '' WHERE id = ? AND epoch = ? AND owner = ?", t.UnitID, t.Epoch, t.Owner)
	})
}

// Work lists the tenure's unfinished batches by id, with LowestPending.
func (s *Store) Work(ctx context.Context, t store.Tenure) ([]store.Token, error) {
	return read(ctx, s, func(q querier) ([]store.Token, error) {
		tokens, err := collect(ctx, q, scanToken, selectToken+"WHERE t.completed_at = 0 AND b.unit_id = ? ORDER BY t.batch_id", t.UnitID)
		list := make([]store.Token, len(tokens))
		for i, k := range tokens {
			if err == nil {
				k.LowestPending, err = lowestPending(ctx, q, k)
			}
			list[i] = k.Token
		}
		return list, err
	})
}

// lowestPending is the lowest line below NextOrdinal that is pending or in
// flight: in troubles, following, or in an open attempt of fresh lines.
func lowestPending(ctx context.Context, q querier, k *token) (int32, error) {
	var lowest maybe
	err := q.row(ctx, `SELECT min(ordinal) FROM (
		SELECT min(r.ordinal) AS ordinal FROM troubles r WHERE r.batch_id = ?1 AND r.state < 3
		UNION ALL
		SELECT min(a.ordinal) FROM adoptions a WHERE a.batch_id = ?1
		  AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.batch_id = ?1 AND o.ordinal = a.ordinal)
		UNION ALL
		SELECT min(first_ordinal) FROM attempts WHERE batch_id = ?1 AND closed_at = 0 AND fresh = 1)
		WHERE ordinal < ?2`, k.Batch.ID, k.NextOrdinal).Scan(&lowest)
	return int32(lowest.n), err
}

// SetState notes what a batch waits for; a complete batch waits for nothing.
// store.ErrFenced after a take-over.
func (s *Store) SetState(ctx context.Context, batchID, epoch int64, state store.BatchState, hold string, now time.Time) error {
	return s.write(ctx, "SetState", func(ctx context.Context, t *tx) error {
		k, err := fence(ctx, t, batchID, epoch)
		if err != nil || k.Complete() || k.State == state && k.HoldReason == hold {
			return err
		}
		k.State, k.HoldReason = state, hold
		return t.save(ctx, k, now)
	})
}

// unit finds a unit, making it where it does not exist, and its pay period.
func unit(ctx context.Context, t *tx, u payroll.Unit) (periodID, unitID, epoch int64, err error) {
	if err := t.exec(ctx, "INSERT OR IGNORE INTO periods (tenant, pay_period) VALUES (?, ?)", u.Tenant, u.PayPeriod); err != nil {
		return 0, 0, 0, fmt.Errorf("period: %w", err)
	}
	if err := t.row(ctx, "SELECT id FROM periods WHERE tenant = ? AND pay_period = ?", u.Tenant, u.PayPeriod).Scan(&periodID); err != nil {
		return 0, 0, 0, fmt.Errorf("period: %w", err)
	}
	if err := t.exec(ctx, "INSERT OR IGNORE INTO units (period_id, vendor) VALUES (?, ?)", periodID, u.Vendor); err != nil {
		return 0, 0, 0, fmt.Errorf("unit: %w", err)
	}
	err = t.row(ctx, "SELECT id, epoch FROM units WHERE period_id = ? AND vendor = ?", periodID, u.Vendor).Scan(&unitID, &epoch)
	return periodID, unitID, epoch, err
}
