package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// insertAttempt has the columns of a new attempt; its values follow as a SELECT,
// so that it can be fed from the fence.
const insertAttempt = `INSERT INTO attempts (batch_id, attempt_no, epoch, kind, ordinals, first_ordinal, last_ordinal,
	request_key, generation, body_sha256, revision, sent_at, send_before, fresh) `

// openFreshSQL: fence and attempt in one statement, the second fed from the first.
const openFreshSQL = `WITH t AS (
	UPDATE resume_tokens SET next_ordinal = $14, next_attempt = $2 + 1, pending = pending - cardinality($5::int4[]),
		in_flight = in_flight + cardinality($5::int4[]), version = version + 1, updated_at = $12
	WHERE batch_id = $1 AND epoch = $3 AND change_seq = $15 AND next_ordinal = $16 AND next_attempt = $2 AND cancelled_from IS NULL
	RETURNING batch_id)
` + insertAttempt + `SELECT t.batch_id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, true FROM t`

func attemptValues(a store.Attempt) []any {
	return []any{
		a.BatchID, a.No, a.Epoch, int16(a.Kind), a.Ordinals, slices.Min(a.Ordinals), slices.Max(a.Ordinals),
		a.RequestKey, int16(a.Generation), a.BodySHA256[:], a.Revision, stamp(a.SentAt), stamp(a.SendBefore),
	}
}

// errEmpty: a request without lines is no attempt.
var errEmpty = errors.New("an attempt has at least one line")

// Open commits an attempt before its request leaves.
func (s *Store) Open(ctx context.Context, o store.Open) error {
	if len(o.Attempt.Ordinals) == 0 {
		return errEmpty
	}
	if o.From == 0 && o.Next == 0 {
		return s.write(ctx, "Open", func(tx pgx.Tx) error { return openTroubled(ctx, tx, o) })
	}
	var opened int64
	err := s.statement(ctx, "Open", func(ctx context.Context) error {
		args := append(attemptValues(o.Attempt), o.Next, o.ChangeSeq, o.From)
		return s.ride(ctx, o.Attempt.BatchID, openFreshSQL, args, func(rows pgx.Rows) error {
			rows.Close()
			opened = rows.CommandTag().RowsAffected()
			return rows.Err()
		})
	})
	switch {
	case errors.Is(err, errLost):
		return s.findOpened(ctx, o.Attempt, err)
	case stateOf(err) == codeUnique:
		return store.ErrChanged // this number is taken
	case err != nil:
		return err
	case opened == 0:
		return refusal(ctx, s.pool, o.Attempt.BatchID, o.Attempt.Epoch)
	default:
		return nil
	}
}

// findOpened looks whether an attempt was recorded whose answer was lost. Not
// found proves nothing: the write may still be on its way, so nothing is sent.
func (s *Store) findOpened(ctx context.Context, a store.Attempt, cause error) error {
	ctx, cancel := afterwards(ctx)
	defer cancel()
	var found bool
	err := s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM attempts WHERE batch_id = $1 AND attempt_no = $2 AND epoch = $3 AND body_sha256 = $4)`,
		a.BatchID, a.No, a.Epoch, a.BodySHA256[:]).Scan(&found)
	if err == nil && found {
		return nil
	}
	return translate(cause)
}

// epochOf is the epoch that fences resume_tokens t. A take-over leaves complete
// batches alone; what counts for them is the epoch of their unit.
const epochOf = `CASE WHEN t.completed_at IS NULL THEN t.epoch
	ELSE (SELECT u.epoch FROM batches b JOIN units u ON u.id = b.unit_id WHERE b.id = t.batch_id) END`

// refusal says why a fence matched nothing: another epoch, or another plan.
func refusal(ctx context.Context, q querier, batch, epoch int64) error {
	var current int64
	err := q.QueryRow(ctx, "SELECT "+epochOf+" FROM resume_tokens t WHERE t.batch_id = $1", batch).Scan(&current)
	switch {
	case err != nil:
		return translate(err)
	case current != epoch:
		return store.ErrFenced
	default:
		return store.ErrChanged
	}
}

// sendable are the states from which a line can be sent; all others that are
// open can only be looked up.
var sendable = statesWith(payroll.Sent)

func statesWith(e payroll.Event) (states []int16) {
	for _, s := range payroll.States {
		if _, ok := payroll.Transition(s, e); ok {
			states = append(states, int16(s))
		}
	}
	return states
}

// openTroubled: the lines stand in troubles, are in no attempt, and all of them
// must be free still.
func openTroubled(ctx context.Context, tx pgx.Tx, o store.Open) error {
	a := o.Attempt
	tag, err := tx.Exec(ctx, `UPDATE resume_tokens SET next_attempt = $4::int4 + 1, version = version + 1, updated_at = $5
		WHERE batch_id = $1 AND epoch = $2 AND change_seq = $3 AND next_attempt = $4`, a.BatchID, a.Epoch, o.ChangeSeq, a.No, stamp(a.SentAt))
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return refusal(ctx, tx, a.BatchID, a.Epoch)
	}
	if _, err := tx.Exec(ctx, insertAttempt+`VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, false)`, attemptValues(a)...); err != nil {
		return err
	}
	take := takeForLookUp
	if a.Kind == payroll.Submit {
		take = takeForSubmit
	}
	return take(ctx, tx, a)
}

func takeForLookUp(ctx context.Context, tx pgx.Tx, a store.Attempt) error {
	tag, err := tx.Exec(ctx, `UPDATE troubles r SET attempt_no = $3 WHERE r.batch_id = $1 AND r.ordinal = ANY($2) AND `+waiting, a.BatchID, a.Ordinals, a.No)
	if err == nil && int(tag.RowsAffected()) != len(a.Ordinals) {
		err = store.ErrChanged
	}
	return err
}

func takeForSubmit(ctx context.Context, tx pgx.Tx, a store.Attempt) error {
	rows, err := tx.Query(ctx, `WITH taken AS (
		UPDATE troubles r SET attempt_no = $3, state = $4, sends = r.sends + 1, first_sent_at = coalesce(r.first_sent_at, $5)
		FROM troubles was
		WHERE r.batch_id = $1 AND r.ordinal = ANY($2) AND `+waiting+` AND r.state = ANY($6)
			AND was.batch_id = r.batch_id AND was.ordinal = r.ordinal
		RETURNING was.state)
		SELECT state, count(*) FROM taken GROUP BY state`,
		a.BatchID, a.Ordinals, a.No, int16(payroll.InFlight), stamp(a.SentAt), sendable)
	if err != nil {
		return err
	}
	var moved payroll.Counts
	var s int16
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&s, &n}, func() error { moved[s] = n; return nil }); err != nil {
		return err
	}
	if int(moved.Total()) != len(a.Ordinals) {
		return store.ErrChanged
	}
	_, err = tx.Exec(ctx, `UPDATE resume_tokens SET pending = pending - $2, retrying = retrying - $3, unknown = unknown - $4, in_flight = in_flight + $5
		WHERE batch_id = $1`, a.BatchID, moved[payroll.Pending], moved[payroll.Retrying], moved[payroll.Unknown], moved.Total())
	return err
}
