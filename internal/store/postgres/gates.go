package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/store"
)

// SaveGate keeps a gate as it is now. What a person did to it is audited.
func (s *Store) SaveGate(ctx context.Context, g store.Gate) error {
	return s.write(ctx, "SaveGate", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO gates (vendor, state, until, reason, since, actor) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (vendor) DO UPDATE SET state = excluded.state, until = excluded.until, reason = excluded.reason, since = excluded.since, actor = excluded.actor`,
			g.Vendor, g.State, stamp(g.Until), g.Reason, stamp(g.Since), g.Actor)
		if err != nil || g.Actor == "" {
			return err
		}
		return s.ledger(tx, g.Since).record(ctx, "", g.Actor, "gate_"+g.State, g.Vendor, g.Note)
	})
}

// Gates lists all gates that were kept, by vendor.
func (s *Store) Gates(ctx context.Context) ([]store.Gate, error) {
	rows, err := s.pool.Query(ctx, "SELECT vendor, state, until, reason, since, actor FROM gates ORDER BY vendor")
	if err != nil {
		return nil, translate(err)
	}
	gates, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g store.Gate, err error) {
		err = row.Scan(&g.Vendor, &g.State, (*stamp)(&g.Until), &g.Reason, (*stamp)(&g.Since), &g.Actor)
		return g, err
	})
	return gates, translate(err)
}

// SaveProfile records a revision of a profile.
func (s *Store) SaveProfile(ctx context.Context, name string, revision int32, text []byte) error {
	sum := sha256.Sum256(text)
	var stored []byte
	err := s.pool.QueryRow(ctx, `WITH new AS (INSERT INTO vendor_profiles (name, revision, sha256, body) VALUES ($1, $2, $3, $4)
			ON CONFLICT DO NOTHING RETURNING sha256)
		SELECT sha256 FROM new UNION ALL SELECT sha256 FROM vendor_profiles WHERE name = $1 AND revision = $2 LIMIT 1`,
		name, revision, sum[:], blob(text)).Scan(&stored)
	if err != nil {
		return translate(err)
	}
	if !bytes.Equal(stored, sum[:]) {
		return fmt.Errorf("revision %d of vendor profile %s is stored with another text: raise its revision", revision, name)
	}
	return nil
}
