package sqlite

import (
	"context"
	"fmt"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// contest decides about those of a page's lines whose key another batch's item
// holds. It returns the lines that are items of this batch, and a change for
// each of them that is not the live one: what happens to it at once, or no event.
func (in *intake) contest(ctx context.Context, lines []payroll.Line) (items []payroll.Line, changes []payroll.Change, err error) {
	stored, err := in.stored(ctx, lines[0].Ordinal, lines[len(lines)-1].Ordinal)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range lines {
		if !stored[l.Ordinal] {
			claim, change, err := in.contend(ctx, l)
			switch {
			case err != nil:
				return nil, nil, fmt.Errorf("line %d: %w", l.Ordinal, err)
			case claim == payroll.ClaimDuplicate:
				continue
			case claim != payroll.ClaimRetake:
				changes = append(changes, change)
			}
		}
		items = append(items, l)
	}
	return items, changes, nil
}

// stored are the ordinals between two that are lines already.
func (in *intake) stored(ctx context.Context, first, last int32) (map[int32]bool, error) {
	stored := map[int32]bool{}
	err := each(ctx, in.t, func(row scanner) error {
		var ordinal int32
		err := row.Scan(&ordinal)
		stored[ordinal] = true
		return err
	}, "SELECT ordinal FROM lines WHERE batch_id = ? AND ordinal BETWEEN ? AND ?", in.k.Batch.ID, first, last)
	return stored, err
}

// contend decides about one line whose key is held: it is refused as a
// duplicate, or stored; c is what happens to it at once.
func (in *intake) contend(ctx context.Context, l payroll.Line) (claim payroll.Claim, c payroll.Change, err error) {
	held, e, err := in.holder(ctx, l)
	if err != nil {
		return 0, c, err
	}
	claim = payroll.Contest(l.Hash, in.k.Batch.Vendor, e)
	c.Ordinal = l.Ordinal
	switch claim {
	case payroll.ClaimDuplicate:
		return claim, c, in.duplicate(ctx, l, e)
	case payroll.ClaimRetake:
		return claim, c, in.retake(ctx, l, e.Ref, held)
	case payroll.ClaimSuperseded:
		c.Event = payroll.Replaced
	case payroll.ClaimEarlier:
		c.Event, c.Settled.As = payroll.Paid, payroll.EarlierBatch
		if c.Settled.Reference, err = reference(ctx, in.t, e.Ref); err != nil {
			return claim, c, err
		}
	case payroll.ClaimFollow:
	}
	return claim, c, in.follow(ctx, l, e.Ref)
}

// holder is the live item that holds a line's key.
func (in *intake) holder(ctx context.Context, l payroll.Line) (payroll.Standing, payroll.Existing, error) {
	row, err := scanStanding(in.t.row(ctx, selectStandings+`
		FROM lines l`+joinStandings+`WHERE l.period_id = ? AND l.key = ? AND l.live = 1`, in.k.periodID, l.Key[:]))
	if err != nil {
		return payroll.Standing{}, payroll.Existing{}, found(err)
	}
	k, err := in.desk.token(ctx, row.batchID)
	if err != nil {
		return payroll.Standing{}, payroll.Existing{}, err
	}
	s := row.under(k)
	return s, payroll.Existing{
		Ref: payroll.LineRef{Batch: row.batchID, Ordinal: s.Line.Ordinal}, Hash: s.Line.Hash, Vendor: k.Batch.Vendor, State: s.State,
		Reason: s.Reason, Ambiguous: ambiguous(s), LetterClosed: s.LetterClosed, Superseded: s.Superseded,
	}, nil
}

func ambiguous(s payroll.Standing) bool { return s.Trouble != nil && s.Trouble.Ambiguous }

// duplicate refuses a line whose key the ledger holds for another payment.
func (in *intake) duplicate(ctx context.Context, l payroll.Line, e payroll.Existing) error {
	r := refusal(l, payroll.Death{Reason: payroll.DuplicateNaturalKey, Error: e.Refusal(l.Hash)})
	r.Payload, r.PayloadCut = store.Payload(l)
	in.receipt.Duplicates++
	return in.reject(ctx, r)
}

// follow stores a line that is not live and follows the live item.
func (in *intake) follow(ctx context.Context, l payroll.Line, live payroll.LineRef) error {
	if err := in.insert(ctx, l, false); err != nil {
		return err
	}
	return in.t.exec(ctx, "INSERT INTO adoptions (batch_id, ordinal, live_batch_id, live_ordinal) VALUES (?, ?, ?, ?)",
		in.k.Batch.ID, l.Ordinal, live.Batch, live.Ordinal)
}

func (in *intake) insert(ctx context.Context, l payroll.Line, live bool) error {
	_, err := insertLines.insert(ctx, in.t, appendLine(nil, in.k.Batch.ID, in.k.periodID, live, l))
	return err
}

// retake stores a line that takes the place of the live item: its batch keeps
// its own record, its dead letter is closed as submitted again.
func (in *intake) retake(ctx context.Context, l payroll.Line, old payroll.LineRef, held payroll.Standing) error {
	if err := in.desk.change(ctx, old.Batch, held, payroll.Change{Trouble: held.Trouble, Close: payroll.Resubmitted}); err != nil {
		return err
	}
	if err := retire(ctx, in.t, old); err != nil {
		return err
	}
	if err := in.insert(ctx, l, true); err != nil {
		return err
	}
	if err := rehome(ctx, in.t, old, payroll.LineRef{Batch: in.k.Batch.ID, Ordinal: l.Ordinal}); err != nil {
		return err
	}
	after := heir(held.Trouble)
	if after.Generation == 1 {
		return nil // as fresh as any other
	}
	after.DueAt = in.now
	s := payroll.Standing{Line: l, Live: true, State: payroll.Pending}
	return writeTroubles(ctx, in.t, in.k.Batch.ID, []store.Effect{{Was: s, State: payroll.Pending, Trouble: &after}})
}

// heir is what the next live item of a key inherits from one that ended: nothing
// but the key generation. Where that is above the first, the vendor stores its
// failures under the key, and the next one begins after them.
func heir(before *payroll.Trouble) payroll.Trouble {
	if before != nil && before.Generation > 1 {
		return payroll.Trouble{Generation: before.Generation + 1}
	}
	return payroll.Trouble{Generation: 1}
}

// retire makes an item no longer the live one of its key.
func retire(ctx context.Context, t *tx, old payroll.LineRef) error {
	return t.exec(ctx, "UPDATE lines SET live = 0 WHERE batch_id = ? AND ordinal = ?", old.Batch, old.Ordinal)
}

// rehome moves what points to a retired item to the one that took its place:
// its version, and the items that follow it and have not ended.
func rehome(ctx context.Context, t *tx, old, now payroll.LineRef) error {
	err := t.exec(ctx, `UPDATE versions SET batch_id = ?3, ordinal = ?4 WHERE (period_id, any_version, line_version) =
		(SELECT period_id, any_version, line_version FROM lines WHERE batch_id = ?1 AND ordinal = ?2)`,
		old.Batch, old.Ordinal, now.Batch, now.Ordinal)
	if err != nil {
		return fmt.Errorf("versions: %w", err)
	}
	err = t.exec(ctx, `UPDATE adoptions SET live_batch_id = ?3, live_ordinal = ?4
		WHERE live_batch_id = ?1 AND live_ordinal = ?2
		  AND (SELECT s.state FROM line_states s WHERE s.batch_id = adoptions.batch_id AND s.ordinal = adoptions.ordinal) < 5`,
		old.Batch, old.Ordinal, now.Batch, now.Ordinal)
	if err != nil {
		return fmt.Errorf("followers: %w", err)
	}
	return nil
}

// reference is the vendor's id of an item's payment; "" = none.
func reference(ctx context.Context, q querier, r payroll.LineRef) (text string, err error) {
	err = q.row(ctx, "SELECT coalesce((SELECT reference FROM outcomes WHERE batch_id = ? AND ordinal = ?), '')", r.Batch, r.Ordinal).Scan(&text)
	return text, err
}
