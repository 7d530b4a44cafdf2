package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"payrollgateway/internal/store"
)

// SaveGate keeps a connection's gate. What a person did to it is audited.
func (s *Store) SaveGate(ctx context.Context, g store.Gate) error {
	return s.write(ctx, "SaveGate", func(ctx context.Context, t *tx) error {
		err := t.exec(ctx, "INSERT OR REPLACE INTO gates (vendor, state, until, reason, since, actor) VALUES (?, ?, ?, ?, ?, ?)",
			g.Vendor, g.State, micros(g.Until), g.Reason, micros(g.Since), g.Actor)
		if err != nil || g.Actor == "" {
			return err
		}
		return audit(ctx, t, g.Since, "", g.Actor, "gate_"+g.State, g.Vendor, g.Note)
	})
}

// Gates lists the gates that were saved, by vendor.
func (s *Store) Gates(ctx context.Context) ([]store.Gate, error) {
	return read(ctx, s, func(q querier) ([]store.Gate, error) {
		return collect(ctx, q, func(row scanner) (g store.Gate, err error) {
			err = row.Scan(&g.Vendor, &g.State, at{&g.Until}, &g.Reason, at{&g.Since}, &g.Actor)
			return g, err
		}, "SELECT vendor, state, until, reason, since, actor FROM gates ORDER BY vendor")
	})
}

// SaveProfile records a revision of a profile; the same again is no change.
func (s *Store) SaveProfile(ctx context.Context, name string, revision int32, text []byte) error {
	return s.write(ctx, "SaveProfile", func(ctx context.Context, t *tx) error {
		var known []byte
		err := t.row(ctx, "SELECT body FROM vendor_profiles WHERE name = ? AND revision = ?", name, revision).Scan(&known)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return t.exec(ctx, "INSERT INTO vendor_profiles (name, revision, body) VALUES (?, ?, ?)", name, revision, append([]byte{}, text...))
		case err == nil && !bytes.Equal(known, text):
			return fmt.Errorf("revision %d of profile %s was used with another text: raise its revision", revision, name)
		default:
			return err
		}
	})
}
