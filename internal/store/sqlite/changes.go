package sqlite

import (
	"context"
	"fmt"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// edit is a change of lines of one batch: everything that changes lines goes
// through apply, and then through tx.save.
type edit struct {
	t       *tx
	k       *token
	closing *store.Attempt // whose answer is written; nil = none
	now     time.Time
	actor   string          // who closes letters
	note    store.CloseNote // in the letters it closes
	reason  map[int32]payroll.Reason
	dead    []store.Dead // letters opened so far
}

// closes is the number of the attempt whose answer is written; 0 = none.
func (e *edit) closes() int32 {
	if e.closing == nil {
		return 0
	}
	return e.closing.No
}

// apply writes what changes do to the lines they were decided from: troubles,
// outcomes, events, letters, and the token's counts and amounts in memory.
func (e *edit) apply(ctx context.Context, standings []payroll.Standing, changes []payroll.Change) (store.Effects, error) {
	fx, err := store.Apply(e.closes(), standings, changes)
	if err != nil {
		return fx, err
	}
	return fx, e.write(ctx, fx)
}

func (e *edit) write(ctx context.Context, fx store.Effects) error {
	if err := writeTroubles(ctx, e.t, e.k.Batch.ID, fx.Lines); err != nil {
		return fmt.Errorf("troubles: %w", err)
	}
	if err := e.writeOutcomes(ctx, fx.Lines); err != nil {
		return fmt.Errorf("outcomes: %w", err)
	}
	if err := e.writeEvents(ctx, fx.Lines); err != nil {
		return fmt.Errorf("line events: %w", err)
	}
	if err := e.closeLetters(ctx, fx.Lines); err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	if err := e.openLetters(ctx, fx.Lines); err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	e.k.add(fx.Delta)
	return nil
}

var upsertOutcomes = newBulk(`INSERT OR REPLACE INTO outcomes
  (batch_id, ordinal, state, settled_as, http_status, attempt_no, reason, reference) VALUES`, 8, "")

func (e *edit) writeOutcomes(ctx context.Context, lines []store.Effect) error {
	var args []any
	for _, l := range lines {
		switch {
		case l.Ends():
			args = append(args, e.k.Batch.ID, l.Was.Line.Ordinal, l.State, l.Change.Settled.As, e.status(l), e.closes(),
				e.reasonOf(l), l.Change.Settled.Reference)
		case l.Reopens():
			if err := e.t.exec(ctx, "DELETE FROM outcomes WHERE batch_id = ? AND ordinal = ?", e.k.Batch.ID, l.Was.Line.Ordinal); err != nil {
				return err
			}
		}
	}
	_, err := upsertOutcomes.insert(ctx, e.t, args)
	return err
}

func (e *edit) status(l store.Effect) int {
	if d := l.Change.Death; d != nil {
		return d.Status
	}
	return l.Change.Settled.Status
}

// reasonOf is why a line is dead: a follower's reason is its live item's.
func (e *edit) reasonOf(l store.Effect) payroll.Reason {
	if d := l.Change.Death; d != nil {
		return d.Reason
	}
	return e.reason[l.Was.Line.Ordinal]
}

var insertEvents = newBulk(`INSERT INTO line_events (batch_id, ordinal, attempt_no, at, verdict, http_status, detail) VALUES`, 7, "")

// writeEvents notes what the attempt meant for each line, or what was noted
// outside attempts. A line about which nothing was said has the request's fate.
func (e *edit) writeEvents(ctx context.Context, lines []store.Effect) error {
	var args []any
	for _, l := range lines {
		note := l.Change.Note
		if note == nil && e.closing != nil {
			a := e.closing.Answer
			note = &payroll.Note{Verdict: a.Verdict, Status: a.HTTPStatus, Detail: a.Detail}
		}
		if note != nil {
			args = append(args, e.k.Batch.ID, l.Was.Line.Ordinal, e.closes(), micros(e.now), note.Verdict, note.Status, note.Detail)
		}
	}
	_, err := insertEvents.insert(ctx, e.t, args)
	return err
}

func (e *edit) closeLetters(ctx context.Context, lines []store.Effect) error {
	for _, l := range lines {
		status, as, ok := l.LetterFate()
		if !ok {
			continue
		}
		err := e.t.exec(ctx, `UPDATE dead_letters SET status = ?, closed_at = ?, closed_as = ?, actor = ?, note = ?, root_cause = ?
			WHERE batch_id = ? AND ordinal = ? AND status = 1`,
			status, micros(e.now), as, e.actor, e.note.Note, e.note.RootCause, e.k.Batch.ID, l.Was.Line.Ordinal)
		if err != nil {
			return err
		}
	}
	return nil
}

// openLetters makes the dead letters of lines that were given up. Its history
// holds the attempt whose answer is being written.
func (e *edit) openLetters(ctx context.Context, lines []store.Effect) error {
	var given []store.Effect
	var list []int32
	for _, l := range lines {
		if l.Change.Event == payroll.Given && l.Change.Death != nil {
			given, list = append(given, l), append(list, l.Was.Line.Ordinal)
		}
	}
	if len(given) == 0 {
		return nil
	}
	pasts, err := pasts(ctx, e.t, e.k, list)
	if err != nil {
		return err
	}
	for _, l := range given {
		letter := e.letter(l, pasts[l.Was.Line.Ordinal].History())
		if err := insertLetter(ctx, e.t, letter, nil); err != nil {
			return err
		}
		e.dead = append(e.dead, store.Dead{Ordinal: letter.Ordinal, Reason: letter.Reason, Stage: letter.Stage})
		if letter.Stage == payroll.StageIntake {
			e.k.Rejected++
		}
	}
	return nil
}

func (e *edit) letter(l store.Effect, history []store.HistoryEntry) store.Letter {
	b, line, d := e.k.Batch, l.Was.Line, l.Change.Death
	letter := store.Letter{
		Tenant: b.Tenant, Vendor: b.Vendor, BatchID: b.ID, BatchKey: b.Key(), PayPeriod: b.PayPeriod, Ordinal: line.Ordinal,
		LineKey: payroll.LineKey(b.Tenant, b.PayPeriod, line.Key), EmployeeID: line.EmployeeID, Amount: line.Amount, Currency: line.Currency,
		CutoffAt: l.Was.CutoffAt, Status: store.LetterOpen, Reason: d.Reason, Stage: d.Stage, LastStatus: d.Status, LastError: d.Error,
		Attempts: len(history), History: history, FirstSeenAt: b.CreatedAt, DeadLetteredAt: e.now,
	}
	letter.Payload, letter.PayloadCut = store.Payload(line)
	return letter
}
