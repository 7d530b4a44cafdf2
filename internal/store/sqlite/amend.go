package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Amend changes lines of one batch by a person's decision, and lets the items
// that follow them follow.
func (s *Store) Amend(ctx context.Context, a store.Amendment) (applied store.Applied, err error) {
	err = s.write(ctx, "Amend", func(ctx context.Context, t *tx) error {
		applied, err = amend(ctx, t, a)
		return err
	})
	return applied, err
}

func amend(ctx context.Context, t *tx, a store.Amendment) (applied store.Applied, err error) {
	d := newDesk(t, a.Now, a.Actor)
	if a.Close != nil {
		d.note = *a.Close
	}
	k, err := d.token(ctx, a.BatchID)
	if err != nil {
		return applied, err
	}
	all, err := standings(ctx, t, k, a.Ordinals)
	if err != nil {
		return applied, err
	}
	if applied.Changes, err = a.Decide(all); err != nil {
		return applied, err
	}
	e, err := d.amendBatch(ctx, a.BatchID, all, applied.Changes)
	if err != nil {
		return applied, err
	}
	if err := audit(ctx, t, a.Now, k.Batch.Tenant, a.Actor, a.Action, k.Batch.Key(), a.Detail); err != nil {
		return applied, err
	}
	err = d.save(ctx)
	applied.Token, applied.Dead = k.Token, e.dead
	return applied, err
}

// errMoved: only the live item of a payment can be put back to work.
var errMoved = errors.New("the line's payment has moved to another batch's item")

func (d *desk) amendBatch(ctx context.Context, batchID int64, all []payroll.Standing, changes []payroll.Change) (*edit, error) {
	e, err := d.edit(ctx, batchID)
	if err != nil {
		return nil, err
	}
	fx, err := store.Apply(0, all, changes)
	if err != nil {
		return nil, err
	}
	for i, l := range fx.Lines {
		if !l.Reopens() {
			continue
		}
		if !l.Was.Live {
			return nil, fmt.Errorf("line %d: %w", l.Was.Line.Ordinal, errMoved)
		}
		e.k.lower(l.Was.Line.Ordinal)
		if fx.Lines[i].Trouble.BlockedBy, err = d.beforeReopened(ctx, e.k, l); err != nil {
			return nil, err
		}
	}
	if err := e.write(ctx, fx); err != nil {
		return nil, err
	}
	for _, l := range fx.Lines {
		if err := d.pull(ctx, batchID, l); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// beforeReopened is what a line that comes back to be sent must wait for.
func (d *desk) beforeReopened(ctx context.Context, k *token, l store.Effect) (payroll.LineRef, error) {
	if !l.Trouble.BlockedBy.IsZero() || l.State != payroll.Pending {
		return l.Trouble.BlockedBy, nil
	}
	return d.before(ctx, k, l.Was.Line)
}

// pull lets the items that follow a line follow it out of its end state: to
// another end at once, since their batches may be complete and are not polled;
// else back to pending.
func (d *desk) pull(ctx context.Context, batchID int64, l store.Effect) error {
	if !l.Moved() || !l.Was.State.AtRest() {
		return nil
	}
	line := payroll.LineRef{Batch: batchID, Ordinal: l.Was.Line.Ordinal}
	followers, err := collect(ctx, d.t, scanFollowing, `SELECT a.batch_id, a.ordinal, a.live_batch_id, a.live_ordinal FROM adoptions a
		WHERE a.live_batch_id = ? AND a.live_ordinal = ? ORDER BY a.batch_id, a.ordinal`, line.Batch, line.Ordinal)
	if err != nil {
		return fmt.Errorf("followers: %w", err)
	}
	for _, f := range followers {
		if err := d.pullOne(ctx, f, l.State); err != nil {
			return fmt.Errorf("follower %d of batch %d: %w", f.item.Ordinal, f.item.Batch, err)
		}
	}
	return nil
}

func (d *desk) pullOne(ctx context.Context, f following, to payroll.State) error {
	item, err := d.standing(ctx, f.item)
	if err != nil || item.State != payroll.DeadLettered {
		return err // what is open follows by the poll; every other end is its own
	}
	switch {
	case to.AtRest() && to != payroll.Cancelled: // a cancelled one hands over: its follower waits for that
		live, err := d.standing(ctx, f.live)
		if err != nil {
			return err
		}
		return d.take(ctx, f, item, live)
	case item.Cancelled:
		return d.change(ctx, f.item.Batch, item, payroll.Change{Event: payroll.Withdrawn})
	default:
		return d.change(ctx, f.item.Batch, item, payroll.Change{Event: payroll.Replayed})
	}
}

// audit records what a person did.
func audit(ctx context.Context, t *tx, now time.Time, tenant, actor, action, object, detail string) error {
	err := t.exec(ctx, "INSERT INTO audit (at, tenant, actor, action, object, detail) VALUES (?, ?, ?, ?, ?, ?)",
		micros(now), tenant, actor, action, object, detail)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// CloseReject closes an open dead letter that has no line. store.ErrNotFound
// where it has one, is closed already, or is not this tenant's.
func (s *Store) CloseReject(ctx context.Context, tenant string, id uuid.UUID, as payroll.CloseReason, note store.CloseNote, actor string, now time.Time) error {
	return s.write(ctx, "CloseReject", func(ctx context.Context, t *tx) error {
		n, err := t.count(ctx, `UPDATE dead_letters SET status = 3, closed_at = ?, closed_as = ?, actor = ?, note = ?, root_cause = ?
			WHERE id = ? AND tenant = ? AND digest IS NOT NULL AND status = 1`,
			micros(now), string(as), actor, note.Note, note.RootCause, id[:], tenant)
		if err != nil {
			return fmt.Errorf("dead letter: %w", err)
		}
		if n == 0 {
			return store.ErrNotFound
		}
		return audit(ctx, t, now, tenant, actor, "close", id.String(), note.Note)
	})
}
