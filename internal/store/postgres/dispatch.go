package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// frontSQL finds where a read-ahead begins and ends, and whether anything
// happened to a line from there on: in a batch that is worked off in order,
// nothing did.
const frontSQL = `SELECT f.first, f.below,
	EXISTS (SELECT FROM outcomes o WHERE o.batch_id = $1 AND o.ordinal >= f.first)
	OR EXISTS (SELECT FROM troubles r WHERE r.batch_id = $1 AND r.ordinal >= f.first)
FROM (SELECT greatest($2, t.next_ordinal) AS first, coalesce(t.cancelled_from, 2147483647) AS below FROM resume_tokens t WHERE t.batch_id = $1) f`

// readAheadSQL reads what a request needs of fresh lines.
const readAheadSQL = `SELECT l.ordinal, l.key, l.employee_id, l.line_version, l.line_ref, l.amount, l.currency, l.details FROM lines l
WHERE l.batch_id = $1 AND l.live AND l.ordinal >= $2 AND l.ordinal < $3`

// untouchedOnly excludes by scalar subqueries, which stay one look into an index
// for each line whatever a planner knows of a fresh batch.
const untouchedOnly = `
	AND (SELECT true FROM outcomes o WHERE o.batch_id = l.batch_id AND o.ordinal = l.ordinal) IS NULL
	AND (SELECT true FROM troubles r WHERE r.batch_id = l.batch_id AND r.ordinal = l.ordinal) IS NULL`

const linesInOrder = ` ORDER BY l.ordinal LIMIT $4`

// ReadAhead reads fresh live lines in order. What happens between its two looks
// raises change_seq, and a plan made from it is refused.
func (s *Store) ReadAhead(ctx context.Context, batchID int64, from int32, limit int) ([]payroll.Line, error) {
	var first, below int32
	var touched bool
	err := s.pool.QueryRow(ctx, frontSQL, batchID, from).Scan(&first, &below, &touched)
	if err != nil {
		return nil, translate(err)
	}
	sql := readAheadSQL + linesInOrder
	if touched {
		sql = readAheadSQL + untouchedOnly + linesInOrder
	}
	rows, err := s.pool.Query(ctx, sql, batchID, first, below, limit)
	if err != nil {
		return nil, translate(err)
	}
	lines := make([]payroll.Line, 0, limit)
	var l payroll.Line
	fields := []any{
		&l.Ordinal, &fixed{l.Key[:]}, &l.EmployeeID, &l.Version, &l.Ref, (*int64)(&l.Amount), &l.Currency, &details{&l.Details},
	}
	_, err = pgx.ForEachRow(rows, fields, func() error {
		lines = append(lines, l)
		return nil
	})
	return lines, translate(err)
}

// waiting is the condition of the index troubles_due on troubles r.
const waiting = `r.attempt_no = 0 AND r.state IN (1, 3, 4) AND r.blocked_by_batch = 0`

// dueColumns are of lines l and troubles r; the state of a trouble's line is kept in it.
const dueColumns = lineColumns + `, ` + supersededColumn + `, r.state, ` + troubleColumns

func rowToDue(row pgx.CollectableRow) (d store.Due, err error) {
	var found bool
	fields := append(lineFields(&d.Line), &d.Superseded, (*int16)(&d.State))
	err = row.Scan(append(fields, troubleFields(&found, &d.Trouble)...)...)
	return d, err
}

// Due reads lines whose next step may be taken.
func (s *Store) Due(ctx context.Context, batchID int64, now time.Time, limit int) ([]store.Due, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+dueColumns+` FROM troubles r JOIN lines l USING (batch_id, ordinal)
		WHERE r.batch_id = $1 AND `+waiting+` AND coalesce(r.due_at, '-infinity') <= $2
		ORDER BY coalesce(r.due_at, '-infinity'), r.ordinal LIMIT $3`, batchID, stamp(now), limit)
	if err != nil {
		return nil, translate(err)
	}
	due, err := pgx.CollectRows(rows, rowToDue)
	return due, translate(err)
}

// NextDue says when the next line is due. A line that has been due since ever
// counts as due since the beginning of our calendar.
func (s *Store) NextDue(ctx context.Context, batchID int64) (next time.Time, err error) {
	err = s.pool.QueryRow(ctx, `SELECT (SELECT coalesce(r.due_at, '0001-01-02') FROM troubles r
		WHERE r.batch_id = $1 AND `+waiting+` ORDER BY coalesce(r.due_at, '-infinity'), r.ordinal LIMIT 1)`, batchID).Scan((*stamp)(&next))
	return next, translate(err)
}

// NoteAnswer keeps a late answer on an open attempt.
func (s *Store) NoteAnswer(ctx context.Context, batchID int64, attemptNo int32, late []byte) error {
	_, err := s.pool.Exec(ctx, "UPDATE attempts SET late = $3 WHERE batch_id = $1 AND attempt_no = $2 AND closed_at IS NULL", batchID, attemptNo, late)
	return translate(err)
}

// OpenAttempts lists the open attempts of a batch by number.
func (s *Store) OpenAttempts(ctx context.Context, batchID int64) ([]store.Attempt, error) {
	rows, err := s.pool.Query(ctx, "SELECT "+attemptColumns+" FROM attempts a WHERE a.batch_id = $1 AND a.closed_at IS NULL ORDER BY a.attempt_no", batchID)
	if err != nil {
		return nil, translate(err)
	}
	attempts, err := pgx.CollectRows(rows, rowToAttempt)
	return attempts, translate(err)
}

func rowToAttempt(row pgx.CollectableRow) (a store.Attempt, err error) {
	err = row.Scan(attemptFields(&a)...)
	return a, err
}

// Chunk reads an attempt and its lines in the order of the request.
func (s *Store) Chunk(ctx context.Context, batchID int64, attemptNo int32) (a store.Attempt, lines []store.Due, err error) {
	err = s.pool.QueryRow(ctx, "SELECT "+attemptColumns+" FROM attempts a WHERE a.batch_id = $1 AND a.attempt_no = $2", batchID, attemptNo).
		Scan(attemptFields(&a)...)
	if err != nil {
		return a, nil, translate(err)
	}
	rows, err := s.pool.Query(ctx, `SELECT `+lineColumns+`, `+supersededColumn+`, `+stateColumn+`, `+troubleColumns+`
		FROM unnest($2::int4[]) WITH ORDINALITY AS c(ordinal, place)
		JOIN lines l ON l.batch_id = $1 AND l.ordinal = c.ordinal
		JOIN resume_tokens t ON t.batch_id = $1
		`+troubleOf+outcomeOf+`
		ORDER BY c.place`, batchID, a.Ordinals)
	if err != nil {
		return a, nil, translate(err)
	}
	lines, err = pgx.CollectRows(rows, rowToDue)
	return a, lines, translate(err)
}

// Correct records that a line corrects a paid one.
func (s *Store) Correct(ctx context.Context, batchID int64, ordinal int32, corrects payroll.LineRef) error {
	_, err := s.pool.Exec(ctx, "INSERT INTO corrections VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", batchID, ordinal, corrects.Batch, corrects.Ordinal)
	return translate(err)
}
