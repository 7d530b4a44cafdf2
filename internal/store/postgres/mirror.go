package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Mirror gives followers the end of the live item they follow.
func (s *Store) Mirror(ctx context.Context, batchID, epoch int64, now time.Time, limit int) (int, error) {
	var current int64
	var followers bool
	err := s.pool.QueryRow(ctx, "SELECT "+epochOf+", t.completed_at IS NULL AND EXISTS (SELECT FROM adoptions f WHERE f.batch_id = t.batch_id) FROM resume_tokens t WHERE t.batch_id = $1", batchID).
		Scan(&current, &followers)
	switch {
	case err != nil:
		return 0, translate(err)
	case current != epoch:
		return 0, store.ErrFenced
	case !followers:
		return 0, nil
	}
	var n int
	err = s.write(ctx, "Mirror", func(tx pgx.Tx) (err error) {
		n, err = s.ledger(tx, now).mirror(ctx, batchID, epoch, limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (g *ledger) mirror(ctx context.Context, batchID, epoch int64, limit int) (int, error) {
	w, err := g.find(ctx, "b.id = $1", batchID)
	if err != nil {
		return 0, err
	}
	if _, err := g.lockPeriod(ctx, w.tenant, w.period); err != nil {
		return 0, err
	}
	h, err := g.lockToken(ctx, batchID)
	if err != nil {
		return 0, err
	}
	if h.token.Complete() {
		return 0, nil
	}
	if h.token.Epoch != epoch {
		return 0, store.ErrFenced
	}
	ends, err := h.endsOfLiveItems(ctx, limit)
	if err != nil || len(ends) == 0 {
		return 0, err
	}
	if err := h.take(ctx, ends); err != nil {
		return 0, err
	}
	return len(ends), h.settle(ctx, byWorker, 0)
}

// end is where a follower's live item came to rest.
type end struct {
	ordinal   int32
	live      payroll.LineRef
	state     payroll.State
	reason    payroll.Reason
	status    int
	reference string
	ambiguous bool
	closedAs  string // its newest dead letter; "" = open or none
}

// handsOver: the follower takes its place, and not its end.
func (e end) handsOver(h *held) bool {
	closed, _ := payroll.ParseCloseReason(e.closedAs)
	live := payroll.Existing{State: e.state, Reason: e.reason, Ambiguous: e.ambiguous, LetterClosed: closed}
	return h.token.CancelledFrom == 0 && payroll.HandsOver(live, h.token.Batch.CutoffAt, h.now)
}

// endsOfLiveItems lists followers that are behind their live item. Where that was
// cancelled, only its oldest follower that still waits has anything to take:
// its place.
func (h *held) endsOfLiveItems(ctx context.Context, limit int) ([]end, error) {
	rows, err := h.tx.Query(ctx, `SELECT f.ordinal, f.live_batch_id, f.live_ordinal, ls.state, coalesce(lo.reason, 0), coalesce(lo.http_status, 0), coalesce(lo.reference, ''),
			coalesce(lr.ambiguous, false), coalesce((SELECT d.closed_as FROM dead_letters d WHERE d.batch_id = l.batch_id AND d.ordinal = l.ordinal
				ORDER BY d.dead_lettered_at DESC, d.id DESC LIMIT 1), '')
		FROM adoptions f
		JOIN lines l ON l.batch_id = f.live_batch_id AND l.ordinal = f.live_ordinal
		JOIN resume_tokens lt ON lt.batch_id = l.batch_id
		LEFT JOIN troubles lr ON lr.batch_id = l.batch_id AND lr.ordinal = l.ordinal
		LEFT JOIN outcomes lo ON lo.batch_id = l.batch_id AND lo.ordinal = l.ordinal
		CROSS JOIN LATERAL (SELECT payroll_line_state(lt.next_ordinal, lt.cancelled_from, l.live, l.ordinal, lr.state, lo.state) AS state) ls
		LEFT JOIN outcomes o ON o.batch_id = f.batch_id AND o.ordinal = f.ordinal
		WHERE f.batch_id = $1 AND f.ordinal < $2 AND ls.state >= 5
			AND (o.state IS NULL OR o.state = 6 AND ls.state IN (5, 8))
			AND (ls.state <> 7 OR NOT EXISTS (SELECT FROM adoptions e JOIN resume_tokens et ON et.batch_id = e.batch_id
				WHERE e.live_batch_id = f.live_batch_id AND e.live_ordinal = f.live_ordinal AND (e.batch_id, e.ordinal) < (f.batch_id, f.ordinal)
					AND (et.cancelled_from IS NULL OR e.ordinal < et.cancelled_from)
					AND NOT EXISTS (SELECT FROM outcomes eo WHERE eo.batch_id = e.batch_id AND eo.ordinal = e.ordinal)))
		ORDER BY f.ordinal LIMIT $3`, h.token.Batch.ID, h.below(), limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e end, err error) {
		err = row.Scan(&e.ordinal, &e.live.Batch, &e.live.Ordinal, (*int16)(&e.state), (*int16)(&e.reason), &e.status, &e.reference, &e.ambiguous, &e.closedAs)
		return e, err
	})
}

// below is the first ordinal that was cancelled with the batch.
func (h *held) below() int32 {
	if h.token.CancelledFrom > 0 {
		return h.token.CancelledFrom
	}
	return h.token.Batch.Total + 1
}

func (h *held) take(ctx context.Context, ends []end) error {
	of := make(map[int32]end, len(ends))
	ordinals := make([]int32, len(ends))
	m := mark{reasons: make(map[int32]payroll.Reason)}
	for i, e := range ends {
		if e.handsOver(h) {
			if err := h.promote(ctx, e); err != nil {
				return err
			}
			e.state = payroll.Cancelled // what is left of its end: it was not paid, and is no longer live
		}
		if e.state == payroll.DeadLettered {
			m.reasons[e.ordinal] = e.reason
		}
		of[e.ordinal], ordinals[i] = e, e.ordinal
	}
	return h.each(ctx, m, ordinals, func(s payroll.Standing) (payroll.Change, bool) {
		return follow(s, of[s.Line.Ordinal])
	})
}

// follow is what a follower takes from its live item.
func follow(s payroll.Standing, e end) (payroll.Change, bool) {
	c := payroll.Change{Ordinal: s.Line.Ordinal}
	switch {
	case e.state == payroll.Settled:
		c.Event = payroll.Paid
		c.Settled = payroll.Settlement{As: payroll.EarlierBatch, Status: e.status, Reference: e.reference}
	case e.state == payroll.DeadLettered:
		c.Event = payroll.Given
	case e.state == payroll.Superseded, s.Superseded:
		c.Event = payroll.Replaced
	default:
		return c, false
	}
	return c, true
}

// promote makes a follower the live item in the place of one that ended unpaid,
// and the others its followers. It stands where the old one stood: what that one
// corrects or waits for, it does. From now on it is due, in no attempt. A dead
// letter of the old one is closed as submitted again.
func (h *held) promote(ctx context.Context, e end) error {
	b := &pgx.Batch{}
	batch, old := h.token.Batch.ID, e.live
	b.Queue("UPDATE lines SET live = false WHERE batch_id = $1 AND ordinal = $2", old.Batch, old.Ordinal)
	b.Queue("UPDATE lines SET live = true WHERE batch_id = $1 AND ordinal = $2", batch, e.ordinal)
	b.Queue("DELETE FROM adoptions WHERE batch_id = $1 AND ordinal = $2", batch, e.ordinal)
	b.Queue("UPDATE dead_letters SET status = $3, closed_as = $4, closed_at = $5, actor = 'gateway' WHERE batch_id = $1 AND ordinal = $2 AND status = 1",
		old.Batch, old.Ordinal, int16(store.LetterClosed), string(payroll.Resubmitted), stamp(h.now))
	b.Queue(repointSQL, []int64{old.Batch}, []int32{old.Ordinal}, batch, []int32{e.ordinal})
	b.Queue(`INSERT INTO corrections SELECT $3, $4, corrects_batch_id, corrects_ordinal FROM corrections WHERE batch_id = $1 AND ordinal = $2
		ON CONFLICT DO NOTHING`, old.Batch, old.Ordinal, batch, e.ordinal)
	var before payroll.Trouble
	var found bool
	b.Queue("SELECT "+troubleColumns+" FROM (SELECT) x LEFT JOIN troubles r ON r.batch_id = $1 AND r.ordinal = $2", old.Batch, old.Ordinal).
		QueryRow(func(row pgx.Row) error { return row.Scan(troubleFields(&found, &before)...) })
	if err := h.tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	after := heir(before)
	after.DueAt, after.BlockedBy = h.now, before.BlockedBy
	kept := troubles{}
	kept.add(e.ordinal, payroll.Pending, after)
	write := &pgx.Batch{}
	kept.queue(write, batch)
	return h.tx.SendBatch(ctx, write).Close()
}

// repointSQL: followers of the items ($1, $2) that still wait follow the items
// $4 of batch $3 in their place.
const repointSQL = `UPDATE adoptions f SET live_batch_id = $3, live_ordinal = x.ordinal
	FROM unnest($1::int8[], $2::int4[], $4::int4[]) AS x(old_batch_id, old_ordinal, ordinal)
	WHERE f.live_batch_id = x.old_batch_id AND f.live_ordinal = x.old_ordinal
		AND NOT EXISTS (SELECT FROM outcomes o WHERE o.batch_id = f.batch_id AND o.ordinal = f.ordinal)`

// heir is what the next live item of a key inherits from one that ended: nothing
// but the key generation. Where that is above the first, the vendor stores its
// failures under the key, and the next one begins after them.
func heir(before payroll.Trouble) payroll.Trouble {
	if before.Generation > 1 {
		return payroll.Trouble{Generation: before.Generation + 1}
	}
	return payroll.Trouble{Generation: 1}
}
