package sqlite

import (
	"context"
	"fmt"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// ReadAhead reads up to limit live lines from an ordinal on that nothing
// happened to, in order.
func (s *Store) ReadAhead(ctx context.Context, batchID int64, from int32, limit int) ([]payroll.Line, error) {
	return read(ctx, s, func(q querier) ([]payroll.Line, error) {
		return collect(ctx, q, scanLine, `SELECT `+lineColumns+` FROM resume_tokens t JOIN lines l ON l.batch_id = t.batch_id
			WHERE t.batch_id = ?1 AND l.ordinal >= max(?2, t.next_ordinal) AND l.live = 1 AND t.cancelled_from = 0
			  AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.batch_id = ?1 AND o.ordinal = l.ordinal)
			  AND NOT EXISTS (SELECT 1 FROM troubles r WHERE r.batch_id = ?1 AND r.ordinal = l.ordinal)
			ORDER BY l.ordinal LIMIT ?3`, batchID, from, limit)
	})
}

// waiting is the condition of troubles_due.
const waiting = `r.attempt_no = 0 AND r.blocked_by_batch = 0 AND r.state < 5`

func scanDue(row scanner) (d store.Due, err error) {
	var l lineRow
	var r troubleRow
	if err := row.Scan(append(append([]any{&d.Superseded}, r.dest()...), l.dest()...)...); err != nil {
		return d, err
	}
	err = l.finish()
	d.Line, d.State, d.Trouble = l.line, r.state(), *r.trouble()
	return d, err
}

// Due reads up to limit lines of troubles, in no attempt and not blocked, whose
// time has come, by time then ordinal.
func (s *Store) Due(ctx context.Context, batchID int64, now time.Time, limit int) ([]store.Due, error) {
	return read(ctx, s, func(q querier) ([]store.Due, error) {
		return collect(ctx, q, scanDue, `SELECT `+superseded+`, `+troubleColumns+`, `+lineColumns+`
			FROM troubles r JOIN lines l ON l.batch_id = r.batch_id AND l.ordinal = r.ordinal
			WHERE r.batch_id = ? AND `+waiting+` AND r.due_at <= ? ORDER BY r.due_at, r.ordinal LIMIT ?`, batchID, micros(now), limit)
	})
}

// NextDue says when the next of them is due; zero = none.
func (s *Store) NextDue(ctx context.Context, batchID int64) (time.Time, error) {
	return read(ctx, s, func(q querier) (next time.Time, err error) {
		var first maybe
		err = q.row(ctx, `SELECT min(r.due_at) FROM troubles r WHERE r.batch_id = ? AND `+waiting, batchID).Scan(&first)
		return fromMicros(first.n), err
	})
}

// NoteAnswer keeps a late answer on an open attempt, whatever the epoch.
// store.ErrAnswered where it is closed.
func (s *Store) NoteAnswer(ctx context.Context, batchID int64, attemptNo int32, late []byte) error {
	return s.write(ctx, "NoteAnswer", func(ctx context.Context, t *tx) error {
		n, err := t.count(ctx, "UPDATE attempts SET late = ? WHERE batch_id = ? AND attempt_no = ? AND closed_at = 0", late, batchID, attemptNo)
		if err != nil || n == 1 {
			return err
		}
		return notOpen(ctx, t, batchID, attemptNo)
	})
}

// notOpen says why an attempt cannot be written to.
func notOpen(ctx context.Context, q querier, batchID int64, attemptNo int32) error {
	if _, err := readAttempt(ctx, q, batchID, attemptNo); err != nil {
		return err
	}
	return store.ErrAnswered
}

// OpenAttempts lists the open attempts of a batch by number.
func (s *Store) OpenAttempts(ctx context.Context, batchID int64) ([]store.Attempt, error) {
	return read(ctx, s, func(q querier) ([]store.Attempt, error) { return openAttempts(ctx, q, batchID) })
}

// Chunk reads an attempt and its lines in the order of the request.
func (s *Store) Chunk(ctx context.Context, batchID int64, attemptNo int32) (a store.Attempt, lines []store.Due, err error) {
	lines, err = read(ctx, s, func(q querier) ([]store.Due, error) {
		if a, err = readAttempt(ctx, q, batchID, attemptNo); err != nil {
			return nil, err
		}
		return chunkLines(ctx, q, a)
	})
	return a, lines, err
}

func chunkLines(ctx context.Context, q querier, a store.Attempt) ([]store.Due, error) {
	k, err := readToken(ctx, q, a.BatchID)
	if err != nil {
		return nil, err
	}
	all, err := standings(ctx, q, k, a.Ordinals)
	if err != nil {
		return nil, err
	}
	byOrdinal := make(map[int32]store.Due, len(all))
	for _, s := range all {
		d := store.Due{Line: s.Line, State: s.State, Superseded: s.Superseded}
		if s.Trouble != nil {
			d.Trouble = *s.Trouble
		}
		byOrdinal[s.Line.Ordinal] = d
	}
	lines := make([]store.Due, len(a.Ordinals))
	for i, o := range a.Ordinals {
		d, ok := byOrdinal[o]
		if !ok {
			return nil, fmt.Errorf("line %d of attempt %d: %w", o, a.No, store.ErrNotFound)
		}
		lines[i] = d
	}
	return lines, nil
}

// Blocked reads up to limit lines after an ordinal that wait for an older
// version, each with where that one stands.
func (s *Store) Blocked(ctx context.Context, batchID int64, after int32, limit int) ([]store.Blocked, error) {
	return read(ctx, s, func(q querier) ([]store.Blocked, error) {
		type wait struct {
			ordinal int32
			older   payroll.LineRef
		}
		waits, err := collect(ctx, q, func(row scanner) (w wait, err error) {
			err = row.Scan(append([]any{&w.ordinal}, ref(&w.older)...)...)
			return w, err
		}, `SELECT ordinal, blocked_by_batch, blocked_by_ordinal FROM troubles
			WHERE batch_id = ? AND blocked_by_batch > 0 AND state < 5 AND ordinal > ? ORDER BY ordinal LIMIT ?`, batchID, after, limit)
		if err != nil {
			return nil, err
		}
		blocked := make([]store.Blocked, len(waits))
		for i, w := range waits {
			older, err := olderOf(ctx, q, w.older)
			if err != nil {
				return nil, err
			}
			blocked[i] = store.Blocked{Ordinal: w.ordinal, Older: older}
		}
		return blocked, nil
	})
}

// Correct records that a line corrects a paid one and is about to be sent.
func (s *Store) Correct(ctx context.Context, batchID int64, ordinal int32, corrects payroll.LineRef) error {
	return s.write(ctx, "Correct", func(ctx context.Context, t *tx) error {
		return correct(ctx, t, payroll.LineRef{Batch: batchID, Ordinal: ordinal}, corrects)
	})
}

func correct(ctx context.Context, t *tx, line, paid payroll.LineRef) error {
	return t.exec(ctx, "INSERT OR IGNORE INTO corrections (batch_id, ordinal, corrects_batch_id, corrects_ordinal) VALUES (?, ?, ?, ?)",
		line.Batch, line.Ordinal, paid.Batch, paid.Ordinal)
}
