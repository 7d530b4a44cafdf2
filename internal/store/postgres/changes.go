package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// mark is what a set of changes has in common.
type mark struct {
	attempt int32 // whose answer it is; 0 = decided outside any attempt
	actor   string
	note    store.CloseNote
	// reasons gives followers the reason of their live item's end, by ordinal.
	reasons map[int32]payroll.Reason
}

// change applies decisions about lines of the batch: the one way by which lines
// change, once they are not simply sent and settled. It writes what is
// remembered, ended, noted and given up, in the order of ordinals, and keeps
// account for settle.
func (h *held) change(ctx context.Context, m mark, lines []payroll.Standing, changes []payroll.Change) error {
	fx, err := store.Apply(m.attempt, lines, changes)
	if err != nil {
		return err
	}
	if len(fx.Lines) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	queueTroubles(b, h.token.Batch.ID, fx.Lines)
	queueOutcomes(b, h.token.Batch.ID, m, fx.Lines)
	h.queueEvents(b, m, fx.Lines)
	h.queueFates(b, m, fx.Lines)
	if err := h.tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("write changes: %w", err)
	}
	if err := h.bury(ctx, fx.Lines); err != nil {
		return err
	}
	h.account(fx, changes)
	return nil
}

// account adds the effects to what settle writes.
func (h *held) account(fx store.Effects, changes []payroll.Change) {
	add(&h.delta, fx.Delta)
	h.changes = append(h.changes, changes...)
	for _, e := range fx.Lines {
		if e.Reopens() && (h.lowest == 0 || e.Was.Line.Ordinal < h.lowest) {
			h.lowest = e.Was.Line.Ordinal
		}
	}
}

func add(to *payroll.Delta, d payroll.Delta) {
	for s, n := range d.Counts {
		to.Counts[s] += n
	}
	if to.Amounts == nil {
		to.Amounts = make(map[string]payroll.Amounts, len(d.Amounts))
	}
	for currency, a := range d.Amounts {
		sum := to.Amounts[currency]
		sum.Settled += a.Settled
		sum.Earlier += a.Earlier
		sum.DeadLettered += a.DeadLettered
		sum.Cancelled += a.Cancelled
		sum.Superseded += a.Superseded
		to.Amounts[currency] = sum
	}
}

// queueOutcomes: a line in an end state has an outcome, no other has.
func queueOutcomes(b *pgx.Batch, batch int64, m mark, lines []store.Effect) {
	var ended outcomes
	var reopened []int32
	for _, e := range lines {
		switch {
		case e.Ends():
			ended.add(m, e)
		case e.Reopens():
			reopened = append(reopened, e.Was.Line.Ordinal)
		}
	}
	if len(reopened) > 0 {
		b.Queue("DELETE FROM outcomes WHERE batch_id = $1 AND ordinal = ANY($2)", batch, reopened)
	}
	if len(ended.ordinals) > 0 {
		b.Queue(`INSERT INTO outcomes (batch_id, ordinal, attempt_no, state, settled_as, http_status, reason, reference)
			SELECT $1, o.ordinal, $2, o.state, o.settled_as, o.http_status, o.reason, o.reference
			FROM unnest($3::int4[], $4::int2[], $5::int2[], $6::int2[], $7::int2[], $8::text[]) AS o(ordinal, state, settled_as, http_status, reason, reference)
			ON CONFLICT (batch_id, ordinal) DO UPDATE SET attempt_no = excluded.attempt_no, state = excluded.state, settled_as = excluded.settled_as,
				http_status = excluded.http_status, reason = excluded.reason, reference = excluded.reference`,
			batch, m.attempt, ended.ordinals, ended.states, ended.as, ended.statuses, ended.reasons, ended.references)
	}
}

// outcomes are rows of the table, by column.
type outcomes struct {
	ordinals                      []int32
	states, as, statuses, reasons []int16
	references                    []string
}

func (o *outcomes) add(m mark, e store.Effect) {
	reason, status := m.reasons[e.Was.Line.Ordinal], e.Change.Settled.Status
	if d := e.Change.Death; d != nil {
		reason, status = d.Reason, d.Status
	}
	o.ordinals = append(o.ordinals, e.Was.Line.Ordinal)
	o.states = append(o.states, int16(e.State))
	o.as = append(o.as, int16(e.Change.Settled.As))
	o.statuses = append(o.statuses, int16(status))
	o.reasons = append(o.reasons, int16(reason))
	o.references = append(o.references, e.Change.Settled.Reference)
}

// queueEvents keeps every note but that of a line which its first answer settled:
// its attempt and its outcome say the same.
func (h *held) queueEvents(b *pgx.Batch, m mark, lines []store.Effect) {
	var ordinals []int32
	var verdicts, statuses []int16
	var texts []string
	for _, e := range lines {
		n := e.Change.Note
		first := e.Was.State == payroll.InFlight && e.Was.Trouble == nil && e.State == payroll.Settled
		if n == nil || first {
			continue
		}
		ordinals = append(ordinals, e.Was.Line.Ordinal)
		verdicts = append(verdicts, int16(n.Verdict))
		statuses = append(statuses, int16(n.Status))
		texts = append(texts, n.Detail)
	}
	if len(ordinals) == 0 {
		return
	}
	b.Queue(`INSERT INTO line_events (batch_id, ordinal, attempt_no, at, verdict, http_status, detail)
		SELECT $1, e.ordinal, $2, $3, e.verdict, e.http_status, e.detail
		FROM unnest($4::int4[], $5::int2[], $6::int2[], $7::text[]) AS e(ordinal, verdict, http_status, detail)`,
		h.token.Batch.ID, m.attempt, stamp(h.now), ordinals, verdicts, statuses, texts)
}
