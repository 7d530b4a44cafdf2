package postgres

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// tally is what a submission's rows add up to.
type tally struct {
	lines, rejects, deaths int64
	versioned              bool // a line has a version above 1
	amounts                map[string]payroll.Amounts
}

func (t *tally) items() int64 { return t.lines + t.rejects }

func (t *tally) add(r store.Row) {
	if r.Reject != nil {
		t.rejects++
		t.addAmount(r.Reject.Currency, payroll.Amounts{Total: r.Reject.Amount, DeadLettered: r.Reject.Amount})
		return
	}
	t.lines++
	if r.Death != nil {
		t.deaths++
	}
	t.versioned = t.versioned || r.Line.Version > 1
	t.addAmount(r.Line.Currency, payroll.Amounts{Total: r.Line.Amount})
}

func (t *tally) addAmount(currency string, a payroll.Amounts) {
	if currency == "" {
		return
	}
	sum := t.amounts[currency]
	sum.Total += a.Total
	sum.DeadLettered += a.DeadLettered
	t.amounts[currency] = sum
}

var lineNames = []string{
	"batch_id", "amount", "ordinal", "period_id", "line_version", "live", "key", "hash", "natural_key",
	"employee_id", "line_ref", "currency", "details", "metadata",
}

// lineRows feeds the lines among a submission's rows to COPY, and counts all.
type lineRows struct {
	in     *intake
	next   func() (store.Row, error, bool)
	line   *payroll.Line
	err    error
	values []any // of one row, used again for the next
}

// Next goes on to the next line.
func (r *lineRows) Next() bool {
	for {
		row, err, ok := r.next()
		if !ok || err != nil {
			r.err = err
			return false
		}
		r.in.count.add(row)
		if row.Line != nil {
			r.line = row.Line
			return true
		}
	}
}

// Values are in the order of lineNames.
func (r *lineRows) Values() ([]any, error) {
	l := r.line
	r.values = append(r.values[:0], r.in.batch, int64(l.Amount), l.Ordinal, r.in.period, l.Version, true, l.Key[:], l.Hash[:], l.AnyVersion[:],
		l.EmployeeID, l.Ref, l.Currency, blob(store.EncodeDetails(l.Details)), blob(l.Metadata))
	return r.values, nil
}

// Err is what ended the rows early.
func (r *lineRows) Err() error { return r.err }

// load copies the lines in: straight into the ledger where no key of the period
// can be held, else beside it, and from there those whose key nobody holds.
func (in *intake) load(ctx context.Context) error {
	table := "lines"
	if !in.first {
		table = "stage"
		if _, err := in.tx.Exec(ctx, "CREATE TEMPORARY TABLE IF NOT EXISTS stage (LIKE lines, PRIMARY KEY (ordinal)) ON COMMIT DELETE ROWS"); err != nil {
			return err
		}
	}
	if err := in.copyLines(ctx, table); err != nil || in.first {
		return err
	}
	if _, err := in.tx.Exec(ctx, "ANALYZE stage"); err != nil {
		return err
	}
	_, err := in.tx.Exec(ctx, `INSERT INTO lines SELECT * FROM stage ORDER BY ordinal ON CONFLICT (period_id, key) WHERE live DO NOTHING`)
	return err
}

func (in *intake) copyLines(ctx context.Context, table string) error {
	next, stop := iter.Pull2(in.sub.Rows())
	defer stop()
	rows := &lineRows{in: in, next: next}
	if _, err := in.tx.CopyFrom(ctx, pgx.Identifier{table}, lineNames, rows); err != nil {
		if rows.err != nil {
			return rows.err // of the submission, not of the server
		}
		return fmt.Errorf("copy lines: %w", err)
	}
	return nil
}

// rejects copies the rows that cannot be lines to the dead letters.
func (in *intake) rejects(ctx context.Context) error {
	if in.count.rejects == 0 {
		return nil
	}
	next, stop := iter.Pull2(in.sub.Rows())
	defer stop()
	rows := &rejectRows{in: in, next: next}
	if _, err := in.tx.CopyFrom(ctx, pgx.Identifier{"dead_letters"}, letterNames, rows); err != nil {
		if rows.err != nil {
			return rows.err
		}
		return fmt.Errorf("copy dead letters: %w", err)
	}
	return nil
}

// rejectRows feeds the refused among a submission's rows to COPY.
type rejectRows struct {
	in     *intake
	next   func() (store.Row, error, bool)
	reject *payroll.Reject
	err    error
}

// Next goes on to the next refused row.
func (r *rejectRows) Next() bool {
	for {
		row, err, ok := r.next()
		if !ok || err != nil {
			r.err = err
			return false
		}
		if row.Reject != nil {
			r.in.refuse(*row.Reject)
			r.reject = row.Reject
			return true
		}
	}
}

// Values are in the order of letterNames.
func (r *rejectRows) Values() ([]any, error) {
	l, err := r.in.own.rejection(*r.reject)
	if err != nil {
		return nil, err
	}
	return letterValues(l, r.reject.Digest[:])
}

// Err is what ended the rows early.
func (r *rejectRows) Err() error { return r.err }

// deaths ends the lines that were accepted as lines but are dead at once, where
// they are the live ones of their keys.
func (in *intake) deaths(ctx context.Context) error {
	if in.count.deaths == 0 {
		return nil
	}
	dying := make(map[int32]*payroll.Death, page)
	for row, err := range in.sub.Rows() {
		if err != nil {
			return err
		}
		if row.Line != nil && row.Death != nil {
			dying[row.Line.Ordinal] = row.Death
		}
		if len(dying) == page {
			if err := in.kill(ctx, dying); err != nil {
				return err
			}
			clear(dying)
		}
	}
	return in.kill(ctx, dying)
}

func (in *intake) kill(ctx context.Context, dying map[int32]*payroll.Death) error {
	ordinals := make([]int32, 0, len(dying))
	for o := range dying {
		ordinals = append(ordinals, o)
	}
	slices.Sort(ordinals)
	return in.own.each(ctx, mark{}, ordinals, func(s payroll.Standing) (payroll.Change, bool) {
		if !s.Live || s.State != payroll.Pending || s.Superseded {
			return payroll.Change{}, false
		}
		return in.die(s.Line, *dying[s.Line.Ordinal]), true
	})
}

// die is a line's death at intake.
func (in *intake) die(l payroll.Line, d payroll.Death) payroll.Change {
	in.refuse(rejectOf(l, d.Reason, d.Error))
	return payroll.Change{Ordinal: l.Ordinal, Event: payroll.Given, Death: &d}
}

// rejectOf is a readable row as a refused one.
func rejectOf(l payroll.Line, reason payroll.Reason, text string) payroll.Reject {
	r := payroll.Reject{
		Ordinal: l.Ordinal, EmployeeID: l.EmployeeID, Amount: l.Amount, Currency: l.Currency, Key: l.Key,
		Reason: reason, Detail: text, Digest: payroll.RowDigest(l.Key, l.Hash),
	}
	r.Payload, r.PayloadCut = store.Payload(l)
	return r
}

// refusal is a strict submission's answer.
func (in *intake) refusal() error {
	slices.SortFunc(in.refused, func(a, b payroll.Reject) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return &store.RefusedError{Rejects: in.refused, Total: in.faults}
}
