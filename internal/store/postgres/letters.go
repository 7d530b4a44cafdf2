package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// gateway is who closes a letter where no person does.
const gateway = "gateway"

// queueFates closes the open dead letters of lines that left the dead, or that
// a person closed.
func (h *held) queueFates(b *pgx.Batch, m mark, lines []store.Effect) {
	type fate struct {
		status   store.LetterStatus
		closedAs string
	}
	ordinals := make(map[fate][]int32)
	for _, e := range lines {
		if status, closedAs, ok := e.LetterFate(); ok {
			f := fate{status, closedAs}
			ordinals[f] = append(ordinals[f], e.Was.Line.Ordinal)
		}
	}
	for f, list := range ordinals {
		b.Queue(`UPDATE dead_letters SET status = $3, closed_as = $4, closed_at = $5, actor = $6, note = $7, root_cause = $8
			WHERE batch_id = $1 AND ordinal = ANY($2) AND status = 1`,
			h.token.Batch.ID, list, int16(f.status), f.closedAs, stamp(h.now), cmp.Or(m.actor, gateway), m.note.Note, m.note.RootCause)
	}
}

// bury opens a dead letter for every line that was given up with a death.
func (h *held) bury(ctx context.Context, lines []store.Effect) error {
	var dying []store.Effect
	var ordinals []int32
	for _, e := range lines {
		if e.Ends() && e.State == payroll.DeadLettered && e.Change.Death != nil {
			dying = append(dying, e)
			ordinals = append(ordinals, e.Was.Line.Ordinal)
		}
	}
	if len(dying) == 0 {
		return nil
	}
	pasts, err := pasts(ctx, h.tx, h.token.Batch, ordinals)
	if err != nil {
		return err
	}
	letters := make([]store.Letter, 0, len(dying))
	for _, e := range dying {
		l, err := h.letter(e, pasts[e.Was.Line.Ordinal])
		if err != nil {
			return err
		}
		letters = append(letters, l)
		h.dead = append(h.dead, store.Dead{Ordinal: l.Ordinal, Reason: l.Reason, Stage: l.Stage})
		if l.Stage == payroll.StageIntake {
			h.token.Rejected++
		}
	}
	return h.copyLetters(ctx, letters)
}

func (h *held) letter(e store.Effect, past store.Past) (store.Letter, error) {
	l, err := h.blankLetter()
	line, d, b := e.Was.Line, e.Change.Death, h.token.Batch
	l.Ordinal, l.LineKey, l.EmployeeID = line.Ordinal, payroll.LineKey(b.Tenant, b.PayPeriod, line.Key), line.EmployeeID
	l.Amount, l.Currency, l.CutoffAt = line.Amount, line.Currency, e.Was.CutoffAt
	if e.Trouble != nil && !e.Trouble.CutoffAt.IsZero() {
		l.CutoffAt = e.Trouble.CutoffAt
	}
	l.Reason, l.Stage, l.LastStatus, l.LastError = d.Reason, d.Stage, d.Status, d.Error
	l.History = past.History()
	l.Attempts = len(l.History)
	l.Payload, l.PayloadCut = store.Payload(line)
	return l, err
}

// blankLetter is an open letter of the batch, from now.
func (h *held) blankLetter() (store.Letter, error) {
	id, err := h.newID()
	b := h.token.Batch
	return store.Letter{
		ID: id, Tenant: b.Tenant, Vendor: b.Vendor, BatchID: b.ID, BatchKey: b.Key(), PayPeriod: b.PayPeriod,
		CutoffAt: b.CutoffAt, Status: store.LetterOpen, FirstSeenAt: b.CreatedAt, DeadLetteredAt: h.now,
	}, err
}

// rejection is the letter of an item that has no line.
func (h *held) rejection(r payroll.Reject) (store.Letter, error) {
	l, err := h.blankLetter()
	if r.Key != (payroll.Digest{}) {
		l.LineKey = payroll.LineKey(l.Tenant, l.PayPeriod, r.Key)
	}
	l.Ordinal, l.EmployeeID, l.Amount, l.Currency = r.Ordinal, r.EmployeeID, r.Amount, r.Currency
	l.Reason, l.Stage, l.LastError = r.Reason, payroll.StageIntake, r.Detail
	l.Payload, l.PayloadCut = r.Payload, r.PayloadCut
	return l, err
}

var letterNames = []string{
	"id", "tenant", "vendor", "pay_period", "batch_id", "batch_key", "ordinal", "line_key", "employee_id", "amount", "currency", "cutoff_at",
	"digest", "status", "reason", "class", "stage", "last_status", "last_error", "attempts", "history", "payload", "payload_cut",
	"first_seen_at", "dead_lettered_at",
}

// letterValues are in the order of letterNames; digest is nil where the letter has a line.
func letterValues(l store.Letter, digest []byte) ([]any, error) {
	history, err := json.Marshal(l.History)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return []any{
		l.ID, l.Tenant, l.Vendor, l.PayPeriod, l.BatchID, l.BatchKey, l.Ordinal, l.LineKey, l.EmployeeID, int64(l.Amount), l.Currency, stamp(l.CutoffAt),
		digest, int16(l.Status), int16(l.Reason), int16(l.Reason.Class()), int16(l.Stage), int16(l.LastStatus), l.LastError, int32(l.Attempts), history, blob(l.Payload), l.PayloadCut,
		stamp(l.FirstSeenAt), stamp(l.DeadLetteredAt),
	}, nil
}

func (h *held) copyLetters(ctx context.Context, letters []store.Letter) error {
	_, err := h.tx.CopyFrom(ctx, pgx.Identifier{"dead_letters"}, letterNames, pgx.CopyFromSlice(len(letters), func(i int) ([]any, error) {
		return letterValues(letters[i], nil)
	}))
	if err != nil {
		return fmt.Errorf("write dead letters: %w", err)
	}
	return nil
}

// pasts reads what the tables remember of lines' ways.
func pasts(ctx context.Context, q querier, b payroll.Batch, ordinals []int32) (map[int32]store.Past, error) {
	all := make(map[int32]store.Past, len(ordinals))
	for _, o := range ordinals {
		all[o] = store.Past{BatchKey: b.Key()}
	}
	return all, readPasts(ctx, q, b.ID, ordinals, all)
}

// readPasts completes what is known of lines.
func readPasts(ctx context.Context, q querier, batch int64, ordinals []int32, all map[int32]store.Past) error {
	if err := readAttempts(ctx, q, batch, ordinals, all); err != nil {
		return fmt.Errorf("read attempts: %w", err)
	}
	if err := readEvents(ctx, q, batch, ordinals, all); err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	return nil
}

func readAttempts(ctx context.Context, q querier, batch int64, ordinals []int32, all map[int32]store.Past) error {
	rows, err := q.Query(ctx, `SELECT `+attemptColumns+` FROM attempts a
		WHERE a.batch_id = $1 AND a.first_ordinal <= $2 AND a.last_ordinal >= $3 ORDER BY a.attempt_no`, batch, slices.Max(ordinals), slices.Min(ordinals))
	if err != nil {
		return err
	}
	var a store.Attempt
	_, err = pgx.ForEachRow(rows, attemptFields(&a), func() error {
		for _, o := range a.Ordinals {
			if p, asked := all[o]; asked {
				p.Attempts = append(p.Attempts, a)
				all[o] = p
			}
		}
		return nil
	})
	return err
}

func readEvents(ctx context.Context, q querier, batch int64, ordinals []int32, all map[int32]store.Past) error {
	rows, err := q.Query(ctx, `SELECT ordinal, attempt_no, at, verdict, http_status, detail FROM line_events
		WHERE batch_id = $1 AND ordinal = ANY($2) ORDER BY ordinal, id`, batch, ordinals)
	if err != nil {
		return err
	}
	var o int32
	var e store.LineEvent
	_, err = pgx.ForEachRow(rows, []any{&o, &e.AttemptNo, (*stamp)(&e.At), (*int16)(&e.Note.Verdict), &e.Note.Status, &e.Note.Detail}, func() error {
		p := all[o]
		p.Events = append(p.Events, e)
		all[o] = p
		return nil
	})
	return err
}

// CloseReject closes an open dead letter that has no line.
func (s *Store) CloseReject(ctx context.Context, tenant string, id uuid.UUID, as payroll.CloseReason, note store.CloseNote, actor string, now time.Time) error {
	return s.write(ctx, "CloseReject", func(tx pgx.Tx) error {
		g := s.ledger(tx, now)
		tag, err := tx.Exec(ctx, `UPDATE dead_letters SET status = 3, closed_as = $3, closed_at = $4, actor = $5, note = $6, root_cause = $7
			WHERE id = $1 AND tenant = $2 AND status = 1 AND digest IS NOT NULL`, id, tenant, string(as), stamp(now), actor, note.Note, note.RootCause)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return store.ErrNotFound
		}
		return g.record(ctx, tenant, actor, "close", id.String(), note.Note)
	})
}
