package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
)

// standingSQL reads where lines stand, for $1 = batch.
const standingSQL = `SELECT ` + lineColumns + `, l.live, ` + stateColumn + `, ` + troubleColumns + `,
	coalesce(o.settled_as, 0), coalesce(o.reason, 0), d.id, coalesce(d.closed_as, ''),
	t.cancelled_from IS NOT NULL,
	` + supersededColumn + `,
	coalesce(r.cutoff_at, b.cutoff_at), coalesce(f.live_batch_id, 0), coalesce(f.live_ordinal, 0)
FROM lines l
JOIN resume_tokens t ON t.batch_id = l.batch_id
JOIN batches b ON b.id = l.batch_id` + troubleOf + outcomeOf + `
LEFT JOIN LATERAL (SELECT * FROM adoptions f WHERE f.batch_id = l.batch_id AND f.ordinal = l.ordinal OFFSET 0) f ON true
LEFT JOIN LATERAL (SELECT d.id, d.closed_as FROM dead_letters d WHERE d.batch_id = l.batch_id AND d.ordinal = l.ordinal
	ORDER BY d.dead_lettered_at DESC, d.id DESC LIMIT 1) d ON true
WHERE l.batch_id = $1 AND l.ordinal = ANY($2) ORDER BY l.ordinal`

// standings reads where lines of the batch stand, in ordinal order. Whoever
// decides by them holds the batch's token.
func standings(ctx context.Context, q querier, batch int64, ordinals []int32) ([]payroll.Standing, error) {
	rows, err := q.Query(ctx, standingSQL, batch, ordinals)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, rowToStanding)
}

func rowToStanding(row pgx.CollectableRow) (s payroll.Standing, err error) {
	var remembered bool
	var closedAs string
	var t payroll.Trouble
	var letter *[16]byte
	fields := append(lineFields(&s.Line), &s.Live, (*int16)(&s.State))
	fields = append(fields, troubleFields(&remembered, &t)...)
	fields = append(fields, (*int16)(&s.SettledAs), (*int16)(&s.Reason), &letter, &closedAs, &s.Cancelled, &s.Superseded,
		(*stamp)(&s.CutoffAt), &s.FollowerOf.Batch, &s.FollowerOf.Ordinal)
	if err := row.Scan(fields...); err != nil {
		return s, err
	}
	if remembered {
		s.Trouble = &t
	}
	if letter != nil {
		s.Letter = *letter
	}
	s.LetterClosed, _ = payroll.ParseCloseReason(closedAs) // "" for the ways that are no reason: replayed, attested
	return s, nil
}
