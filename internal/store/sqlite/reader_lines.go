package sqlite

import (
	"context"
	"errors"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// viewColumns are those of a line as status pages show it. What follows them
// puts the batch before its lines (CROSS JOIN keeps the order), so that a page
// of lines looks the batch up once.
const viewColumns = `SELECT l.batch_id, p.tenant, p.pay_period, b.run_attempt_group, ` + stateOfLine + ` AS state,
  o.settled_as, o.reference, o.reason,
  (SELECT e.key FROM lines e WHERE e.batch_id = r.blocked_by_batch AND e.ordinal = r.blocked_by_ordinal),
  ` + troubleColumns + `, ` + lineColumns + `
`

// stateOfLine is the rule of where a line stands, as store.StateOf has it and
// the view line_states.
const stateOfLine = `CASE
  WHEN o.state IS NOT NULL THEN o.state
  WHEN r.state IS NOT NULL THEN r.state
  WHEN t.cancelled_from > 0 AND l.ordinal >= t.cancelled_from THEN 7
  WHEN l.live = 1 AND l.ordinal < t.next_ordinal THEN 2
  ELSE 1 END`

const joinViews = `
LEFT JOIN troubles r ON r.batch_id = l.batch_id AND r.ordinal = l.ordinal
LEFT JOIN outcomes o ON o.batch_id = l.batch_id AND o.ordinal = l.ordinal
`

// viewRow is a line as it is shown, with its batch's id for cursors.
type viewRow struct {
	batchID int64
	store.LineView
}

func scanView(row scanner) (v viewRow, err error) {
	var l lineRow
	var r troubleRow
	var settledAs, reason maybe
	var reference *string
	var elder []byte
	b := payroll.Batch{}
	dest := []any{&v.batchID, &b.Tenant, &b.PayPeriod, &b.Group, &v.State, &settledAs, &reference, &reason, &elder}
	if err := row.Scan(append(append(dest, r.dest()...), l.dest()...)...); err != nil {
		return v, err
	}
	err = l.finish()
	v.Tenant, v.PayPeriod, v.BatchKey = b.Tenant, b.PayPeriod, b.Key()
	v.Line, v.Trouble, v.SettledAs, v.Reason = l.line, r.trouble(), payroll.SettledAs(settledAs.n), payroll.Reason(reason.n)
	if reference != nil {
		v.Reference = *reference
	}
	if elder != nil && !v.State.AtRest() {
		v.BlockedBy = payroll.LineKey(b.Tenant, b.PayPeriod, payroll.Digest(elder))
	}
	return v, err
}

func views(rows []viewRow) []store.LineView {
	items := make([]store.LineView, len(rows))
	for i, r := range rows {
		items[i] = r.LineView
	}
	return items
}

// Lines lists a batch's lines by ordinal; state 0 = all.
func (s *Store) Lines(ctx context.Context, batchID int64, state payroll.State, p store.Page) (items []store.LineView, next string, err error) {
	after, err := store.DecodeCursor(p.After, 1)
	if err != nil {
		return nil, "", err
	}
	from := int64(0)
	if after != nil {
		from = after[0]
	}
	rows, err := read(ctx, s, func(q querier) ([]viewRow, error) {
		return collect(ctx, q, scanView, viewColumns+`FROM resume_tokens t CROSS JOIN batches b ON b.id = t.batch_id
			CROSS JOIN periods p ON p.id = b.period_id CROSS JOIN lines l ON l.batch_id = ?1`+joinViews+`
			WHERE t.batch_id = ?1 AND l.ordinal > ?2 AND (?3 = 0 OR `+stateOfLine+` = ?3)
			ORDER BY l.ordinal LIMIT ?4`, batchID, from, state, p.Limit+1)
	})
	rows, next = pageOf(rows, p.Limit, func(v viewRow) string { return store.EncodeCursor(int64(v.Line.Ordinal)) })
	return views(rows), next, err
}

// EmployeeLines lists an employee's lines in a pay period, all batches, in the
// order they were stored. It reads the period's lines: there is no index on
// employees, which every intake would pay for.
func (s *Store) EmployeeLines(ctx context.Context, tenant, payPeriod, employee string, p store.Page) (items []store.LineView, next string, err error) {
	after, err := store.DecodeCursor(p.After, 2)
	if err != nil {
		return nil, "", err
	}
	if after == nil {
		after = []int64{0, 0}
	}
	rows, err := read(ctx, s, func(q querier) ([]viewRow, error) {
		return collect(ctx, q, scanView, viewColumns+`FROM periods p CROSS JOIN batches b ON b.period_id = p.id
			CROSS JOIN resume_tokens t ON t.batch_id = b.id CROSS JOIN lines l ON l.batch_id = b.id`+joinViews+`
			WHERE p.tenant = ? AND p.pay_period = ? AND l.employee_id = ? AND b.id >= ? AND (l.batch_id, l.ordinal) > (?, ?)
			ORDER BY b.id, l.ordinal LIMIT ?`, tenant, payPeriod, employee, after[0], after[0], after[1], p.Limit+1)
	})
	rows, next = pageOf(rows, p.Limit, func(v viewRow) string { return store.EncodeCursor(v.batchID, int64(v.Line.Ordinal)) })
	return views(rows), next, err
}

// Line reads the live line of a key with its attempts.
func (s *Store) Line(ctx context.Context, tenant, lineKey string) (store.LineView, error) {
	payPeriod, key, ok := payroll.ParseLineKey(tenant, lineKey)
	if !ok {
		return store.LineView{}, store.ErrNotFound
	}
	return read(ctx, s, func(q querier) (store.LineView, error) {
		v, err := scanView(q.row(ctx, viewColumns+`FROM periods p CROSS JOIN lines l ON l.period_id = p.id
			CROSS JOIN resume_tokens t ON t.batch_id = l.batch_id CROSS JOIN batches b ON b.id = l.batch_id`+joinViews+`
			WHERE p.tenant = ? AND p.pay_period = ? AND l.key = ? AND l.live = 1`, tenant, payPeriod, key[:]))
		if err != nil {
			return v.LineView, found(err)
		}
		k, err := readToken(ctx, q, v.batchID)
		if err != nil {
			return v.LineView, err
		}
		past, err := pasts(ctx, q, k, []int32{v.Line.Ordinal})
		v.Attempts = past[v.Line.Ordinal].History()
		return v.LineView, err
	})
}

// standingOf reads where a letter's line stands; nil: it has none.
func standingOf(ctx context.Context, q querier, r payroll.LineRef) (*payroll.Standing, error) {
	_, s, err := standing(ctx, q, r)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		return &s, nil
	}
}
