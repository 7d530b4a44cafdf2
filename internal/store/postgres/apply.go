package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Apply writes a worker's decision.
func (s *Store) Apply(ctx context.Context, w store.Work) (store.Applied, error) {
	if len(w.Clean) > 0 && len(w.Ordinals) == 0 && w.Next == 0 {
		return s.applyClean(ctx, w)
	}
	var applied store.Applied
	err := s.write(ctx, "Apply", func(tx pgx.Tx) (err error) {
		applied, err = s.applyMixed(ctx, s.ledger(tx, w.Now), w)
		return err
	})
	if err != nil {
		return store.Applied{}, err
	}
	return applied, nil
}

func (s *Store) applyMixed(ctx context.Context, g *ledger, w store.Work) (store.Applied, error) {
	h, err := g.fence(ctx, w)
	if err != nil {
		return store.Applied{}, err
	}
	carried, err := g.closeAttempt(ctx, w)
	if err != nil {
		return store.Applied{}, err
	}
	if err := h.settleClean(ctx, w, carried); err != nil {
		return store.Applied{}, err
	}
	lines, err := standings(ctx, g.tx, w.BatchID, w.Ordinals)
	if err != nil {
		return store.Applied{}, err
	}
	lines = open(lines, w.AttemptNo, carried)
	changes := decide(w, lines)
	if err := passed(w, lines, changes); err != nil {
		return store.Applied{}, err
	}
	if err := h.covered(ctx, w, carried, changes); err != nil {
		return store.Applied{}, err
	}
	if err := h.change(ctx, mark{attempt: w.AttemptNo}, lines, changes); err != nil {
		return store.Applied{}, err
	}
	if w.Next != 0 {
		h.token.NextOrdinal = w.Next // only now: the lines were read as they stood before
	}
	err = h.settle(ctx, byWorker, 0)
	return store.Applied{Token: h.token, Changes: h.changes, Dead: h.dead}, err
}

func decide(w store.Work, lines []payroll.Standing) []payroll.Change {
	if w.Decide == nil || len(lines) == 0 {
		return nil
	}
	return w.Decide(lines)
}

// fence takes the token for a worker of its epoch, and moves the cursor. Where
// fresh lines are passed over, they must still be those that were planned.
func (g *ledger) fence(ctx context.Context, w store.Work) (*held, error) {
	tag, err := g.tx.Exec(ctx, `UPDATE resume_tokens t SET epoch = $2, last_cursor = greatest(last_cursor, $3)
		WHERE batch_id = $1 AND $2 = `+epochOf+` AND ($4::int4 = 0 OR change_seq = $5 AND next_ordinal = $6 AND cancelled_from IS NULL)`,
		w.BatchID, w.Epoch, w.Cursor, w.Next, w.ChangeSeq, w.From)
	if err != nil {
		return nil, err
	}
	if tag.RowsAffected() == 0 {
		return nil, refusal(ctx, g.tx, w.BatchID, w.Epoch)
	}
	return g.lockToken(ctx, w.BatchID)
}

// closeAttempt writes an attempt's answer and returns the lines it carried.
func (g *ledger) closeAttempt(ctx context.Context, w store.Work) (carried map[int32]bool, err error) {
	if w.AttemptNo == 0 {
		return nil, nil
	}
	var ordinals []int32
	err = g.tx.QueryRow(ctx, `UPDATE attempts SET closed_at = $3, http_status = $4, verdict = $5, detail = $6, late = NULL
		WHERE batch_id = $1 AND attempt_no = $2 AND closed_at IS NULL RETURNING ordinals`,
		w.BatchID, w.AttemptNo, stamp(w.Now), int16(w.Answer.HTTPStatus), int16(w.Answer.Verdict), w.Answer.Detail).Scan(&ordinals)
	if errors.Is(err, pgx.ErrNoRows) {
		err = store.ErrAnswered
	}
	return setOf(ordinals), err
}

func setOf(ordinals []int32) map[int32]bool {
	set := make(map[int32]bool, len(ordinals))
	for _, o := range ordinals {
		set[o] = true
	}
	return set
}

// open leaves out the lines that this write has no say about: those at rest,
// those of another attempt, and, outside an attempt, those in any.
func open(lines []payroll.Standing, attempt int32, carried map[int32]bool) []payroll.Standing {
	return slices.DeleteFunc(lines, func(s payroll.Standing) bool {
		switch {
		case s.State.AtRest():
			return true
		case s.Trouble != nil:
			return s.Trouble.AttemptNo != attempt
		case attempt == 0:
			return s.State == payroll.InFlight
		default:
			return !carried[s.Line.Ordinal]
		}
	})
}

// passed: where next_ordinal moves past lines, each of them must have been
// decided about. A line left behind would read as in flight for ever.
func passed(w store.Work, lines []payroll.Standing, changes []payroll.Change) error {
	if w.Next == 0 {
		return nil
	}
	decided := decidedBy(w, changes)
	for _, s := range lines {
		if s.Trouble == nil && s.Live && !decided[s.Line.Ordinal] {
			return fmt.Errorf("line %d is passed over: %w", s.Line.Ordinal, errUndecided)
		}
	}
	return nil
}

func decidedBy(w store.Work, changes []payroll.Change) map[int32]bool {
	decided := make(map[int32]bool, len(w.Clean)+len(changes))
	for _, c := range w.Clean {
		decided[c.Ordinal] = true
	}
	for _, c := range changes {
		decided[c.Ordinal] = true
	}
	return decided
}

var errUndecided = errors.New("every line of an attempt is decided about, and no other")

// covered refuses an answer that says nothing about a line of its attempt: that
// line would be in flight for ever, in no attempt.
func (h *held) covered(ctx context.Context, w store.Work, carried map[int32]bool, changes []payroll.Change) error {
	var left []int32
	decided := decidedBy(w, changes)
	for o := range carried {
		if !decided[o] {
			left = append(left, o)
		}
	}
	if len(left) == 0 {
		return nil
	}
	lines, err := standings(ctx, h.tx, w.BatchID, left)
	if err == nil && len(open(lines, w.AttemptNo, carried)) > 0 {
		err = errUndecided
	}
	return err
}

// settleClean settles fresh lines of a mixed answer without reading them.
func (h *held) settleClean(ctx context.Context, w store.Work, carried map[int32]bool) error {
	if len(w.Clean) == 0 {
		return nil
	}
	if slices.ContainsFunc(w.Clean, func(c store.SettledLine) bool { return !carried[c.Ordinal] }) {
		return errUndecided
	}
	c := columnsOf(w.Clean)
	rows, err := h.tx.Query(ctx, `SELECT l.currency, sum(l.amount)::int8, count(*) FROM lines l WHERE l.batch_id = $1 AND l.ordinal = ANY($2)
		AND NOT EXISTS (SELECT FROM troubles r WHERE r.batch_id = l.batch_id AND r.ordinal = l.ordinal) GROUP BY l.currency`, w.BatchID, c.ordinals)
	if err != nil {
		return err
	}
	d := payroll.Delta{Amounts: map[string]payroll.Amounts{}}
	var currency string
	var amount, n int64
	_, err = pgx.ForEachRow(rows, []any{&currency, &amount, &n}, func() error {
		d.Amounts[currency] = payroll.Amounts{Settled: payroll.Minor(amount)}
		d.Counts[payroll.InFlight] -= n
		d.Counts[payroll.Settled] += n
		return nil
	})
	if err != nil {
		return err
	}
	if d.Counts[payroll.Settled] != int64(len(w.Clean)) {
		return fmt.Errorf("%d clean lines, of which %d are fresh", len(w.Clean), d.Counts[payroll.Settled])
	}
	add(&h.delta, d)
	_, err = h.tx.Exec(ctx, insertClean+`FROM unnest($3::int4[], $4::int2[], $5::int2[], $6::text[]) AS c(ordinal, settled_as, http_status, reference)`,
		w.BatchID, w.AttemptNo, c.ordinals, c.as, c.statuses, c.references)
	return err
}

const insertClean = `INSERT INTO outcomes (batch_id, ordinal, attempt_no, state, settled_as, http_status, reason, reference)
	SELECT $1, c.ordinal, $2, 5, c.settled_as, c.http_status, 0, c.reference `

// cleanRows are clean lines by column, in ordinal order, and their money.
type cleanRows struct {
	ordinals     []int32
	as, statuses []int16
	references   []string
	currencies   []string // of sums
	sums         []int64
}

func columnsOf(clean []store.SettledLine) (c cleanRows) {
	byOrdinal := func(a, b store.SettledLine) int { return int(a.Ordinal) - int(b.Ordinal) }
	if !slices.IsSortedFunc(clean, byOrdinal) {
		clean = slices.SortedFunc(slices.Values(clean), byOrdinal)
	}
	for _, l := range clean {
		c.ordinals = append(c.ordinals, l.Ordinal)
		c.as = append(c.as, int16(l.As))
		c.statuses = append(c.statuses, int16(l.Status))
		c.references = append(c.references, l.Reference)
		c.sum(l)
	}
	return c
}

func (c *cleanRows) sum(l store.SettledLine) {
	i := slices.Index(c.currencies, l.Currency)
	if i < 0 {
		i = len(c.currencies)
		c.currencies, c.sums = append(c.currencies, l.Currency), append(c.sums, 0)
	}
	c.sums[i] += int64(l.Amount)
}

// applyCleanSQL: fence, answer, amounts and outcomes in one statement, each part
// fed from the one before. The last SELECT undoes it where a part found less
// than it expected: the attempt closed by somebody else in the same instant, or
// lines that are not those of the attempt.
const applyCleanSQL = `WITH t AS (
	UPDATE resume_tokens SET in_flight = in_flight - cardinality($3::int4[]), settled = settled + cardinality($3::int4[]),
		last_cursor = CASE WHEN pending + in_flight + retrying + unknown = cardinality($3::int4[]) THEN (SELECT total FROM batches WHERE id = $1) ELSE greatest(last_cursor, $8) END, version = version + 1, updated_at = $9,
		completed_at = CASE WHEN pending + in_flight + retrying + unknown = cardinality($3::int4[]) THEN $9::timestamptz END,
		state = CASE WHEN pending + in_flight + retrying + unknown <> cardinality($3::int4[]) THEN state WHEN cancelled_from IS NULL THEN 5 ELSE 6 END,
		hold_reason = CASE WHEN pending + in_flight + retrying + unknown = cardinality($3::int4[]) THEN '' ELSE hold_reason END
	WHERE batch_id = $1 AND epoch = $7 AND EXISTS (SELECT FROM attempts WHERE batch_id = $1 AND attempt_no = $2 AND closed_at IS NULL)
	RETURNING *),
a AS (
	UPDATE attempts SET closed_at = $9, http_status = $10, verdict = $11, detail = $12, late = NULL
	FROM t WHERE attempts.batch_id = t.batch_id AND attempt_no = $2 AND closed_at IS NULL AND fresh RETURNING attempts.ordinals),
c AS (
	SELECT c.* FROM a
	CROSS JOIN unnest($3::int4[], $4::int2[], $5::int2[], $6::text[]) AS c(ordinal, settled_as, http_status, reference)
	WHERE $3::int4[] = (SELECT array_agg(carried ORDER BY carried) FROM unnest(a.ordinals) AS carried)),
m AS (
	UPDATE batch_amounts b SET settled = b.settled + s.amount
	FROM a CROSS JOIN unnest($13::text[], $14::int8[]) AS s(currency, amount)
	WHERE b.batch_id = $1 AND b.currency = s.currency RETURNING 1),
o AS (` + insertClean + `FROM c ORDER BY c.ordinal RETURNING ordinal)
SELECT ` + tokenColumns + ` FROM t` + tokenJoins + `WHERE payroll_expect((SELECT count(*) FROM o), cardinality($3::int4[]))
	AND payroll_expect((SELECT count(*) FROM o), (SELECT cardinality(ordinals) FROM a))
	AND payroll_expect((SELECT count(*) FROM m), cardinality($13::text[]))`

// applyClean settles fresh lines that their first answer paid, the common case.
func (s *Store) applyClean(ctx context.Context, w store.Work) (store.Applied, error) {
	var t store.Token
	var nothing bool
	c := columnsOf(w.Clean)
	err := s.statement(ctx, "Apply", func(ctx context.Context) (err error) {
		args := []any{
			w.BatchID, w.AttemptNo, c.ordinals, c.as, c.statuses, c.references, w.Epoch, w.Cursor, stamp(w.Now),
			int16(w.Answer.HTTPStatus), int16(w.Answer.Verdict), w.Answer.Detail, c.currencies, c.sums,
		}
		err = s.ride(ctx, w.BatchID, applyCleanSQL, args, func(rows pgx.Rows) error {
			return readToken(rows, &t)
		})
		// codeCheck: the same answer, given twice at once, waited for the token
		// and still counted by what it had seen before; in_flight fell below 0.
		if code := stateOf(err); errors.Is(err, pgx.ErrNoRows) || code == codeExpect || code == codeCheck {
			nothing, err = true, nil
		}
		return err
	})
	switch {
	case errors.Is(err, errLost):
		t, err = s.findAnswered(ctx, w, err)
	case err == nil && nothing:
		err = s.unanswered(ctx, w)
	}
	if err != nil {
		return store.Applied{}, err
	}
	return store.Applied{Token: t}, nil
}

// unanswered says why an attempt could not be answered.
func (s *Store) unanswered(ctx context.Context, w store.Work) error {
	var epoch int64
	var closed bool
	err := s.pool.QueryRow(ctx, `SELECT t.epoch, coalesce((SELECT a.closed_at IS NOT NULL FROM attempts a WHERE a.batch_id = t.batch_id AND a.attempt_no = $2), true)
		FROM resume_tokens t WHERE t.batch_id = $1`, w.BatchID, w.AttemptNo).Scan(&epoch, &closed)
	switch {
	case err != nil:
		return translate(err)
	case epoch != w.Epoch:
		return store.ErrFenced
	case closed:
		return store.ErrAnswered
	default:
		return errUndecided
	}
}

// findAnswered looks whether an answer was written whose own answer was lost:
// nobody else of this epoch closes this attempt at this instant.
func (s *Store) findAnswered(ctx context.Context, w store.Work, cause error) (store.Token, error) {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	var closedAt time.Time
	err := s.pool.QueryRow(ctx, `SELECT a.closed_at FROM attempts a JOIN resume_tokens t USING (batch_id)
		WHERE a.batch_id = $1 AND a.attempt_no = $2 AND t.epoch = $3`, w.BatchID, w.AttemptNo, w.Epoch).Scan((*stamp)(&closedAt))
	if err != nil || !closedAt.Equal(w.Now.Truncate(time.Microsecond)) {
		return store.Token{}, translate(cause)
	}
	t, err := queryToken(ctx, s.pool, "SELECT "+tokenColumns+" FROM resume_tokens t"+tokenJoins+"WHERE t.batch_id = $1", w.BatchID)
	return t, translate(err)
}
