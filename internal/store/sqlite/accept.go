package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// intake is one submission on its way in: the edit of its own batch, and what
// is counted on the way. Rows are taken in pages: memory stays bounded.
type intake struct {
	*edit
	desk    *desk
	s       store.Submission
	receipt store.Receipt
	refused store.RefusedError // of a strict submission
	rows    int32              // taken so far
}

// pageOfRows is how many rows are worked on at a time.
const pageOfRows = 256

// Accept stores a submission in one transaction, or nothing of it. Its end by
// ctx is looked for between pages of rows.
func (s *Store) Accept(ctx context.Context, sub store.Submission) (store.Receipt, error) {
	in := &intake{s: sub}
	err := s.write(ctx, "Accept", func(inner context.Context, t *tx) error {
		id, err := known(inner, t, sub)
		if err != nil || id > 0 {
			in.receipt = store.Receipt{BatchID: id, Replayed: true}
			return err
		}
		return in.accept(inner, t, ctx.Err)
	})
	if err != nil {
		return store.Receipt{}, err
	}
	return in.receipt, nil
}

// known finds the batch where its key is known: its id for the same content,
// 0 for a new key, else *store.ContentDiffersError.
func known(ctx context.Context, t *tx, sub store.Submission) (id int64, err error) {
	var hash payroll.Hash
	var total int32
	err = t.row(ctx, "SELECT id, content_hash, total FROM batches WHERE batch_key = ?", sub.Batch.Key()).Scan(&id, fixed{hash[:]}, &total)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("batch: %w", err)
	case hash == sub.Batch.ContentHash:
		return id, nil
	}
	ordinal, err := firstDifference(ctx, t, id, total, sub)
	if err != nil {
		return 0, err
	}
	return 0, &store.ContentDiffersError{Ordinal: ordinal}
}

func (in *intake) accept(ctx context.Context, t *tx, ended func() error) error {
	if err := in.begin(ctx, t); err != nil {
		return err
	}
	if err := in.take(ctx, ended); err != nil {
		return err
	}
	if in.rows != in.s.Batch.Total {
		return fmt.Errorf("the submission has %d rows, its total says %d", in.rows, in.s.Batch.Total)
	}
	if err := in.succeed(ctx); err != nil {
		return err
	}
	if in.s.Strict && in.refused.Total > 0 {
		return &in.refused
	}
	in.receipt.BatchID = in.k.Batch.ID
	return in.desk.save(ctx)
}

// begin stores the envelope and an empty token, and begins the batch's edit.
func (in *intake) begin(ctx context.Context, t *tx) error {
	b := in.s.Batch
	periodID, unitID, epoch, err := unit(ctx, t, payroll.Unit{Tenant: b.Tenant, PayPeriod: b.PayPeriod, Vendor: b.Vendor})
	if err != nil {
		return err
	}
	err = t.row(ctx, `INSERT INTO batches (batch_key, period_id, unit_id, vendor, run_attempt_group, currency, pay_date, cutoff_at,
		content_hash, total, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		b.Key(), periodID, unitID, b.Vendor, b.Group, b.Currency, b.PayDate, micros(b.CutoffAt), b.ContentHash[:], b.Total, b.CreatedBy,
		micros(b.CreatedAt)).Scan(&b.ID)
	if err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	id, err := t.id()
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	err = t.exec(ctx, "INSERT INTO resume_tokens (batch_id, token, state, epoch, updated_at) VALUES (?, ?, ?, ?, ?)",
		b.ID, id[:], store.Queued, epoch, micros(in.s.Now))
	if err != nil {
		return fmt.Errorf("token: %w", err)
	}
	in.desk = newDesk(t, in.s.Now, "gateway")
	if in.edit, err = in.desk.edit(ctx, b.ID); err == nil {
		in.k.ChangeSeq = 0 // nobody has planned it yet
	}
	return err
}

// take stores the rows, page by page.
func (in *intake) take(ctx context.Context, ended func() error) error {
	page := make([]store.Row, 0, pageOfRows)
	for row, err := range in.s.Rows() {
		if err != nil {
			return fmt.Errorf("rows: %w", err)
		}
		if page = append(page, row); len(page) < pageOfRows {
			continue
		}
		if err := errors.Join(ended(), in.page(ctx, page)); err != nil {
			return err
		}
		page = page[:0]
	}
	return in.page(ctx, page)
}

// page stores some rows: refused ones as letters, lines whose key is new as
// live lines, and the others by what payroll.Contest says.
func (in *intake) page(ctx context.Context, rows []store.Row) error {
	in.rows += int32(len(rows))
	lines := make([]payroll.Line, 0, len(rows))
	deaths := map[int32]*payroll.Death{}
	for _, r := range rows {
		if r.Reject != nil {
			if err := in.reject(ctx, *r.Reject); err != nil {
				return err
			}
			continue
		}
		lines = append(lines, *r.Line)
		if r.Death != nil {
			deaths[r.Line.Ordinal] = r.Death
		}
	}
	items, changes, err := in.lines(ctx, lines)
	if err != nil {
		return err
	}
	in.count(items)
	return in.changeOwn(ctx, in.bury(items, changes, deaths))
}

// lines stores lines and returns those that are items of this batch, with what
// happens to some of them at once.
func (in *intake) lines(ctx context.Context, lines []payroll.Line) (items []payroll.Line, changes []payroll.Change, err error) {
	var args []any
	for _, l := range lines {
		args = appendLine(args, in.k.Batch.ID, in.k.periodID, true, l)
	}
	n, err := insertLines.insert(ctx, in.t, args)
	if err != nil {
		return nil, nil, fmt.Errorf("lines: %w", err)
	}
	items = lines
	if n < int64(len(lines)) {
		if items, changes, err = in.contest(ctx, lines); err != nil {
			return nil, nil, err
		}
	}
	return items, changes, in.enter(ctx, items)
}

// bury adds the deaths of lines that are dead at once, unless the holder of
// their key has decided about them, and leaves out what is no event.
func (in *intake) bury(items []payroll.Line, changes []payroll.Change, deaths map[int32]*payroll.Death) []payroll.Change {
	decided := map[int32]bool{}
	for _, c := range changes {
		decided[c.Ordinal] = true
	}
	for _, l := range items {
		if d := deaths[l.Ordinal]; d != nil && !decided[l.Ordinal] {
			in.refuse(refusal(l, *d))
			changes = append(changes, payroll.Change{Ordinal: l.Ordinal, Event: payroll.Given, Death: d})
		}
	}
	return slices.DeleteFunc(changes, func(c payroll.Change) bool { return c.Event == 0 })
}

// count adds lines to the batch's totals, as pending ones.
func (in *intake) count(lines []payroll.Line) {
	in.k.Counts[payroll.Pending] += int64(len(lines))
	for _, l := range lines {
		in.k.addAmount(l.Currency, payroll.Amounts{Total: l.Amount})
	}
}

// reject stores a row that cannot be a line as a dead letter without one.
func (in *intake) reject(ctx context.Context, r payroll.Reject) error {
	in.refuse(r)
	b := in.k.Batch
	letter := store.Letter{
		Tenant: b.Tenant, Vendor: b.Vendor, BatchID: b.ID, BatchKey: b.Key(), PayPeriod: b.PayPeriod, Ordinal: r.Ordinal,
		EmployeeID: r.EmployeeID, Amount: r.Amount, Currency: r.Currency, CutoffAt: b.CutoffAt, Status: store.LetterOpen,
		Reason: r.Reason, Stage: payroll.StageIntake, LastError: r.Detail, Payload: r.Payload, PayloadCut: r.PayloadCut,
		FirstSeenAt: b.CreatedAt, DeadLetteredAt: in.now,
	}
	if r.Key != (payroll.Digest{}) {
		letter.LineKey = payroll.LineKey(b.Tenant, b.PayPeriod, r.Key)
	}
	if err := insertLetter(ctx, in.t, letter, r.Digest[:]); err != nil {
		return fmt.Errorf("refused row: %w", err)
	}
	in.k.Rejected++
	in.k.Counts[payroll.DeadLettered]++
	if r.Currency != "" {
		in.k.addAmount(r.Currency, payroll.Amounts{Total: r.Amount, DeadLettered: r.Amount})
	}
	return nil
}

// refuse counts a row that would be a dead letter.
func (in *intake) refuse(r payroll.Reject) {
	in.refused.Total++
	if len(in.refused.Rejects) < maxListed {
		in.refused.Rejects = append(in.refused.Rejects, r)
	}
}

// maxListed is how many refused rows a refusal lists.
const maxListed = 1000

// refusal is a line that would be dead, as a refusal lists it.
func refusal(l payroll.Line, d payroll.Death) payroll.Reject {
	return payroll.Reject{
		Ordinal: l.Ordinal, EmployeeID: l.EmployeeID, Amount: l.Amount, Currency: l.Currency, Key: l.Key,
		Reason: d.Reason, Detail: d.Error, Digest: payroll.RowDigest(l.Key, l.Hash),
	}
}
