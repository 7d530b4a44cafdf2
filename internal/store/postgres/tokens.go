package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/store"
)

// Claimable lists units with unfinished batches that nobody alive works on.
func (s *Store) Claimable(ctx context.Context, now time.Time, ttl time.Duration, limit int) ([]store.Claimable, error) {
	rows, err := s.pool.Query(ctx, `SELECT p.tenant, p.pay_period, u.vendor, u.owner, u.heartbeat_at, min(b.cutoff_at)
		FROM resume_tokens t`+tokenJoins+`
		WHERE t.completed_at IS NULL AND (u.owner = '' OR u.heartbeat_at IS NULL OR u.heartbeat_at < $1)
		GROUP BY u.id, p.id ORDER BY min(b.cutoff_at) NULLS LAST, min(b.id) LIMIT $2`, stamp(now.Add(-ttl)), limit)
	if err != nil {
		return nil, translate(err)
	}
	units, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c store.Claimable, err error) {
		err = row.Scan(&c.Unit.Tenant, &c.Unit.PayPeriod, &c.Unit.Vendor, &c.Owner, (*stamp)(&c.HeartbeatAt), (*stamp)(&c.CutoffAt))
		return c, err
	})
	return units, translate(err)
}

// Claim takes a unit: its epoch and those of its unfinished batches go up, so
// that whatever its last owner still writes changes nothing.
func (s *Store) Claim(ctx context.Context, c store.Claim) (store.Tenure, error) {
	tenure := store.Tenure{Unit: c.Unit, Owner: c.Owner}
	err := s.write(ctx, "Claim", func(tx pgx.Tx) (err error) {
		g := s.ledger(tx, c.Now)
		if tenure.UnitID, err = g.lockUnit(ctx, c); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, "UPDATE units SET epoch = epoch + 1, owner = $2, heartbeat_at = $3 WHERE id = $1 RETURNING epoch",
			tenure.UnitID, c.Owner, stamp(c.Now)).Scan(&tenure.Epoch)
		if err != nil {
			return err
		}
		return g.raiseEpochs(ctx, tenure, c.Now.Add(c.Settle))
	})
	if err != nil {
		return store.Tenure{}, err
	}
	return tenure, nil
}

// lockUnit locks the unit's row against every other claim and against intakes
// that would give a new token the old epoch.
func (g *ledger) lockUnit(ctx context.Context, c store.Claim) (id int64, err error) {
	var owner string
	var heartbeat time.Time
	err = g.tx.QueryRow(ctx, `SELECT u.id, u.owner, u.heartbeat_at FROM units u JOIN periods p ON p.id = u.period_id
		WHERE p.tenant = $1 AND p.pay_period = $2 AND u.vendor = $3 FOR UPDATE OF u`, c.Unit.Tenant, c.Unit.PayPeriod, c.Unit.Vendor).
		Scan(&id, &owner, (*stamp)(&heartbeat))
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, store.ErrNotFound
	}
	alive := owner != "" && owner != c.Owner && !heartbeat.Before(c.Now.Add(-c.TTL))
	if err == nil && alive && !c.Force {
		err = &store.HeldError{Owner: owner, HeartbeatAt: heartbeat}
	}
	return id, err
}

// raiseEpochs gives the unit's unfinished batches its epoch. The new owner sees
// their ambiguous lines first now, and counts the time until they are quiet from
// here: its predecessor's clock is not its own.
func (g *ledger) raiseEpochs(ctx context.Context, t store.Tenure, quiet time.Time) error {
	_, err := g.tx.Exec(ctx, `SELECT t.batch_id FROM resume_tokens t JOIN batches b ON b.id = t.batch_id
		WHERE b.unit_id = $1 AND t.completed_at IS NULL ORDER BY t.batch_id FOR UPDATE OF t`, t.UnitID)
	if err != nil {
		return err
	}
	if _, err = g.tx.Exec(ctx, `UPDATE resume_tokens t SET epoch = $2, version = version + 1, updated_at = $3
		FROM batches b WHERE b.id = t.batch_id AND b.unit_id = $1 AND t.completed_at IS NULL`, t.UnitID, t.Epoch, stamp(g.now)); err != nil {
		return err
	}
	_, err = g.tx.Exec(ctx, `UPDATE troubles r SET quiet_at = greatest(r.quiet_at, $2)
		FROM batches b JOIN resume_tokens t ON t.batch_id = b.id
		WHERE b.unit_id = $1 AND t.completed_at IS NULL AND r.batch_id = b.id AND r.ambiguous AND r.state IN (1, 2, 3, 4)`, t.UnitID, stamp(quiet))
	return err
}

// Heartbeat says that the owner lives.
func (s *Store) Heartbeat(ctx context.Context, t store.Tenure, now time.Time) error {
	tag, err := s.pool.Exec(ctx, "UPDATE units SET heartbeat_at = $4 WHERE id = $1 AND epoch = $2 AND owner = $3", t.UnitID, t.Epoch, t.Owner, stamp(now))
	if err == nil && tag.RowsAffected() == 0 {
		return store.ErrFenced
	}
	return translate(err)
}

// Release gives a unit back at once.
func (s *Store) Release(ctx context.Context, t store.Tenure) error {
	_, err := s.pool.Exec(ctx, "UPDATE units SET owner = '' WHERE id = $1 AND epoch = $2 AND owner = $3", t.UnitID, t.Epoch, t.Owner)
	return translate(err)
}

// lowestPending is the lowest line below the plan of resume_tokens t that is
// pending or in flight: in troubles, following, or in an open attempt.
const lowestPending = `coalesce(least(
	(SELECT min(r.ordinal) FROM troubles r WHERE r.batch_id = t.batch_id AND r.ordinal < t.next_ordinal AND r.state IN (1, 2)),
	(SELECT min(f.ordinal) FROM adoptions f WHERE f.batch_id = t.batch_id AND f.ordinal < t.next_ordinal
		AND NOT EXISTS (SELECT FROM outcomes o WHERE o.batch_id = f.batch_id AND o.ordinal = f.ordinal)),
	(SELECT min(a.first_ordinal) FROM attempts a WHERE a.batch_id = t.batch_id AND a.closed_at IS NULL AND a.kind = 1)), 0)`

// Work lists the tenure's unfinished batches by id.
func (s *Store) Work(ctx context.Context, t store.Tenure) ([]store.Token, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+tokenColumns+", "+lowestPending+" FROM resume_tokens t"+tokenJoins+
		"WHERE b.unit_id = $1 AND t.completed_at IS NULL ORDER BY b.id", t.UnitID)
	if err != nil {
		return nil, translate(err)
	}
	tokens, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t store.Token, err error) {
		err = row.Scan(append(tokenFields(&t), &t.LowestPending)...)
		return t, err
	})
	return tokens, translate(err)
}

// SetState notes what a batch waits for. A complete batch stays complete.
func (s *Store) SetState(ctx context.Context, batchID, epoch int64, state store.BatchState, hold string, now time.Time) error {
	var ours bool
	err := s.pool.QueryRow(ctx, `WITH t AS (
		UPDATE resume_tokens SET state = $3, hold_reason = $4, version = version + 1, updated_at = $5
		WHERE batch_id = $1 AND epoch = $2 AND completed_at IS NULL AND (state <> $3 OR hold_reason <> $4))
		SELECT $2 = `+epochOf+` FROM resume_tokens t WHERE t.batch_id = $1`, batchID, epoch, int16(state), hold, stamp(now)).Scan(&ours)
	if err == nil && !ours {
		return store.ErrFenced
	}
	return translate(err)
}
