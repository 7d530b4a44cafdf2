package sqlite

import (
	"context"
	"fmt"
	"time"

	"payrollgateway/internal/payroll"
)

// following is an item that follows a live one.
type following struct {
	item, live payroll.LineRef
}

// Mirror gives up to limit followers of a batch the end state of the live item
// they follow (again, where that changed), and makes the oldest follower of a
// cancelled one live. It returns how many followers it dealt with.
func (s *Store) Mirror(ctx context.Context, batchID, epoch int64, now time.Time, limit int) (n int, err error) {
	// Most polls find nothing: they must not take a turn to write.
	some, err := read(ctx, s, func(q querier) (bool, error) {
		if _, err := fence(ctx, q, batchID, epoch); err != nil {
			return false, err
		}
		behind, err := behind(ctx, q, batchID, 1)
		return len(behind) > 0, err
	})
	if err != nil || !some {
		return 0, err
	}
	err = s.write(ctx, "Mirror", func(ctx context.Context, t *tx) error {
		n, err = mirror(ctx, t, batchID, epoch, now, limit)
		return err
	})
	return n, err
}

func mirror(ctx context.Context, t *tx, batchID, epoch int64, now time.Time, limit int) (int, error) {
	if _, err := fence(ctx, t, batchID, epoch); err != nil {
		return 0, err
	}
	followers, err := behind(ctx, t, batchID, limit)
	if err != nil {
		return 0, fmt.Errorf("followers: %w", err)
	}
	d := newDesk(t, now, "gateway")
	for _, f := range followers {
		if err := d.catchUp(ctx, f); err != nil {
			return 0, fmt.Errorf("follower %d: %w", f.item.Ordinal, err)
		}
	}
	return len(followers), d.save(ctx)
}

// behind lists followers that have not ended as their live item has: open
// ones, and dead ones whose payment came to another end.
func behind(ctx context.Context, q querier, batchID int64, limit int) ([]following, error) {
	return collect(ctx, q, scanFollowing, `SELECT a.batch_id, a.ordinal, a.live_batch_id, a.live_ordinal FROM adoptions a
		JOIN line_states f ON f.batch_id = a.batch_id AND f.ordinal = a.ordinal
		JOIN line_states m ON m.batch_id = a.live_batch_id AND m.ordinal = a.live_ordinal
		WHERE a.batch_id = ? AND m.state >= 5 AND f.state IN (1, 6) AND f.state <> m.state
		ORDER BY a.ordinal LIMIT ?`, batchID, limit)
}

func scanFollowing(row scanner) (f following, err error) {
	err = row.Scan(append(ref(&f.item), ref(&f.live)...)...)
	return f, err
}

// catchUp gives a follower the end of its live item. An open follower of an item
// that hands over does not take that end: the oldest one becomes live.
func (d *desk) catchUp(ctx context.Context, f following) error {
	live, err := d.standing(ctx, f.live)
	if err != nil {
		return err
	}
	item, err := d.standing(ctx, f.item)
	if err != nil {
		return err
	}
	handsOver := payroll.HandsOver(payroll.Existing{
		State: live.State, Reason: live.Reason, Ambiguous: ambiguous(live), LetterClosed: live.LetterClosed,
	}, item.CutoffAt, d.now)
	if handsOver && !item.State.AtRest() {
		return d.promote(ctx, f.live, live)
	}
	return d.take(ctx, f, item, live)
}

// take gives an item the end state of the one it follows.
func (d *desk) take(ctx context.Context, f following, item, live payroll.Standing) (err error) {
	var c payroll.Change
	switch live.State {
	case payroll.Settled:
		c.Event, c.Settled.As = payroll.Paid, payroll.EarlierBatch
		if c.Settled.Reference, err = reference(ctx, d.t, f.live); err != nil {
			return err
		}
	case payroll.DeadLettered:
		c.Event = payroll.Given
	case payroll.Superseded:
		c.Event = payroll.Replaced
	case payroll.Cancelled:
		c.Event = payroll.Withdrawn
	default:
		return fmt.Errorf("its live item is %s", live.State)
	}
	e, err := d.edit(ctx, f.item.Batch)
	if err != nil {
		return err
	}
	e.reason[f.item.Ordinal] = live.Reason
	return d.change(ctx, f.item.Batch, item, c)
}

// promote makes the oldest open follower of an item that ended unpaid the live
// one; a dead letter of the old one is closed as submitted again.
func (d *desk) promote(ctx context.Context, old payroll.LineRef, ended payroll.Standing) error {
	next, err := scanRef(d.t.row(ctx, `SELECT a.batch_id, a.ordinal FROM adoptions a
		JOIN line_states s ON s.batch_id = a.batch_id AND s.ordinal = a.ordinal
		WHERE a.live_batch_id = ? AND a.live_ordinal = ? AND s.state < 5
		ORDER BY a.batch_id, a.ordinal LIMIT 1`, old.Batch, old.Ordinal))
	if err != nil {
		return fmt.Errorf("next live item: %w", found(err))
	}
	s, err := d.standing(ctx, next)
	if err != nil {
		return err
	}
	if s.Superseded {
		return d.change(ctx, next.Batch, s, payroll.Change{Event: payroll.Replaced})
	}
	for _, step := range []func() error{
		func() error { return d.closeDead(ctx, old, ended) },
		func() error { return retire(ctx, d.t, old) },
		func() error { return enthrone(ctx, d.t, next) },
		func() error { return rehome(ctx, d.t, old, next) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("promotion: %w", err)
		}
	}
	return d.start(ctx, next, heir(ended.Trouble))
}

// closeDead closes the dead letter of an item whose payment another one takes up.
func (d *desk) closeDead(ctx context.Context, old payroll.LineRef, ended payroll.Standing) error {
	if ended.State != payroll.DeadLettered {
		return nil
	}
	return d.change(ctx, old.Batch, ended, payroll.Change{Trouble: ended.Trouble, Close: payroll.Resubmitted})
}

// enthrone makes a follower the live item of its key.
func enthrone(ctx context.Context, t *tx, next payroll.LineRef) error {
	if err := t.exec(ctx, "DELETE FROM adoptions WHERE batch_id = ? AND ordinal = ?", next.Batch, next.Ordinal); err != nil {
		return err
	}
	return t.exec(ctx, "UPDATE lines SET live = 1 WHERE batch_id = ? AND ordinal = ?", next.Batch, next.Ordinal)
}

// start lets an item that has become live be sent: as a fresh line where the
// batch has not come to it, else as one that is due now. An elder whose payment
// may exist is before it.
func (d *desk) start(ctx context.Context, r payroll.LineRef, after payroll.Trouble) error {
	e, err := d.edit(ctx, r.Batch)
	if err != nil {
		return err
	}
	s, err := d.standing(ctx, r)
	if err != nil {
		return err
	}
	blockedBy, err := d.before(ctx, e.k, s.Line)
	if err != nil {
		return err
	}
	if r.Ordinal >= e.k.NextOrdinal && blockedBy.IsZero() && after.Generation == 1 {
		return nil
	}
	s.State = payroll.Pending // what a follower is; a live line that was passed looks sent
	e.k.lower(r.Ordinal)
	after.DueAt, after.BlockedBy = d.now, blockedBy
	return d.change(ctx, r.Batch, s, payroll.Change{Trouble: &after})
}

// before is the newest elder of a line that is not out of its way: what the
// worker asks about before it sends the line; zero = none.
func (d *desk) before(ctx context.Context, k *token, l payroll.Line) (payroll.LineRef, error) {
	if l.Version == 1 {
		return payroll.LineRef{}, nil
	}
	olders, err := d.olders(ctx, k, l)
	if err != nil {
		return payroll.LineRef{}, err
	}
	for _, o := range olders {
		if payroll.Succeed(o.Older) == payroll.PrecedesNothing {
			continue
		}
		corrected, err := exists(ctx, d.t, `SELECT 1 FROM corrections
			WHERE batch_id = ? AND ordinal = ? AND corrects_batch_id = ? AND corrects_ordinal = ?`, k.Batch.ID, l.Ordinal, o.Ref.Batch, o.Ref.Ordinal)
		if err != nil || !corrected {
			return o.Ref, err
		}
	}
	return payroll.LineRef{}, nil
}
