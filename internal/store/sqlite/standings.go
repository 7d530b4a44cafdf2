package sqlite

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// superseded is whether a higher version of line l exists.
const superseded = `EXISTS (SELECT 1 FROM versions v WHERE v.period_id = l.period_id AND v.any_version = l.any_version AND v.line_version > l.line_version)`

// selectStandings reads lines with all that a decision needs; what follows it
// names the lines as l, and the order.
const selectStandings = `SELECT l.batch_id, l.live, o.state, o.settled_as, o.reason, a.live_batch_id, a.live_ordinal, d.id, d.closed_as,
  ` + superseded + `, ` + troubleColumns + `, ` + lineColumns

// joinStandings is what l is joined with.
const joinStandings = `
LEFT JOIN troubles r ON r.batch_id = l.batch_id AND r.ordinal = l.ordinal
LEFT JOIN outcomes o ON o.batch_id = l.batch_id AND o.ordinal = l.ordinal
LEFT JOIN adoptions a ON a.batch_id = l.batch_id AND a.ordinal = l.ordinal
LEFT JOIN dead_letters d ON d.id = (SELECT e.id FROM dead_letters e WHERE e.batch_id = l.batch_id AND e.ordinal = l.ordinal
  ORDER BY e.dead_lettered_at DESC, e.id DESC LIMIT 1)
`

// standingRow is one of them before its batch's token has been looked at.
type standingRow struct {
	batchID int64
	payroll.Standing
	troubleState, outcome payroll.State
}

func scanStanding(row scanner) (standingRow, error) {
	var s standingRow
	var l lineRow
	var r troubleRow
	var outcome, settledAs, reason, liveBatch, liveOrdinal maybe
	var letter []byte
	var closedAs *string
	dest := []any{&s.batchID, &s.Live, &outcome, &settledAs, &reason, &liveBatch, &liveOrdinal, &letter, &closedAs, &s.Superseded}
	if err := row.Scan(append(append(dest, r.dest()...), l.dest()...)...); err != nil {
		return s, err
	}
	err := l.finish()
	s.Line, s.Trouble, s.troubleState = l.line, r.trouble(), r.state()
	s.outcome, s.SettledAs, s.Reason = payroll.State(outcome.n), payroll.SettledAs(settledAs.n), payroll.Reason(reason.n)
	s.FollowerOf = payroll.LineRef{Batch: liveBatch.n, Ordinal: int32(liveOrdinal.n)}
	if letter != nil {
		s.Letter, s.LetterClosed = uuid.UUID(letter), payroll.CloseReason(*closedAs)
	}
	return s, err
}

// under completes a standing by what its batch says.
func (s standingRow) under(k *token) payroll.Standing {
	s.State = store.StateOf(k.Token, s.Live, s.Line.Ordinal, s.troubleState, s.outcome)
	s.Cancelled = k.CancelledFrom > 0
	s.CutoffAt = k.Batch.CutoffAt
	if s.Trouble != nil && !s.Trouble.CutoffAt.IsZero() {
		s.CutoffAt = s.Trouble.CutoffAt
	}
	return s.Standing
}

// standings reads where lines of a batch stand, in ordinal order, each once.
func standings(ctx context.Context, q querier, k *token, list []int32) ([]payroll.Standing, error) {
	if len(list) == 0 {
		return nil, nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	rows, err := collect(ctx, q, scanStanding, selectStandings+`
		FROM json_each(?2) j CROSS JOIN lines l ON l.batch_id = ?1 AND l.ordinal = j.value`+joinStandings+`ORDER BY l.ordinal`,
		k.Batch.ID, jsonList(slices.Compact(list)))
	all := make([]payroll.Standing, len(rows))
	for i, row := range rows {
		all[i] = row.under(k)
	}
	return all, err
}

// standing reads where one item stands; store.ErrNotFound where it has no line.
func standing(ctx context.Context, q querier, r payroll.LineRef) (*token, payroll.Standing, error) {
	k, err := readToken(ctx, q, r.Batch)
	if err != nil {
		return nil, payroll.Standing{}, err
	}
	all, err := standings(ctx, q, k, []int32{r.Ordinal})
	switch {
	case err != nil:
		return k, payroll.Standing{}, err
	case len(all) == 0:
		return k, payroll.Standing{}, store.ErrNotFound
	default:
		return k, all[0], nil
	}
}
