package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

const (
	viewColumns = `p.tenant, p.pay_period, b.batch_key, ` + lineColumns + `, ` + stateColumn + `, ` + troubleColumns + `,
	coalesce(o.settled_as, 0), coalesce(o.reference, ''), coalesce(o.reason, 0), coalesce(o.attempt_no, 0), coalesce(o.http_status, 0), b.id,
	(SELECT e.key FROM lines e WHERE e.batch_id = r.blocked_by_batch AND e.ordinal = r.blocked_by_ordinal)`
	viewJoins = ` JOIN resume_tokens t ON t.batch_id = l.batch_id
	JOIN batches b ON b.id = l.batch_id
	JOIN periods p ON p.id = l.period_id` + troubleOf + outcomeOf + ` `
	lineOf = ` c JOIN LATERAL (SELECT * FROM lines l WHERE l.batch_id = c.batch_id AND l.ordinal = c.ordinal OFFSET 0) l ON true`
)

// seen is a line's view, with what leads to its attempts.
type seen struct {
	store.LineView
	batch  int64
	in     int32 // attempt of its outcome
	status int
}

func rowToSeen(row pgx.CollectableRow) (v seen, err error) {
	var remembered bool
	var t payroll.Trouble
	var elder []byte
	fields := append([]any{&v.Tenant, &v.PayPeriod, &v.BatchKey}, lineFields(&v.Line)...)
	fields = append(fields, (*int16)(&v.State))
	fields = append(fields, troubleFields(&remembered, &t)...)
	fields = append(fields, (*int16)(&v.SettledAs), &v.Reference, (*int16)(&v.Reason), &v.in, &v.status, &v.batch, &elder)
	err = row.Scan(fields...)
	if remembered {
		v.Trouble = &t
	}
	if elder != nil && !v.State.AtRest() {
		v.BlockedBy = payroll.LineKey(v.Tenant, v.PayPeriod, payroll.Digest(elder))
	}
	return v, err
}

// sources are where the lines of a state are found without looking at all lines
// of a batch: what is remembered or ended says so. States that untouched lines
// have too are filtered.
func source(s payroll.State) string {
	switch s {
	case payroll.Retrying, payroll.Unknown:
		return "FROM troubles" + lineOf + viewJoins + "WHERE c.batch_id = $1 AND c.ordinal > $2 AND c.state = $3 AND " + stateColumn + " = $3 ORDER BY c.ordinal"
	case payroll.Settled:
		return "FROM outcomes" + lineOf + viewJoins + "WHERE c.batch_id = $1 AND c.ordinal > $2 AND c.state = $3 ORDER BY c.ordinal"
	case payroll.DeadLettered, payroll.Superseded:
		return "FROM outcomes" + lineOf + viewJoins + "WHERE c.batch_id = $1 AND c.ordinal > $2 AND c.state = $3 AND c.state <> 5 ORDER BY c.ordinal"
	default:
		return "FROM lines l" + viewJoins + "WHERE l.batch_id = $1 AND l.ordinal > $2 AND ($3::int2 = 0 OR " + stateColumn + " = $3) ORDER BY l.ordinal"
	}
}

// Lines lists a batch's lines by ordinal.
func (s *Store) Lines(ctx context.Context, batchID int64, state payroll.State, p store.Page) ([]store.LineView, string, error) {
	after, err := store.DecodeCursor(p.After, 1)
	if err != nil {
		return nil, "", err
	}
	views, err := s.views(ctx, "SELECT "+viewColumns+" "+source(state)+" LIMIT $4", batchID, first(after), int16(state), p.Limit+1)
	items, next := cut(views, p.Limit, func(v seen) string { return store.EncodeCursor(int64(v.Line.Ordinal)) })
	return bare(items), next, err
}

func (s *Store) views(ctx context.Context, sql string, args ...any) ([]seen, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, translate(err)
	}
	views, err := pgx.CollectRows(rows, rowToSeen)
	return views, translate(err)
}

func bare(views []seen) []store.LineView {
	lines := make([]store.LineView, len(views))
	for i, v := range views {
		lines[i] = v.LineView
	}
	return lines
}

// EmployeeLines lists an employee's lines in a pay period by batch and ordinal.
// There is no index on the employee: it reads the period's lines.
func (s *Store) EmployeeLines(ctx context.Context, tenant, payPeriod, employee string, p store.Page) ([]store.LineView, string, error) {
	after, err := store.DecodeCursor(p.After, 2)
	if err != nil {
		return nil, "", err
	}
	if after == nil {
		after = []int64{0, 0}
	}
	views, err := s.views(ctx, "SELECT "+viewColumns+` FROM lines l`+viewJoins+`WHERE l.batch_id IN (
			SELECT b.id FROM batches b JOIN units u ON u.id = b.unit_id JOIN periods p ON p.id = u.period_id WHERE p.tenant = $1 AND p.pay_period = $2)
		AND l.employee_id = $3 AND (l.batch_id, l.ordinal) > ($4, $5) ORDER BY l.batch_id, l.ordinal LIMIT $6`,
		tenant, payPeriod, employee, after[0], after[1], p.Limit+1)
	items, next := cut(views, p.Limit, func(v seen) string { return store.EncodeCursor(v.batch, int64(v.Line.Ordinal)) })
	return bare(items), next, err
}

// Line reads the live line of a key with its attempts.
func (s *Store) Line(ctx context.Context, tenant, lineKey string) (store.LineView, error) {
	period, digest, ok := payroll.ParseLineKey(tenant, lineKey)
	if !ok {
		return store.LineView{}, store.ErrNotFound
	}
	views, err := s.views(ctx, "SELECT "+viewColumns+" FROM lines l"+viewJoins+
		"WHERE l.period_id = (SELECT id FROM periods WHERE tenant = $1 AND pay_period = $2) AND l.key = $3 AND l.live", tenant, period, digest[:])
	if err != nil {
		return store.LineView{}, err
	}
	if len(views) == 0 {
		return store.LineView{}, store.ErrNotFound
	}
	return s.withAttempts(ctx, views[0])
}

func (s *Store) withAttempts(ctx context.Context, v seen) (store.LineView, error) {
	o := v.Line.Ordinal
	all := map[int32]store.Past{o: {BatchKey: v.BatchKey}}
	if v.State == payroll.Settled {
		all[o] = store.Past{BatchKey: v.BatchKey, SettledIn: v.in, SettledStatus: v.status}
	}
	if err := readPasts(ctx, s.pool, v.batch, []int32{o}, all); err != nil {
		return store.LineView{}, translate(err)
	}
	v.Attempts = all[o].History()
	return v.LineView, nil
}
