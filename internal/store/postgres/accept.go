package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// errKnown: the batch key is taken since it was looked up.
var errKnown = errors.New("the batch key is known by now")

// Accept stores a submission in one visible step, or nothing of it.
func (s *Store) Accept(ctx context.Context, sub store.Submission) (store.Receipt, error) {
	for {
		r, known, err := s.known(ctx, sub)
		if known || err != nil {
			return r, err
		}
		err = s.write(ctx, "Accept", func(tx pgx.Tx) (err error) {
			r, err = s.ledger(tx, sub.Now).accept(ctx, sub)
			return err
		})
		switch {
		case err == nil:
			return r, nil
		case !errors.Is(err, errKnown):
			return store.Receipt{}, err
		}
	}
}

// intake is a submission on its way into the tables.
type intake struct {
	*ledger
	sub    store.Submission
	period int32
	// first: no batch of the period was there before, so that no key can be held.
	first   bool
	batch   int64
	epochs  map[string]int64
	own     *held // the new batch
	others  map[int64]*held
	count   tally
	receipt store.Receipt
	refused []payroll.Reject // with Strict: what would be dead letters, the first of them
	faults  int              // and how many in all
}

// accept: lines first, then the locks that keep workers away, then what the new
// lines do to those that are there. Workers wait for the last part alone.
func (g *ledger) accept(ctx context.Context, sub store.Submission) (store.Receipt, error) {
	in := &intake{ledger: g, sub: sub, count: tally{amounts: map[string]payroll.Amounts{}}}
	for _, step := range []func(context.Context) error{
		in.begin, in.load, in.lockOthers, in.open, in.contest, in.enterVersions, in.rejects, in.deaths, in.succeed, in.finish,
	} {
		if err := step(ctx); err != nil {
			return store.Receipt{}, err
		}
	}
	return in.receipt, nil
}

// begin locks the period and makes the batch.
func (in *intake) begin(ctx context.Context) (err error) {
	b := in.sub.Batch
	if in.period, err = in.lockPeriod(ctx, b.Tenant, b.PayPeriod); err != nil {
		return err
	}
	err = in.tx.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM batches b JOIN units u ON u.id = b.unit_id WHERE u.period_id = $1)", in.period).Scan(&in.first)
	if err != nil {
		return err
	}
	if _, err = in.tx.Exec(ctx, "INSERT INTO units (period_id, vendor) VALUES ($1, $2) ON CONFLICT DO NOTHING", in.period, b.Vendor); err != nil {
		return err
	}
	err = in.tx.QueryRow(ctx, `INSERT INTO batches (batch_key, unit_id, tenant, run_attempt_group, currency, pay_date, cutoff_at, content_hash, total, created_by, created_at)
		SELECT $1, u.id, $2, $3, $4, nullif($5, '')::date, $6, $7, $8, $9, $10 FROM units u WHERE u.period_id = $11 AND u.vendor = $12
		ON CONFLICT (batch_key) DO NOTHING RETURNING id`,
		b.Key(), b.Tenant, b.Group, b.Currency, b.PayDate, stamp(b.CutoffAt), b.ContentHash[:], b.Total, b.CreatedBy, stamp(b.CreatedAt),
		in.period, b.Vendor).Scan(&in.batch)
	if errors.Is(err, pgx.ErrNoRows) {
		return errKnown
	}
	in.receipt.BatchID = in.batch
	return err
}

// open makes the token, with every line pending and every refused row dead.
func (in *intake) open(ctx context.Context) (err error) {
	id, err := in.newID()
	if err != nil {
		return fmt.Errorf("make a token: %w", err)
	}
	if in.count.items() != int64(in.sub.Batch.Total) {
		return fmt.Errorf("%d items, and the batch says %d", in.count.items(), in.sub.Batch.Total)
	}
	_, err = in.tx.Exec(ctx, `INSERT INTO resume_tokens (batch_id, token, state, epoch, version, pending, dead_lettered, rejected, updated_at)
		VALUES ($1, $2, $3, $4, 0, $5, $6, $6, $7)`,
		in.batch, id, int16(store.Queued), in.epochs[in.sub.Batch.Vendor], in.count.lines, in.count.rejects, stamp(in.now))
	if err != nil {
		return err
	}
	for currency, a := range in.count.amounts {
		_, err := in.tx.Exec(ctx, "INSERT INTO batch_amounts (batch_id, currency, total, dead_lettered) VALUES ($1, $2, $3, $4)",
			in.batch, currency, int64(a.Total), int64(a.DeadLettered))
		if err != nil {
			return err
		}
	}
	in.own, err = in.lockToken(ctx, in.batch)
	return err
}

// finish settles the new batch and those that it changed.
func (in *intake) finish(ctx context.Context) error {
	if in.sub.Strict && in.faults > 0 {
		return in.refusal()
	}
	if err := in.own.settle(ctx, byWorker, 0); err != nil {
		return err
	}
	return in.settleAll(ctx, in.others, in.epochs, func(h *held) bool { return len(h.changes) > 0 || h.disturbed })
}

// known answers a batch key that is stored: the same content is a replay.
func (s *Store) known(ctx context.Context, sub store.Submission) (r store.Receipt, known bool, err error) {
	var content payroll.Hash
	err = s.pool.QueryRow(ctx, "SELECT id, content_hash FROM batches WHERE batch_key = $1", sub.Batch.Key()).Scan(&r.BatchID, &fixed{content[:]})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return r, false, nil
	case err != nil:
		return r, false, translate(err)
	case content == sub.Batch.ContentHash:
		r.Replayed = true
		return r, true, nil
	}
	ordinal, err := s.firstDifference(ctx, r.BatchID, sub)
	if err == nil {
		err = &store.ContentDiffersError{Ordinal: ordinal}
	}
	return store.Receipt{}, true, translate(err)
}

// firstDifference compares items in order, one that only one side has among
// them; 0: it is not in them.
func (s *Store) firstDifference(ctx context.Context, batch int64, sub store.Submission) (int32, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows, err := s.pool.Query(ctx, `SELECT ordinal, sha256(key || hash) FROM lines WHERE batch_id = $1
		UNION ALL SELECT ordinal, digest FROM dead_letters WHERE batch_id = $1 AND digest IS NOT NULL ORDER BY ordinal`, batch)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var ordinal int32
	for row, err := range sub.Rows() {
		if err != nil {
			return 0, err
		}
		if !rows.Next() {
			return ordinal + 1, rows.Err()
		}
		var digest payroll.Hash
		if err := rows.Scan(&ordinal, &fixed{digest[:]}); err != nil {
			return 0, err
		}
		if digest != row.Digest() {
			cancel() // the rest is not read
			return ordinal, nil
		}
	}
	if rows.Next() {
		return ordinal + 1, nil
	}
	return 0, rows.Err()
}

// refuse notes an item that would be a dead letter.
func (in *intake) refuse(r payroll.Reject) {
	in.faults++
	if len(in.refused) < maxRefused {
		in.refused = append(in.refused, r)
	}
}

// maxRefused bounds what a refusal lists.
const maxRefused = 1000
