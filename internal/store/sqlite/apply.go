package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Apply writes a worker's decision. Clean lines of a fresh attempt are settled
// without being read; the others are read, decided about and written in the same
// transaction.
func (s *Store) Apply(ctx context.Context, w store.Work) (applied store.Applied, err error) {
	err = s.write(ctx, "Apply", func(ctx context.Context, t *tx) error {
		applied, err = applyWork(ctx, t, w)
		return err
	})
	return applied, err
}

func applyWork(ctx context.Context, t *tx, w store.Work) (applied store.Applied, err error) {
	k, err := fence(ctx, t, w.BatchID, w.Epoch)
	if err != nil {
		return applied, err
	}
	e := &edit{t: t, k: k, now: w.Now, actor: "gateway"}
	if w.AttemptNo > 0 {
		if e.closing, err = closeAttempt(ctx, t, w); err != nil {
			return applied, err
		}
	}
	if err := e.settleClean(ctx, w.Clean); err != nil {
		return applied, err
	}
	if applied.Changes, err = e.decide(ctx, w); err != nil {
		return applied, err
	}
	if err := e.mustCover(ctx, w.Clean, applied.Changes); err != nil {
		return applied, err
	}
	if err := skip(ctx, t, k, w); err != nil {
		return applied, err
	}
	k.LastCursor = max(k.LastCursor, w.Cursor)
	if err := t.save(ctx, k, w.Now); err != nil {
		return applied, err
	}
	applied.Token, applied.Dead = k.Token, e.dead
	return applied, nil
}

var errForgotten = errors.New("a line that is passed over was not decided about")

// skip moves NextOrdinal over fresh lines that are not sent at all. A line of
// them about which nothing was decided would look as if it were in flight.
func skip(ctx context.Context, t *tx, k *token, w store.Work) error {
	if w.Next == 0 {
		return nil
	}
	if k.ChangeSeq != w.ChangeSeq || k.NextOrdinal != w.From || w.Next <= w.From {
		return store.ErrChanged
	}
	left, err := exists(ctx, t, `SELECT 1 FROM lines l WHERE l.batch_id = ?1 AND l.ordinal >= ?2 AND l.ordinal < ?3 AND l.live = 1
		AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.batch_id = ?1 AND o.ordinal = l.ordinal)
		AND NOT EXISTS (SELECT 1 FROM troubles r WHERE r.batch_id = ?1 AND r.ordinal = l.ordinal)`, w.BatchID, w.From, w.Next)
	if err == nil && left {
		return errForgotten
	}
	k.NextOrdinal = w.Next
	return err
}

// closeAttempt writes an attempt's answer and returns it with its lines.
func closeAttempt(ctx context.Context, t *tx, w store.Work) (*store.Attempt, error) {
	a, err := readAttempt(ctx, t, w.BatchID, w.AttemptNo)
	if err != nil {
		return nil, err
	}
	if !a.ClosedAt.IsZero() {
		return nil, store.ErrAnswered
	}
	a.ClosedAt, a.Answer = stored(w.Now), w.Answer
	return &a, t.exec(ctx, `UPDATE attempts SET closed_at = ?, http_status = ?, verdict = ?, detail = ?, late = ?
		WHERE batch_id = ? AND attempt_no = ?`,
		micros(a.ClosedAt), a.Answer.HTTPStatus, a.Answer.Verdict, a.Answer.Detail, a.Answer.Late, w.BatchID, w.AttemptNo)
}

var errClean = errors.New("a clean line is none of the attempt's fresh lines")

var insertOutcomes = newBulk(`INSERT INTO outcomes
  (batch_id, ordinal, state, settled_as, http_status, attempt_no, reason, reference) VALUES`, 8, "")

// settleClean settles fresh lines of the attempt unread: an outcome each, and
// their amounts. A line that has an outcome already is a broken promise of the
// caller, and an error.
func (e *edit) settleClean(ctx context.Context, clean []store.SettledLine) error {
	if len(clean) == 0 {
		return nil
	}
	if e.closing == nil {
		return errClean
	}
	list, args := make([]int32, len(clean)), make([]any, 0, 8*len(clean))
	for i, c := range clean {
		list[i] = c.Ordinal
		args = append(args, e.k.Batch.ID, c.Ordinal, payroll.Settled, c.As, c.Status, e.closing.No, 0, c.Reference)
	}
	if !subset(list, e.closing.Ordinals) {
		return errClean
	}
	if err := e.countClean(ctx, list); err != nil {
		return err
	}
	if _, err := insertOutcomes.insert(ctx, e.t, args); err != nil {
		return fmt.Errorf("outcomes: %w", err)
	}
	return nil
}

func (e *edit) countClean(ctx context.Context, list []int32) error {
	e.k.Counts[payroll.InFlight] -= int64(len(list))
	e.k.Counts[payroll.Settled] += int64(len(list))
	n := 0
	err := each(ctx, e.t, func(row scanner) error {
		var currency string
		var count int
		var a payroll.Amounts
		err := row.Scan(&currency, &count, &a.Settled)
		n += count
		e.k.addAmount(currency, a)
		return err
	}, `SELECT l.currency, count(*), sum(l.amount) FROM json_each(?2) j
		CROSS JOIN lines l ON l.batch_id = ?1 AND l.ordinal = j.value
		WHERE NOT EXISTS (SELECT 1 FROM troubles r WHERE r.batch_id = ?1 AND r.ordinal = l.ordinal)
		GROUP BY l.currency`, e.k.Batch.ID, jsonList(list))
	if err == nil && n != len(list) {
		return errClean
	}
	return err
}

// subset reports whether every ordinal of a is in b, each once.
func subset(a, b []int32) bool {
	left := make(map[int32]bool, len(b))
	for _, o := range b {
		left[o] = true
	}
	for _, o := range a {
		if !left[o] {
			return false
		}
		left[o] = false
	}
	return true
}

// decide gives the lines to the worker's decision and applies it.
func (e *edit) decide(ctx context.Context, w store.Work) ([]payroll.Change, error) {
	if len(w.Ordinals) == 0 {
		return nil, nil
	}
	all, err := standings(ctx, e.t, e.k, w.Ordinals)
	if err != nil {
		return nil, err
	}
	carried := e.carried()
	given := slices.DeleteFunc(all, func(s payroll.Standing) bool { return !e.mine(s, carried) })
	changes := w.Decide(given)
	_, err = e.apply(ctx, given, changes)
	return changes, err
}

// carried are the lines of the attempt whose answer is written.
func (e *edit) carried() map[int32]bool {
	carried := map[int32]bool{}
	if e.closing != nil {
		for _, o := range e.closing.Ordinals {
			carried[o] = true
		}
	}
	return carried
}

// mine reports whether a worker's write may decide about a line: one that its
// attempt carries, or, outside attempts, one that is in none.
func (e *edit) mine(s payroll.Standing, carried map[int32]bool) bool {
	switch {
	case s.State.AtRest():
		return false
	case s.Trouble != nil:
		return s.Trouble.AttemptNo == e.closes()
	case e.closing != nil:
		return s.State == payroll.InFlight && carried[s.Line.Ordinal]
	default:
		return s.State != payroll.InFlight
	}
}

var errUndecided = errors.New("a line of the attempt was not decided about")

// mustCover refuses an answer that says nothing about a line of its attempt:
// the line would be in flight for ever, in no attempt.
func (e *edit) mustCover(ctx context.Context, clean []store.SettledLine, changes []payroll.Change) error {
	left := e.carried()
	for _, c := range clean {
		delete(left, c.Ordinal)
	}
	for _, c := range changes {
		delete(left, c.Ordinal)
	}
	if len(left) == 0 {
		return nil
	}
	all, err := standings(ctx, e.t, e.k, slices.Collect(maps.Keys(left)))
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(s payroll.Standing) bool { return e.mine(s, left) }) {
		return errUndecided
	}
	return nil
}
