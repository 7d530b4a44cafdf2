package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// ledger is one transaction's view of the tables: what it has locked, and its now.
type ledger struct {
	tx    pgx.Tx
	now   time.Time
	newID func() (uuid.UUID, error)
}

func (s *Store) ledger(tx pgx.Tx, now time.Time) *ledger {
	return &ledger{tx: tx, now: now, newID: s.newID}
}

// held is a batch whose token row this transaction has locked: changes to its
// lines go through it, and its counts and amounts with them.
type held struct {
	*ledger
	token   store.Token // as it was locked
	delta   payroll.Delta
	dead    []store.Dead
	changes []payroll.Change
	lowest  int32 // first line that left an end state; 0 = none
	// disturbed: nothing of it changed, and yet no plan made before may be carried out.
	disturbed bool
}

// lockPeriod keeps other writes from outside away from a pay period. It makes
// the row where there is none.
func (g *ledger) lockPeriod(ctx context.Context, tenant, payPeriod string) (id int32, err error) {
	err = g.tx.QueryRow(ctx, `INSERT INTO periods (tenant, pay_period) VALUES ($1, $2)
		ON CONFLICT (tenant, pay_period) DO UPDATE SET tenant = excluded.tenant RETURNING id`, tenant, payPeriod).Scan(&id)
	return id, err
}

// lockUnits keeps take-overs of a period's units away and reads their epochs.
// Heartbeats go on.
func (g *ledger) lockUnits(ctx context.Context, period int32) (epochs map[string]int64, err error) {
	rows, err := g.tx.Query(ctx, "SELECT vendor, epoch FROM units WHERE period_id = $1 ORDER BY id FOR KEY SHARE", period)
	if err != nil {
		return nil, err
	}
	epochs = make(map[string]int64)
	var vendor string
	var epoch int64
	_, err = pgx.ForEachRow(rows, []any{&vendor, &epoch}, func() error {
		epochs[vendor] = epoch
		return nil
	})
	return epochs, err
}

// lockTokens locks the tokens of batches in their order.
func (g *ledger) lockTokens(ctx context.Context, batches []int64) (map[int64]*held, error) {
	if len(batches) == 0 {
		return map[int64]*held{}, nil
	}
	ids := slices.Clone(batches)
	slices.Sort(ids)
	rows, err := g.tx.Query(ctx, "SELECT "+tokenColumns+" FROM resume_tokens t"+tokenJoins+
		"WHERE t.batch_id = ANY($1) ORDER BY t.batch_id FOR UPDATE OF t", slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	tokens, err := pgx.CollectRows(rows, rowToToken)
	if err != nil {
		return nil, err
	}
	locked := make(map[int64]*held, len(tokens))
	for _, t := range tokens {
		locked[t.Batch.ID] = &held{ledger: g, token: t}
	}
	return locked, nil
}

func (g *ledger) lockToken(ctx context.Context, batch int64) (*held, error) {
	locked, err := g.lockTokens(ctx, []int64{batch})
	if err != nil {
		return nil, err
	}
	if h := locked[batch]; h != nil {
		return h, nil
	}
	return nil, store.ErrNotFound
}

// whereabouts is what leads from a batch to what must be locked before it.
type whereabouts struct {
	batch  int64
	tenant string
	period string
}

func (g *ledger) find(ctx context.Context, where string, args ...any) (w whereabouts, err error) {
	err = g.tx.QueryRow(ctx, `SELECT b.id, b.tenant, p.pay_period FROM batches b
		JOIN units u ON u.id = b.unit_id JOIN periods p ON p.id = u.period_id WHERE `+where, args...).
		Scan(&w.batch, &w.tenant, &w.period)
	return w, err
}

func rowToToken(row pgx.CollectableRow) (t store.Token, err error) {
	err = row.Scan(tokenFields(&t)...)
	return t, err
}

// queryToken runs a statement that gives tokenColumns of one token.
func queryToken(ctx context.Context, q querier, sql string, args ...any) (t store.Token, err error) {
	err = q.QueryRow(ctx, sql, args...).Scan(tokenFields(&t)...)
	return t, err
}

// readToken reads the one row of a token.
func readToken(rows pgx.Rows, t *store.Token) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := rows.Scan(tokenFields(t)...); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// record writes the audit.
func (g *ledger) record(ctx context.Context, tenant, actor, action, object, detail string) error {
	_, err := g.tx.Exec(ctx, "INSERT INTO audit (at, tenant, actor, action, object, detail) VALUES ($1, $2, $3, $4, $5, $6)",
		stamp(g.now), tenant, actor, action, object, detail)
	return err
}
