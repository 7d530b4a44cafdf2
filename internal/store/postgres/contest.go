package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
)

// lockOthers locks what the new lines may change: the tokens of the batches that
// hold their keys, or other versions of their payments.
func (in *intake) lockOthers(ctx context.Context) (err error) {
	if in.epochs, err = in.lockUnits(ctx, in.period); err != nil || in.first {
		return err
	}
	rows, err := in.tx.Query(ctx, `SELECT o.batch_id FROM stage l JOIN lines o ON o.period_id = l.period_id AND o.key = l.key AND o.live WHERE o.batch_id <> $3
		UNION SELECT o.batch_id FROM stage l`+olderOf+`WHERE o.batch_id <> $3`, in.sub.Batch.Tenant, in.sub.Batch.PayPeriod, in.batch)
	if err != nil {
		return err
	}
	batches, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	in.others, err = in.lockTokens(ctx, batches)
	return err
}

// rival is a new row whose key another batch's item holds.
type rival struct {
	line      payroll.Line
	held      payroll.Existing
	status    int             // of its settlement
	reference string          // of its settlement
	before    payroll.Trouble // of which only the key generation is read
	claim     payroll.Claim
}

// contest decides about the rows whose key another batch's item holds, page by
// page, in the order of ordinals.
func (in *intake) contest(ctx context.Context) error {
	if in.first {
		return nil
	}
	for after := int32(0); ; {
		rivals, err := in.rivals(ctx, after)
		if err != nil {
			return fmt.Errorf("read clashes: %w", err)
		}
		if len(rivals) == 0 {
			return nil
		}
		after = rivals[len(rivals)-1].line.Ordinal
		if err := in.decide(ctx, rivals); err != nil {
			return fmt.Errorf("write clashes: %w", err)
		}
	}
}

func (in *intake) rivals(ctx context.Context, after int32) ([]rival, error) {
	rows, err := in.tx.Query(ctx, `SELECT `+lineColumns+`, `+olderColumns+`, o.hash, coalesce(oo.http_status, 0), coalesce(oo.reference, ''), coalesce(og.generation, 1),
			EXISTS (SELECT FROM versions v WHERE v.period_id = l.period_id AND v.natural_key = l.natural_key AND v.line_version > l.line_version)
		FROM stage l
		JOIN LATERAL (SELECT * FROM lines o WHERE o.period_id = l.period_id AND o.key = l.key AND o.live OFFSET 0) o ON true`+olderJoins+`
		WHERE o.batch_id <> $1 AND l.ordinal > $2 ORDER BY l.ordinal LIMIT $3`, in.batch, after, page)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r rival, err error) {
		var o payroll.Older
		var closedAs string
		fields := append(lineFields(&r.line), olderFields(&o, &closedAs)...)
		err = row.Scan(append(fields, &fixed{r.held.Hash[:]}, &r.status, &r.reference, &r.before.Generation, &r.held.Superseded)...)
		r.held.Ref, r.held.Vendor, r.held.State, r.held.Ambiguous, r.held.Reason = o.Ref, o.Vendor, o.State, o.Ambiguous, o.Reason
		r.held.LetterClosed, _ = payroll.ParseCloseReason(closedAs)
		r.claim = payroll.Contest(r.line.Hash, in.sub.Batch.Vendor, r.held)
		return r, err
	})
}

// decide writes a page of decisions.
func (in *intake) decide(ctx context.Context, rivals []rival) error {
	by := make(map[payroll.Claim][]rival)
	for _, r := range rivals {
		by[r.claim] = append(by[r.claim], r)
	}
	if err := in.refuseDuplicates(ctx, by[payroll.ClaimDuplicate]); err != nil {
		return err
	}
	if err := in.retake(ctx, by[payroll.ClaimRetake]); err != nil {
		return err
	}
	if err := in.adopt(ctx, rivals); err != nil {
		return err
	}
	ends := make(map[int32]payroll.Change)
	for _, r := range by[payroll.ClaimEarlier] {
		ends[r.line.Ordinal] = payroll.Change{
			Ordinal: r.line.Ordinal, Event: payroll.Paid,
			Settled: payroll.Settlement{As: payroll.EarlierBatch, Status: r.status, Reference: r.reference},
		}
	}
	for _, r := range by[payroll.ClaimSuperseded] {
		ends[r.line.Ordinal] = payroll.Change{Ordinal: r.line.Ordinal, Event: payroll.Replaced}
	}
	return in.own.all(ctx, ends)
}

// refuseDuplicates: a bug at the caller. No line, but an item and a dead letter.
func (in *intake) refuseDuplicates(ctx context.Context, rivals []rival) error {
	var letters [][]any
	for _, r := range rivals {
		reject := rejectOf(r.line, payroll.DuplicateNaturalKey, r.held.Refusal(r.line.Hash))
		in.refuse(reject)
		l, err := in.own.rejection(reject)
		if err != nil {
			return err
		}
		values, err := letterValues(l, reject.Digest[:])
		if err != nil {
			return err
		}
		letters = append(letters, values)
		in.own.delta.Count(r.line, payroll.Pending, payroll.DeadLettered, 0, 0)
		in.own.token.Rejected++
		in.receipt.Duplicates++
	}
	_, err := in.tx.CopyFrom(ctx, pgx.Identifier{"dead_letters"}, letterNames, pgx.CopyFromRows(letters))
	return err
}

// retake makes new items the live ones of keys whose items were cancelled or
// are dead: HR submitted them again.
func (in *intake) retake(ctx context.Context, rivals []rival) error {
	if len(rivals) == 0 {
		return nil
	}
	closed := make(map[int64]map[int32]payroll.Change)
	var oldBatches []int64
	var oldOrdinals []int32
	for _, r := range rivals {
		old := r.held.Ref
		oldBatches, oldOrdinals = append(oldBatches, old.Batch), append(oldOrdinals, old.Ordinal)
		if closed[old.Batch] == nil {
			closed[old.Batch] = make(map[int32]payroll.Change)
		}
		closed[old.Batch][old.Ordinal] = payroll.Change{Ordinal: old.Ordinal, Close: payroll.Resubmitted}
	}
	b := &pgx.Batch{}
	b.Queue("UPDATE lines l SET live = false FROM unnest($1::int8[], $2::int4[]) AS old(batch_id, ordinal) WHERE l.batch_id = old.batch_id AND l.ordinal = old.ordinal", oldBatches, oldOrdinals)
	b.Queue(repointSQL, oldBatches, oldOrdinals, in.batch, ordinalsOf(rivals))
	b.Queue(insertStaged, in.batch, true, ordinalsOf(rivals))
	if err := in.tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if err := in.changeOthers(ctx, closed); err != nil {
		return err
	}
	return in.inherit(ctx, rivals)
}

// insertStaged moves rows $3 of the stage into the ledger, live or not ($2).
const insertStaged = `INSERT INTO lines (batch_id, amount, ordinal, period_id, line_version, live, key, hash, natural_key, employee_id, line_ref, currency, details, metadata)
	SELECT $1, amount, ordinal, period_id, line_version, $2, key, hash, natural_key, employee_id, line_ref, currency, details, metadata
	FROM stage WHERE ordinal = ANY($3) ORDER BY ordinal`

func ordinalsOf(rivals []rival) []int32 {
	ordinals := make([]int32, len(rivals))
	for i, r := range rivals {
		ordinals[i] = r.line.Ordinal
	}
	return ordinals
}

// inherit remembers the key generations that the old items had come to.
func (in *intake) inherit(ctx context.Context, rivals []rival) error {
	var kept troubles
	for _, r := range rivals {
		if t := heir(r.before); t.Generation > 1 {
			t.DueAt = in.now
			kept.add(r.line.Ordinal, payroll.Pending, t)
		}
	}
	if len(kept.ordinals) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	kept.queue(b, in.batch)
	return in.tx.SendBatch(ctx, b).Close()
}

// adopt enters the items that stand behind a live one.
func (in *intake) adopt(ctx context.Context, rivals []rival) error {
	var ordinals, liveOrdinals []int32
	var liveBatches []int64
	for _, r := range rivals {
		switch r.claim {
		case payroll.ClaimEarlier, payroll.ClaimFollow, payroll.ClaimSuperseded:
			ordinals = append(ordinals, r.line.Ordinal)
			liveBatches = append(liveBatches, r.held.Ref.Batch)
			liveOrdinals = append(liveOrdinals, r.held.Ref.Ordinal)
		default:
		}
	}
	if len(ordinals) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	b.Queue(insertStaged, in.batch, false, ordinals)
	b.Queue("INSERT INTO adoptions SELECT $1, f.* FROM unnest($2::int4[], $3::int8[], $4::int4[]) AS f", in.batch, ordinals, liveBatches, liveOrdinals)
	return in.tx.SendBatch(ctx, b).Close()
}

// changeOthers applies changes to lines of other batches, whose tokens are locked.
func (in *intake) changeOthers(ctx context.Context, changes map[int64]map[int32]payroll.Change) error {
	for _, h := range inOrder(in.others) {
		if err := h.all(ctx, changes[h.token.Batch.ID]); err != nil {
			return err
		}
	}
	return nil
}
