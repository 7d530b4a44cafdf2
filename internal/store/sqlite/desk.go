package sqlite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// desk is a write from outside at work: the tokens it has read and the batches
// whose lines it changes. What it changes is disturbed, once, and saved at its
// end, in batch order.
type desk struct {
	t      *tx
	now    time.Time
	actor  string
	note   store.CloseNote
	tokens map[int64]*token
	edits  map[int64]*edit
}

func newDesk(t *tx, now time.Time, actor string) *desk {
	return &desk{t: t, now: now, actor: actor, tokens: map[int64]*token{}, edits: map[int64]*edit{}}
}

// token reads a batch's token, as this write has left it.
func (d *desk) token(ctx context.Context, batchID int64) (*token, error) {
	if k := d.tokens[batchID]; k != nil {
		return k, nil
	}
	k, err := readToken(ctx, d.t, batchID)
	if err != nil {
		return nil, fmt.Errorf("batch %d: %w", batchID, err)
	}
	d.tokens[batchID] = k
	return k, nil
}

// edit begins or continues to change a batch.
func (d *desk) edit(ctx context.Context, batchID int64) (*edit, error) {
	if e := d.edits[batchID]; e != nil {
		return e, nil
	}
	k, err := d.token(ctx, batchID)
	if err != nil {
		return nil, err
	}
	k.disturb()
	e := &edit{t: d.t, k: k, now: d.now, actor: d.actor, note: d.note, reason: map[int32]payroll.Reason{}}
	d.edits[batchID] = e
	return e, nil
}

// standing reads where an item stands now.
func (d *desk) standing(ctx context.Context, r payroll.LineRef) (payroll.Standing, error) {
	k, err := d.token(ctx, r.Batch)
	if err != nil {
		return payroll.Standing{}, err
	}
	all, err := standings(ctx, d.t, k, []int32{r.Ordinal})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("line %d of batch %d: %w", r.Ordinal, r.Batch, store.ErrNotFound)
	}
	if err != nil {
		return payroll.Standing{}, err
	}
	return all[0], nil
}

// change applies one change to an item of a batch.
func (d *desk) change(ctx context.Context, batchID int64, s payroll.Standing, c payroll.Change) error {
	e, err := d.edit(ctx, batchID)
	if err != nil {
		return err
	}
	c.Ordinal = s.Line.Ordinal
	fx, err := e.apply(ctx, []payroll.Standing{s}, []payroll.Change{c})
	if err != nil {
		return err
	}
	for _, l := range fx.Lines {
		if l.Reopens() {
			e.k.lower(l.Was.Line.Ordinal)
		}
	}
	return nil
}

// save writes the tokens of all batches that were changed.
func (d *desk) save(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(d.edits)) {
		if err := d.t.save(ctx, d.edits[id].k, d.now); err != nil {
			return err
		}
	}
	return nil
}
