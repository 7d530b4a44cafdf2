package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Batch reads a batch with its token and amounts: index probes, whatever its size.
func (s *Store) Batch(ctx context.Context, tenant, batchKey string) (store.Token, error) {
	return s.token(ctx, "b.tenant = $1 AND b.batch_key = $2", tenant, batchKey)
}

// Token reads the same by resume token.
func (s *Store) Token(ctx context.Context, tenant string, token uuid.UUID) (store.Token, error) {
	return s.token(ctx, "b.tenant = $1 AND t.token = $2", tenant, token)
}

// token reads counts and amounts at one instant, so that they agree.
func (s *Store) token(ctx context.Context, where string, args ...any) (t store.Token, err error) {
	var rows amountRows
	fields := append(tokenFields(&t), rows.fields()...)
	err = s.pool.QueryRow(ctx, "SELECT "+tokenColumns+amountColumns+" FROM resume_tokens t"+tokenJoins+"WHERE "+where, args...).Scan(fields...)
	t.Amounts = rows.amounts()
	return t, translate(err)
}

// amountColumns are the rows of batch_amounts of tokens t, as arrays.
const amountColumns = `, ARRAY(SELECT currency FROM batch_amounts a WHERE a.batch_id = t.batch_id ORDER BY currency),
	ARRAY(SELECT unnest(ARRAY[total, settled, earlier, dead_lettered, cancelled, superseded])
		FROM batch_amounts a WHERE a.batch_id = t.batch_id ORDER BY currency)`

type amountRows struct {
	currencies []string
	sums       []int64 // six for each
}

func (r *amountRows) fields() []any { return []any{&r.currencies, &r.sums} }

func (r *amountRows) amounts() map[string]payroll.Amounts {
	all := make(map[string]payroll.Amounts, len(r.currencies))
	for i, currency := range r.currencies {
		n := r.sums[6*i:]
		all[currency] = payroll.Amounts{
			Total: payroll.Minor(n[0]), Settled: payroll.Minor(n[1]), Earlier: payroll.Minor(n[2]),
			DeadLettered: payroll.Minor(n[3]), Cancelled: payroll.Minor(n[4]), Superseded: payroll.Minor(n[5]),
		}
	}
	return all
}

// Batches lists a tenant's batches in the order in which they came.
func (s *Store) Batches(ctx context.Context, tenant string, p store.Page) ([]store.Token, string, error) {
	after, err := store.DecodeCursor(p.After, 1)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.pool.Query(ctx, "SELECT "+tokenColumns+" FROM resume_tokens t"+tokenJoins+
		"WHERE b.tenant = $1 AND b.id > $2 ORDER BY b.id LIMIT $3", tenant, first(after), p.Limit+1)
	if err != nil {
		return nil, "", translate(err)
	}
	tokens, err := pgx.CollectRows(rows, rowToToken)
	items, next := cut(tokens, p.Limit, func(t store.Token) string { return store.EncodeCursor(t.Batch.ID) })
	return items, next, translate(err)
}

// first is the keyset of a list with one part; 0 = from the start.
func first(keyset []int64) int64 {
	if len(keyset) == 0 {
		return 0
	}
	return keyset[0]
}

// cut takes the extra item off that was read to see whether there is more.
func cut[V any](items []V, limit int, cursor func(V) string) ([]V, string) {
	if len(items) <= limit {
		return items, ""
	}
	items = items[:limit]
	return items, cursor(items[limit-1])
}

// Corrections lists the lines of a batch that correct paid ones.
func (s *Store) Corrections(ctx context.Context, batchID int64, limit int) ([]store.CorrectionView, error) {
	rows, err := s.pool.Query(ctx, `SELECT p.tenant, p.pay_period, l.key, array_agg(o.key ORDER BY o.line_version)
		FROM corrections c
		JOIN lines l ON l.batch_id = c.batch_id AND l.ordinal = c.ordinal
		JOIN lines o ON o.batch_id = c.corrects_batch_id AND o.ordinal = c.corrects_ordinal
		JOIN periods p ON p.id = l.period_id
		WHERE c.batch_id = $1 GROUP BY c.ordinal, p.tenant, p.pay_period, l.key ORDER BY c.ordinal LIMIT $2`, batchID, limit)
	if err != nil {
		return nil, translate(err)
	}
	views, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v store.CorrectionView, err error) {
		var tenant, period string
		var key payroll.Digest
		var corrected [][]byte
		if err = row.Scan(&tenant, &period, &fixed{key[:]}, &corrected); err != nil {
			return v, err
		}
		v.LineKey = payroll.LineKey(tenant, period, key)
		for _, k := range corrected {
			v.Corrects = append(v.Corrects, payroll.LineKey(tenant, period, payroll.Digest(k)))
		}
		return v, nil
	})
	return views, translate(err)
}

// Statistics feeds the metrics.
func (s *Store) Statistics(ctx context.Context) (st store.Statistics, err error) {
	n := &st.Lines
	err = s.pool.QueryRow(ctx, `SELECT coalesce(sum(t.pending), 0)::int8, coalesce(sum(t.in_flight), 0)::int8, coalesce(sum(t.retrying), 0)::int8,
			coalesce(sum(t.unknown), 0)::int8, coalesce(sum(t.settled), 0)::int8, coalesce(sum(t.dead_lettered), 0)::int8,
			coalesce(sum(t.cancelled), 0)::int8, coalesce(sum(t.superseded), 0)::int8, min(b.created_at),
			(SELECT count(*) FROM troubles r WHERE `+waiting+`)
		FROM resume_tokens t JOIN batches b ON b.id = t.batch_id WHERE t.completed_at IS NULL`).Scan(
		&n[payroll.Pending], &n[payroll.InFlight], &n[payroll.Retrying], &n[payroll.Unknown], &n[payroll.Settled],
		&n[payroll.DeadLettered], &n[payroll.Cancelled], &n[payroll.Superseded], (*stamp)(&st.OldestUnsettled), &st.RetryDepth)
	if err != nil {
		return st, translate(err)
	}
	st.OpenLetters, err = s.openLetters(ctx)
	return st, translate(err)
}

func (s *Store) openLetters(ctx context.Context) (map[store.LetterLabels]int64, error) {
	rows, err := s.pool.Query(ctx, "SELECT reason, stage, count(*) FROM dead_letters WHERE status = 1 GROUP BY reason, stage")
	if err != nil {
		return nil, err
	}
	letters := make(map[store.LetterLabels]int64)
	var l store.LetterLabels
	var n int64
	_, err = pgx.ForEachRow(rows, []any{(*int16)(&l.Reason), (*int16)(&l.Stage), &n}, func() error {
		letters[l] = n
		return nil
	})
	return letters, err
}
