package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/store"
)

const selectReplays = `SELECT id, tenant, status, reason, class, stage, vendor, batch_key, pay_period, rate_per_sec, root_cause, cutoff_at,
  actor, matched, cursor, replayed, refused, state, created_at, finished_at FROM replays `

func scanReplay(row scanner) (r store.Replay, err error) {
	f := &r.Filter
	err = row.Scan(fixed{r.ID[:]}, &r.Tenant, &f.Status, &f.Reason, &f.Class, &f.Stage, &f.Vendor, &f.BatchKey, &f.PayPeriod, &r.RatePerSec,
		&r.RootCause, at{&r.CutoffAt}, &r.Actor, &r.Matched, &r.Cursor, &r.Replayed, &r.Refused, &r.State, at{&r.CreatedAt}, at{&r.FinishedAt})
	f.Tenant = r.Tenant
	return r, err
}

func readReplay(ctx context.Context, q querier, tenant string, id uuid.UUID) (store.Replay, error) {
	r, err := scanReplay(q.row(ctx, selectReplays+"WHERE id = ? AND tenant = ?", id[:], tenant))
	return r, found(err)
}

// CreateReplay records a replay by filter.
func (s *Store) CreateReplay(ctx context.Context, r store.Replay) error {
	return s.write(ctx, "CreateReplay", func(ctx context.Context, t *tx) error {
		f := r.Filter
		err := t.exec(ctx, `INSERT INTO replays (id, tenant, status, reason, class, stage, vendor, batch_key, pay_period, rate_per_sec,
			root_cause, cutoff_at, actor, matched, cursor, replayed, refused, state, created_at, finished_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.ID[:], r.Tenant, f.Status, f.Reason, f.Class, f.Stage, f.Vendor, f.BatchKey, f.PayPeriod, r.RatePerSec,
			r.RootCause, micros(r.CutoffAt), r.Actor, r.Matched, r.Cursor, r.Replayed, r.Refused, r.State, micros(r.CreatedAt), micros(r.FinishedAt))
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		return audit(ctx, t, r.CreatedAt, r.Tenant, r.Actor, "replay_by_filter", r.ID.String(), r.RootCause)
	})
}

// UpdateReplay stores progress; a replay that is not running stays as it is.
func (s *Store) UpdateReplay(ctx context.Context, r store.Replay) (now store.Replay, err error) {
	err = s.write(ctx, "UpdateReplay", func(ctx context.Context, t *tx) error {
		err := t.exec(ctx, `UPDATE replays SET cursor = ?, replayed = ?, refused = ?, state = ?, finished_at = ?
			WHERE id = ? AND tenant = ? AND state = 1`, r.Cursor, r.Replayed, r.Refused, r.State, micros(r.FinishedAt), r.ID[:], r.Tenant)
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		now, err = readReplay(ctx, t, r.Tenant, r.ID)
		return err
	})
	return now, err
}

// CancelReplay stops a replay; one that has ended stays as it is.
func (s *Store) CancelReplay(ctx context.Context, tenant string, id uuid.UUID, at time.Time) (now store.Replay, err error) {
	err = s.write(ctx, "CancelReplay", func(ctx context.Context, t *tx) error {
		err := t.exec(ctx, "UPDATE replays SET state = ?, finished_at = ? WHERE id = ? AND tenant = ? AND state = 1",
			store.ReplayCancelled, micros(at), id[:], tenant)
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		now, err = readReplay(ctx, t, tenant, id)
		return err
	})
	return now, err
}

// Replay reads a replay.
func (s *Store) Replay(ctx context.Context, tenant string, id uuid.UUID) (store.Replay, error) {
	return read(ctx, s, func(q querier) (store.Replay, error) { return readReplay(ctx, q, tenant, id) })
}

// RunningReplays lists the replays of all tenants that have not ended, oldest first.
func (s *Store) RunningReplays(ctx context.Context) ([]store.Replay, error) {
	return read(ctx, s, func(q querier) ([]store.Replay, error) {
		return collect(ctx, q, scanReplay, selectReplays+"WHERE state = 1 ORDER BY created_at, id")
	})
}
