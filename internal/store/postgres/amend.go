package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Amend changes lines of one batch by a person's decision.
func (s *Store) Amend(ctx context.Context, a store.Amendment) (store.Applied, error) {
	var applied store.Applied
	err := s.write(ctx, "Amend", func(tx pgx.Tx) (err error) {
		applied, err = s.ledger(tx, a.Now).amend(ctx, a)
		return err
	})
	if err != nil {
		return store.Applied{}, err
	}
	return applied, nil
}

func (g *ledger) amend(ctx context.Context, a store.Amendment) (store.Applied, error) {
	locked, epochs, err := g.lockWithFollowers(ctx, a)
	if err != nil {
		return store.Applied{}, err
	}
	h := locked[a.BatchID]
	lines, err := standings(ctx, g.tx, a.BatchID, a.Ordinals)
	if err != nil {
		return store.Applied{}, err
	}
	changes, err := a.Decide(lines)
	if err != nil {
		return store.Applied{}, err
	}
	if err := h.waitAgain(ctx, lines, changes); err != nil {
		return store.Applied{}, err
	}
	m := mark{actor: a.Actor}
	if a.Close != nil {
		m.note = *a.Close
	}
	if err := mayComeBack(lines, changes); err != nil {
		return store.Applied{}, err
	}
	if err := h.change(ctx, m, lines, changes); err != nil {
		return store.Applied{}, err
	}
	if err := g.wakeFollowers(ctx, locked, a.BatchID, lines, changes); err != nil {
		return store.Applied{}, err
	}
	if err := g.settleAll(ctx, locked, epochs, func(other *held) bool { return other == h || len(other.changes) > 0 }); err != nil {
		return store.Applied{}, err
	}
	b := h.token.Batch
	err = g.record(ctx, b.Tenant, a.Actor, a.Action, b.Key(), a.Detail)
	return store.Applied{Token: h.token, Changes: h.changes, Dead: h.dead}, err
}

// errMoved: only the live item of a payment can be put back to work.
var errMoved = errors.New("the line's payment has moved to another batch's item")

// mayComeBack refuses to put an item back to work that has lost its key.
func mayComeBack(lines []payroll.Standing, changes []payroll.Change) error {
	for _, s := range lines {
		back := slices.ContainsFunc(changes, func(c payroll.Change) bool {
			to, ok := payroll.Transition(s.State, c.Event)
			return c.Ordinal == s.Line.Ordinal && ok && !to.AtRest()
		})
		if back && s.State.AtRest() && !s.Live {
			return fmt.Errorf("line %d: %w", s.Line.Ordinal, errMoved)
		}
	}
	return nil
}

// waitAgain puts lines that come back to be sent behind an older version whose
// fate must be known first, or that was paid and is not yet known to be
// corrected: it may have come, or come so far, while they were dead.
func (h *held) waitAgain(ctx context.Context, lines []payroll.Standing, changes []payroll.Change) error {
	var back []int32
	for _, s := range lines {
		if s.State.AtRest() && s.Line.Version > 1 {
			back = append(back, s.Line.Ordinal)
		}
	}
	if len(back) == 0 {
		return nil
	}
	older, err := h.older(ctx, back)
	if err != nil {
		return err
	}
	corrected, err := h.corrected(ctx, back)
	if err != nil {
		return err
	}
	for i, c := range changes {
		if c.Event != payroll.Replayed || c.Trouble == nil || !c.Trouble.BlockedBy.IsZero() {
			continue
		}
		for _, o := range slices.Backward(older[c.Ordinal]) {
			if payroll.Succeed(o) != payroll.PrecedesNothing && !corrected[correction{c.Ordinal, o.Ref}] {
				t := *c.Trouble
				t.BlockedBy = o.Ref
				changes[i].Trouble = &t
				break
			}
		}
	}
	return nil
}

// corrected is what lines of the batch are known to correct.
func (h *held) corrected(ctx context.Context, ordinals []int32) (map[correction]bool, error) {
	rows, err := h.tx.Query(ctx, "SELECT ordinal, corrects_batch_id, corrects_ordinal FROM corrections WHERE batch_id = $1 AND ordinal = ANY($2)",
		h.token.Batch.ID, ordinals)
	if err != nil {
		return nil, err
	}
	known := make(map[correction]bool)
	var c correction
	_, err = pgx.ForEachRow(rows, []any{&c.ordinal, &c.corrects.Batch, &c.corrects.Ordinal}, func() error {
		known[c] = true
		return nil
	})
	return known, err
}

// settleAll settles the batches that take part, in their order.
func (g *ledger) settleAll(ctx context.Context, locked map[int64]*held, epochs map[string]int64, takesPart func(*held) bool) error {
	for _, h := range inOrder(locked) {
		if !takesPart(h) {
			continue
		}
		if err := h.settle(ctx, byOutside, epochs[h.token.Batch.Vendor]); err != nil {
			return err
		}
	}
	return nil
}

func inOrder(locked map[int64]*held) []*held {
	all := make([]*held, 0, len(locked))
	for _, h := range locked {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *held) int { return int(a.token.Batch.ID - b.token.Batch.ID) })
	return all
}

// lockWithFollowers locks all that an amendment may touch: its batch and those
// whose items follow its lines.
func (g *ledger) lockWithFollowers(ctx context.Context, a store.Amendment) (map[int64]*held, map[string]int64, error) {
	w, err := g.find(ctx, "b.id = $1", a.BatchID)
	if err != nil {
		return nil, nil, err
	}
	period, err := g.lockPeriod(ctx, w.tenant, w.period)
	if err != nil {
		return nil, nil, err
	}
	epochs, err := g.lockUnits(ctx, period)
	if err != nil {
		return nil, nil, err
	}
	rows, err := g.tx.Query(ctx, "SELECT DISTINCT batch_id FROM adoptions WHERE live_batch_id = $1 AND live_ordinal = ANY($2)", a.BatchID, a.Ordinals)
	if err != nil {
		return nil, nil, err
	}
	batches, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, nil, err
	}
	locked, err := g.lockTokens(ctx, append(batches, a.BatchID))
	return locked, epochs, err
}

// wakeFollowers puts items back to pending whose live item left the end state
// that they had taken from it. In a cancelled batch they end as cancelled.
func (g *ledger) wakeFollowers(ctx context.Context, locked map[int64]*held, batch int64, lines []payroll.Standing, changes []payroll.Change) error {
	left := leftTheEnd(lines, changes)
	if len(left) == 0 {
		return nil
	}
	for _, h := range inOrder(locked) {
		rows, err := g.tx.Query(ctx, `SELECT f.ordinal FROM adoptions f JOIN outcomes o USING (batch_id, ordinal)
			WHERE f.batch_id = $1 AND f.live_batch_id = $2 AND f.live_ordinal = ANY($3) AND o.state = $4 ORDER BY f.ordinal`,
			h.token.Batch.ID, batch, left, int16(payroll.DeadLettered))
		if err != nil {
			return err
		}
		ordinals, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		if err != nil {
			return err
		}
		if err := h.each(ctx, mark{}, ordinals, func(s payroll.Standing) (payroll.Change, bool) {
			if s.Cancelled {
				return payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Withdrawn}, true
			}
			return payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Replayed}, true
		}); err != nil {
			return err
		}
	}
	return nil
}

// leftTheEnd names the lines that were at rest and have moved. Only dead
// letters can, and their followers are dead without a letter.
func leftTheEnd(lines []payroll.Standing, changes []payroll.Change) (left []int32) {
	for _, s := range lines {
		moved := slices.ContainsFunc(changes, func(c payroll.Change) bool { return c.Ordinal == s.Line.Ordinal && c.Event != 0 })
		if moved && s.State.AtRest() {
			left = append(left, s.Line.Ordinal)
		}
	}
	return left
}

// page bounds how many lines a transaction has in memory at a time.
const page = 2000

// each decides about lines of the batch one by one, page by page.
func (h *held) each(ctx context.Context, m mark, ordinals []int32, decide func(payroll.Standing) (payroll.Change, bool)) error {
	for part := range slices.Chunk(ordinals, page) {
		lines, err := standings(ctx, h.tx, h.token.Batch.ID, part)
		if err != nil {
			return err
		}
		var changes []payroll.Change
		for _, s := range lines {
			if c, ok := decide(s); ok {
				changes = append(changes, c)
			}
		}
		if err := h.change(ctx, m, lines, changes); err != nil {
			return err
		}
	}
	return nil
}

// all applies changes that are decided already, page by page.
func (h *held) all(ctx context.Context, changes map[int32]payroll.Change) error {
	ordinals := slices.Sorted(maps.Keys(changes))
	return h.each(ctx, mark{}, ordinals, func(s payroll.Standing) (payroll.Change, bool) {
		return changes[s.Line.Ordinal], true
	})
}
