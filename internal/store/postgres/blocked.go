package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// olderColumns say where an item stands, for payroll.Succeed: lines o, batches
// ob, units ou, resume_tokens ot, troubles og, outcomes oo.
const (
	olderColumns = `o.batch_id, o.ordinal, ou.vendor, payroll_line_state(ot.next_ordinal, ot.cancelled_from, o.live, o.ordinal, og.state, oo.state),
	coalesce(og.ambiguous, false), coalesce(oo.reason, 0), coalesce((SELECT d.closed_as FROM dead_letters d
		WHERE d.batch_id = o.batch_id AND d.ordinal = o.ordinal ORDER BY d.dead_lettered_at DESC, d.id DESC LIMIT 1), '')`
	olderJoins = ` JOIN batches ob ON ob.id = o.batch_id
	JOIN units ou ON ou.id = ob.unit_id
	JOIN resume_tokens ot ON ot.batch_id = o.batch_id
	LEFT JOIN LATERAL (SELECT * FROM troubles og WHERE og.batch_id = o.batch_id AND og.ordinal = o.ordinal OFFSET 0) og ON true
	LEFT JOIN LATERAL (SELECT * FROM outcomes oo WHERE oo.batch_id = o.batch_id AND oo.ordinal = o.ordinal OFFSET 0) oo ON true `
)

// olderFields are those of olderColumns.
func olderFields(o *payroll.Older, closedAs *string) []any {
	return []any{&o.Ref.Batch, &o.Ref.Ordinal, &o.Vendor, (*int16)(&o.State), &o.Ambiguous, (*int16)(&o.Reason), closedAs}
}

// Blocked reads lines that wait for an older version.
func (s *Store) Blocked(ctx context.Context, batchID int64, after int32, limit int) ([]store.Blocked, error) {
	rows, err := s.pool.Query(ctx, `SELECT r.ordinal, `+olderColumns+` FROM troubles r
		JOIN lines o ON o.batch_id = r.blocked_by_batch AND o.ordinal = r.blocked_by_ordinal`+olderJoins+`
		WHERE r.batch_id = $1 AND r.ordinal > $2 AND r.blocked_by_batch <> 0 AND r.state IN (1, 3, 4) ORDER BY r.ordinal LIMIT $3`, batchID, after, limit)
	if err != nil {
		return nil, translate(err)
	}
	blocked, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (b store.Blocked, err error) {
		var closedAs string
		err = row.Scan(append([]any{&b.Ordinal}, olderFields(&b.Older, &closedAs)...)...)
		b.Older.LetterClosed, _ = payroll.ParseCloseReason(closedAs)
		return b, err
	})
	return blocked, translate(err)
}
