package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/store"
)

const replayColumns = `id, tenant, filter, rate_per_sec, root_cause, cutoff_at, actor, matched, page_cursor, replayed, refused, state, created_at, finished_at`

// CreateReplay stores a replay job. The same id again changes nothing.
func (s *Store) CreateReplay(ctx context.Context, r store.Replay) error {
	filter, err := json.Marshal(r.Filter)
	if err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	return s.write(ctx, "CreateReplay", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO replays (`+replayColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			ON CONFLICT (id) DO NOTHING`,
			r.ID, r.Tenant, filter, r.RatePerSec, r.RootCause, stamp(r.CutoffAt), r.Actor, r.Matched, r.Cursor, r.Replayed, r.Refused,
			int16(r.State), stamp(r.CreatedAt), stamp(r.FinishedAt))
		return err
	})
}

// UpdateReplay stores progress; a cancelled replay stays as it is and is returned.
func (s *Store) UpdateReplay(ctx context.Context, r store.Replay) (after store.Replay, err error) {
	err = s.write(ctx, "UpdateReplay", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE replays SET page_cursor = $3, replayed = $4, refused = $5, state = $6, finished_at = $7
			WHERE id = $1 AND tenant = $2 AND state <> $8`,
			r.ID, r.Tenant, r.Cursor, r.Replayed, r.Refused, int16(r.State), stamp(r.FinishedAt), int16(store.ReplayCancelled))
		if err != nil {
			return err
		}
		after, err = replay(ctx, tx, r.Tenant, r.ID)
		return err
	})
	return after, err
}

// CancelReplay ends a running replay; a finished one stays as it is.
func (s *Store) CancelReplay(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (after store.Replay, err error) {
	err = s.write(ctx, "CancelReplay", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE replays SET state = $4, finished_at = $3 WHERE id = $1 AND tenant = $2 AND state = $5",
			id, tenant, stamp(now), int16(store.ReplayCancelled), int16(store.ReplayRunning))
		if err != nil {
			return err
		}
		after, err = replay(ctx, tx, tenant, id)
		return err
	})
	return after, err
}

// Replay reads a replay job.
func (s *Store) Replay(ctx context.Context, tenant string, id uuid.UUID) (store.Replay, error) {
	r, err := replay(ctx, s.pool, tenant, id)
	return r, translate(err)
}

// RunningReplays lists the jobs that are not finished, the oldest first.
func (s *Store) RunningReplays(ctx context.Context) ([]store.Replay, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+replayColumns+" FROM replays WHERE state = 1 ORDER BY created_at, id")
	if err != nil {
		return nil, translate(err)
	}
	replays, err := pgx.CollectRows(rows, rowToReplay)
	return replays, translate(err)
}

func replay(ctx context.Context, q querier, tenant string, id uuid.UUID) (store.Replay, error) {
	rows, err := q.Query(ctx, "SELECT "+replayColumns+" FROM replays WHERE tenant = $1 AND id = $2", tenant, id)
	if err != nil {
		return store.Replay{}, err
	}
	r, err := pgx.CollectExactlyOneRow(rows, rowToReplay)
	if errors.Is(err, pgx.ErrNoRows) {
		err = store.ErrNotFound
	}
	return r, err
}

func rowToReplay(row pgx.CollectableRow) (r store.Replay, err error) {
	var filter []byte
	err = row.Scan(&r.ID, &r.Tenant, &filter, &r.RatePerSec, &r.RootCause, (*stamp)(&r.CutoffAt), &r.Actor, &r.Matched, &r.Cursor, &r.Replayed, &r.Refused,
		(*int16)(&r.State), (*stamp)(&r.CreatedAt), (*stamp)(&r.FinishedAt))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(filter, &r.Filter)
}
