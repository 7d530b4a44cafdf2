package postgres

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Rejected lists the first items refused at intake.
func (s *Store) Rejected(ctx context.Context, batchID int64, limit int) ([]store.Letter, error) {
	letters, err := s.letters(ctx, "WHERE d.batch_id = $1 AND d.stage = $2 ORDER BY d.ordinal LIMIT $3", batchID, int16(payroll.StageIntake), limit)
	return letters, translate(err)
}

// letterColumns are of dead_letters d, without what is long.
var letterColumns = "d." + strings.Join([]string{
	"id", "tenant", "vendor", "pay_period", "batch_id", "batch_key", "ordinal", "line_key", "employee_id", "amount", "currency", "cutoff_at",
	"status", "reason", "stage", "last_status", "last_error", "attempts", "payload_cut", "first_seen_at", "dead_lettered_at",
	"closed_at", "closed_as", "actor", "note", "root_cause",
}, ", d.")

func letterFields(l *store.Letter) []any {
	return []any{
		&l.ID, &l.Tenant, &l.Vendor, &l.PayPeriod, &l.BatchID, &l.BatchKey, &l.Ordinal, &l.LineKey, &l.EmployeeID, (*int64)(&l.Amount), &l.Currency, (*stamp)(&l.CutoffAt),
		(*int16)(&l.Status), (*int16)(&l.Reason), (*int16)(&l.Stage), &l.LastStatus, &l.LastError, &l.Attempts, &l.PayloadCut, (*stamp)(&l.FirstSeenAt), (*stamp)(&l.DeadLetteredAt),
		(*stamp)(&l.ClosedAt), &l.ClosedAs, &l.Actor, &l.Note, &l.RootCause,
	}
}

func (s *Store) letters(ctx context.Context, where string, args ...any) ([]store.Letter, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+letterColumns+" FROM dead_letters d "+where, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (l store.Letter, err error) {
		err = row.Scan(letterFields(&l)...)
		return l, err
	})
}

// filterSQL: $1 to $8 are a filter's fields; what is zero selects all.
const filterSQL = `WHERE d.tenant = $1 AND ($2::int2 = 0 OR d.status = $2) AND ($3::int2 = 0 OR d.reason = $3) AND ($4::int2 = 0 OR d.class = $4)
	AND ($5::int2 = 0 OR d.stage = $5) AND ($6 = '' OR d.vendor = $6) AND ($7 = '' OR d.batch_key = $7) AND ($8 = '' OR d.pay_period = $8)`

func filterValues(f store.LetterFilter) []any {
	return []any{f.Tenant, int16(f.Status), int16(f.Reason), int16(f.Class), int16(f.Stage), f.Vendor, f.BatchKey, f.PayPeriod}
}

// Letters lists dead letters, the oldest first.
func (s *Store) Letters(ctx context.Context, f store.LetterFilter, p store.Page) ([]store.Letter, string, error) {
	after, err := store.DecodeCursor(p.After, 3)
	if err != nil {
		return nil, "", err
	}
	at, id := letterPosition(after)
	letters, err := s.letters(ctx, filterSQL+` AND (d.dead_lettered_at, d.id) > ($9, $10) ORDER BY d.dead_lettered_at, d.id LIMIT $11`,
		append(filterValues(f), at, id, p.Limit+1)...)
	items, next := cut(letters, p.Limit, letterCursor)
	return items, next, translate(err)
}

// CountLetters counts them.
func (s *Store) CountLetters(ctx context.Context, f store.LetterFilter) (n int, err error) {
	err = s.pool.QueryRow(ctx, "SELECT count(*) FROM dead_letters d "+filterSQL, filterValues(f)...).Scan(&n)
	return n, translate(err)
}

// letterCursor is a letter's place in the list: when it died, and its id.
func letterCursor(l store.Letter) string {
	return store.EncodeCursor(l.DeadLetteredAt.UnixMicro(), int64(binary.BigEndian.Uint64(l.ID[:8])), int64(binary.BigEndian.Uint64(l.ID[8:])))
}

func letterPosition(keyset []int64) (at time.Time, id uuid.UUID) {
	if keyset == nil {
		return time.Unix(0, 0), uuid.Nil
	}
	binary.BigEndian.PutUint64(id[:8], uint64(keyset[1]))
	binary.BigEndian.PutUint64(id[8:], uint64(keyset[2]))
	return time.UnixMicro(keyset[0]), id
}

// Letter reads one with everything, and its line's standing today.
func (s *Store) Letter(ctx context.Context, tenant string, id uuid.UUID) (l store.Letter, err error) {
	var history []byte
	fields := append(letterFields(&l), &history, &kept{&l.Payload})
	err = s.pool.QueryRow(ctx, "SELECT "+letterColumns+", d.history, d.payload FROM dead_letters d WHERE d.tenant = $1 AND d.id = $2", tenant, id).Scan(fields...)
	if err != nil {
		return l, translate(err)
	}
	if err := json.Unmarshal(history, &l.History); err != nil {
		return l, fmt.Errorf("history of a dead letter: %w", err)
	}
	lines, err := standings(ctx, s.pool, l.BatchID, []int32{l.Ordinal})
	if len(lines) == 1 {
		l.Standing = &lines[0]
	}
	return l, translate(err)
}
