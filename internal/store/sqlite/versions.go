package sqlite

import (
	"context"
	"fmt"

	"payrollgateway/internal/payroll"
)

// enter records versions above 1 among live lines.
func (in *intake) enter(ctx context.Context, lines []payroll.Line) error {
	for _, l := range lines {
		if l.Version == 1 {
			continue
		}
		err := in.t.exec(ctx, `INSERT OR IGNORE INTO versions (period_id, any_version, line_version, batch_id, ordinal)
			SELECT period_id, any_version, line_version, batch_id, ordinal FROM lines WHERE batch_id = ? AND ordinal = ? AND live = 1`,
			in.k.Batch.ID, l.Ordinal)
		if err != nil {
			return fmt.Errorf("versions: %w", err)
		}
	}
	return nil
}

// succeed settles the order of versions once all rows are stored: a line below
// a higher version is superseded, a newer one does to its elders what
// payroll.Succeed says. Nothing to do where the period has no version above 1.
func (in *intake) succeed(ctx context.Context) error {
	some, err := exists(ctx, in.t, "SELECT 1 FROM versions WHERE period_id = ?", in.k.periodID)
	if err != nil || !some {
		return err
	}
	if err := in.supersedeOwn(ctx); err != nil {
		return err
	}
	for after := int32(0); ; {
		page, err := collect(ctx, in.t, scanOrdinal, `SELECT ordinal FROM lines
			WHERE batch_id = ? AND ordinal > ? AND live = 1 AND line_version > 1 ORDER BY ordinal LIMIT ?`, in.k.Batch.ID, after, pageOfRows)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := in.succeedPage(ctx, page); err != nil {
			return err
		}
		after = page[len(page)-1]
	}
}

func scanOrdinal(row scanner) (o int32, err error) {
	err = row.Scan(&o)
	return o, err
}

// supersedeOwn ends this batch's lines that have a higher version.
func (in *intake) supersedeOwn(ctx context.Context) error {
	for {
		page, err := collect(ctx, in.t, scanOrdinal, `SELECT l.ordinal FROM lines l
			WHERE l.batch_id = ?1 AND l.live = 1
			  AND NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.batch_id = l.batch_id AND o.ordinal = l.ordinal)
			  AND EXISTS (SELECT 1 FROM versions v
			    WHERE v.period_id = l.period_id AND v.any_version = l.any_version AND v.line_version > l.line_version)
			ORDER BY l.ordinal LIMIT ?2`, in.k.Batch.ID, pageOfRows)
		if err != nil || len(page) == 0 {
			return err
		}
		changes := make([]payroll.Change, len(page))
		for i, o := range page {
			changes[i] = payroll.Change{Ordinal: o, Event: payroll.Replaced}
		}
		if err := in.changeOwn(ctx, changes); err != nil {
			return err
		}
	}
}

// changeOwn applies changes to lines of the batch itself.
func (in *intake) changeOwn(ctx context.Context, changes []payroll.Change) error {
	if len(changes) == 0 {
		return nil
	}
	list := make([]int32, len(changes))
	for i, c := range changes {
		list[i] = c.Ordinal
	}
	all, err := standings(ctx, in.t, in.k, list)
	if err != nil {
		return err
	}
	_, err = in.apply(ctx, all, changes)
	return err
}

func (in *intake) succeedPage(ctx context.Context, page []int32) error {
	all, err := standings(ctx, in.t, in.k, page)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Superseded {
			continue
		}
		if err := in.succeedLine(ctx, s); err != nil {
			return fmt.Errorf("line %d: %w", s.Line.Ordinal, err)
		}
	}
	return nil
}

// succeedLine does to a newest version's elders what is due to them, and lets
// the line itself wait, correct, or be refused.
func (in *intake) succeedLine(ctx context.Context, s payroll.Standing) error {
	olders, err := in.desk.olders(ctx, in.k, s.Line)
	if err != nil {
		return err
	}
	c := payroll.Change{Ordinal: s.Line.Ordinal}
	var paid []payroll.Older
	for _, o := range olders {
		switch payroll.Succeed(o.Older) {
		case payroll.PrecedesReplaces:
			err = in.desk.change(ctx, o.Ref.Batch, o.standing, payroll.Change{Event: payroll.Replaced})
		case payroll.PrecedesCloses:
			err = in.desk.change(ctx, o.Ref.Batch, o.standing, payroll.Change{Trouble: o.standing.Trouble, Close: payroll.Corrected})
		case payroll.PrecedesWaits:
			_, err = in.desk.edit(ctx, o.Ref.Batch) // a resend of it that is planned is planned no more
			if c.Trouble == nil {
				t := payroll.Trouble{Generation: 1}
				if s.Trouble != nil {
					t = *s.Trouble
				}
				t.DueAt, t.BlockedBy = in.now, o.Ref
				c.Trouble = &t
			}
		case payroll.PrecedesCorrects:
			paid = append(paid, o.Older)
		case payroll.PrecedesNothing:
		}
		if err != nil {
			return err
		}
	}
	if s.State.AtRest() {
		return nil // dead at intake: its elders are dealt with, it waits for nothing
	}
	return in.place(ctx, s.Line, c, paid)
}

// place lets a newest version correct what was paid of its elders, wait, or be
// refused as a correction.
func (in *intake) place(ctx context.Context, l payroll.Line, c payroll.Change, paid []payroll.Older) error {
	for _, o := range paid {
		if err := correct(ctx, in.t, payroll.LineRef{Batch: in.k.Batch.ID, Ordinal: l.Ordinal}, o.Ref); err != nil {
			return fmt.Errorf("corrections: %w", err)
		}
	}
	for _, o := range paid {
		if !in.s.Corrections.Sendable(in.k.Batch.Vendor, o) {
			return in.refuseCorrection(ctx, l, o)
		}
	}
	if c.Trouble == nil {
		return nil
	}
	in.receipt.Blocked++
	return in.changeOwn(ctx, []payroll.Change{c})
}

func (in *intake) refuseCorrection(ctx context.Context, l payroll.Line, o payroll.Older) error {
	k, err := in.desk.token(ctx, o.Ref.Batch)
	if err != nil {
		return err
	}
	death := payroll.Death{
		Reason: payroll.CorrectionRefused, Stage: payroll.StageIntake,
		Error: fmt.Sprintf("an earlier version was paid (item %d of %s), and this vendor takes no correction of it", o.Ref.Ordinal, k.Batch.Key()),
	}
	in.refuse(refusal(l, death))
	return in.changeOwn(ctx, []payroll.Change{{Ordinal: l.Ordinal, Event: payroll.Given, Death: &death}})
}

// elder is a lower version of a payment: the live item of its key.
type elder struct {
	payroll.Older
	standing payroll.Standing
}

// olders finds the lower versions of a line, newest first: those above 1 by
// what they share, version 1 by its key, which can be computed.
func (d *desk) olders(ctx context.Context, k *token, l payroll.Line) ([]elder, error) {
	refs, err := collect(ctx, d.t, scanRef, `SELECT batch_id, ordinal FROM versions
		WHERE period_id = ? AND any_version = ? AND line_version < ? ORDER BY line_version DESC`, k.periodID, l.AnyVersion[:], l.Version)
	if err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	first := l.Natural(k.Batch.Tenant, k.Batch.PayPeriod)
	first.Version = 1
	key := first.Digest()
	firsts, err := collect(ctx, d.t, scanRef, "SELECT batch_id, ordinal FROM lines WHERE period_id = ? AND key = ? AND live = 1", k.periodID, key[:])
	if err != nil {
		return nil, fmt.Errorf("version 1: %w", err)
	}
	olders := make([]elder, 0, len(refs)+len(firsts))
	for _, r := range append(refs, firsts...) {
		o, err := d.elder(ctx, r)
		if err != nil {
			return nil, err
		}
		olders = append(olders, o)
	}
	return olders, nil
}

func (d *desk) elder(ctx context.Context, r payroll.LineRef) (elder, error) {
	s, err := d.standing(ctx, r)
	if err != nil {
		return elder{}, err
	}
	return elder{Older: asOlder(r, d.tokens[r.Batch].Batch.Vendor, s), standing: s}, nil
}

func scanRef(row scanner) (r payroll.LineRef, err error) {
	err = row.Scan(ref(&r)...)
	return r, err
}

// asOlder is a standing as a newer version asks about it.
func asOlder(r payroll.LineRef, vendor string, s payroll.Standing) payroll.Older {
	return payroll.Older{
		Ref: r, Vendor: vendor, State: s.State, Ambiguous: ambiguous(s), Reason: s.Reason, LetterClosed: s.LetterClosed,
	}
}

// olderOf reads where an older version stands.
func olderOf(ctx context.Context, q querier, r payroll.LineRef) (payroll.Older, error) {
	k, s, err := standing(ctx, q, r)
	if err != nil {
		return payroll.Older{}, fmt.Errorf("older version: %w", err)
	}
	return asOlder(r, k.Batch.Vendor, s), nil
}
