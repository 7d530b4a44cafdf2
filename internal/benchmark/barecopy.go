package benchmark

import (
	"encoding/hex"
	"time"

	"github.com/jackc/pgx/v5"
)

// The plain ledger: what one writes without looking at the log. A COPY into it
// is the 1.00 of the intake figure.
const createReference = `CREATE TABLE reference_lines (
	key text PRIMARY KEY, hash text NOT NULL, payload jsonb NOT NULL, state text NOT NULL,
	created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL)`

var referenceColumns = []string{"key", "hash", "payload", "state", "created_at", "updated_at"}

// referenceRows are a pay run's rows, ready to be copied: what it takes to make
// them is no part of a bare COPY.
func referenceRows(period string, lines int) [][]any {
	rows := make([][]any, lines)
	now := time.Now()
	for i := range rows {
		l := lineOf(i + 1)
		p := l.payment(period)
		rows[i] = []any{p.Natural(tenant, period).Key(), hex.EncodeToString(p.Hash[:]), l.appendJSON(nil), "pending", now, now}
	}
	return rows
}

// bareCopy copies a new pay period's rows into the plain ledger.
func (l *lab) bareCopy(d *database) run {
	return func() (time.Duration, error) {
		_, period := l.payRun()
		rows := referenceRows(period, l.Sizes.Lines)
		if err := d.checkpoint(l.ctx); err != nil {
			return 0, err
		}
		begun := time.Now()
		_, err := d.pool.CopyFrom(l.ctx, pgx.Identifier{"reference_lines"}, referenceColumns, pgx.CopyFromRows(rows))
		return time.Since(begun), err
	}
}
