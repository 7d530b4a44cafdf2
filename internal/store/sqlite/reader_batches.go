package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Batch reads a batch with its token and amounts, whatever its size.
func (s *Store) Batch(ctx context.Context, tenant, batchKey string) (store.Token, error) {
	return s.one(ctx, "WHERE b.batch_key = ? AND p.tenant = ?", batchKey, tenant)
}

// Token reads the same by resume token.
func (s *Store) Token(ctx context.Context, tenant string, id uuid.UUID) (store.Token, error) {
	return s.one(ctx, "WHERE t.token = ? AND p.tenant = ?", id[:], tenant)
}

func (s *Store) one(ctx context.Context, where string, args ...any) (store.Token, error) {
	return read(ctx, s, func(q querier) (store.Token, error) {
		k, err := scanToken(q.row(ctx, selectToken+where, args...))
		if err != nil {
			return store.Token{}, found(err)
		}
		k.Amounts, err = readAmounts(ctx, q, k.Batch.ID)
		return k.Token, err
	})
}

// Batches lists a tenant's batches, the newest first.
func (s *Store) Batches(ctx context.Context, tenant string, p store.Page) (items []store.Token, next string, err error) {
	after, err := store.DecodeCursor(p.After, 1)
	if err != nil {
		return nil, "", err
	}
	before := int64(math.MaxInt64)
	if after != nil {
		before = after[0]
	}
	tokens, err := read(ctx, s, func(q querier) ([]*token, error) {
		return collect(ctx, q, scanToken, selectToken+"WHERE p.tenant = ? AND b.id < ? ORDER BY b.id DESC LIMIT ?", tenant, before, p.Limit+1)
	})
	tokens, next = pageOf(tokens, p.Limit, func(k *token) string { return store.EncodeCursor(k.Batch.ID) })
	for _, k := range tokens {
		items = append(items, k.Token)
	}
	return items, next, err
}

// pageOf cuts the one item too many that was read, and names the next page
// where there was one.
func pageOf[T any](items []T, limit int, cursor func(T) string) (page []T, next string) {
	if len(items) <= limit {
		return items, ""
	}
	items = items[:limit]
	return items, cursor(items[limit-1])
}

// Corrections lists the lines of a batch that correct paid ones.
func (s *Store) Corrections(ctx context.Context, batchID int64, limit int) ([]store.CorrectionView, error) {
	return read(ctx, s, func(q querier) (views []store.CorrectionView, err error) {
		k, err := readToken(ctx, q, batchID)
		if err != nil {
			return nil, err
		}
		err = each(ctx, q, func(row scanner) error {
			var line, paid payroll.Digest
			if err := row.Scan(fixed{line[:]}, fixed{paid[:]}); err != nil {
				return err
			}
			key := payroll.LineKey(k.Batch.Tenant, k.Batch.PayPeriod, line)
			if len(views) == 0 || views[len(views)-1].LineKey != key {
				views = append(views, store.CorrectionView{LineKey: key})
			}
			last := &views[len(views)-1]
			last.Corrects = append(last.Corrects, payroll.LineKey(k.Batch.Tenant, k.Batch.PayPeriod, paid))
			return nil
		}, `SELECT l.key, o.key FROM (SELECT DISTINCT ordinal FROM corrections WHERE batch_id = ?1 ORDER BY ordinal LIMIT ?2) d
			JOIN corrections c ON c.batch_id = ?1 AND c.ordinal = d.ordinal
			JOIN lines l ON l.batch_id = ?1 AND l.ordinal = c.ordinal
			JOIN lines o ON o.batch_id = c.corrects_batch_id AND o.ordinal = c.corrects_ordinal
			ORDER BY c.ordinal, o.line_version`, batchID, limit)
		return views, err
	})
}

// Statistics feeds the metrics.
func (s *Store) Statistics(ctx context.Context) (store.Statistics, error) {
	return read(ctx, s, func(q querier) (st store.Statistics, err error) {
		c := &st.Lines
		err = q.row(ctx, `SELECT coalesce(sum(pending), 0), coalesce(sum(in_flight), 0), coalesce(sum(retrying), 0), coalesce(sum(unknown), 0),
			coalesce(sum(settled), 0), coalesce(sum(dead_lettered), 0), coalesce(sum(cancelled), 0), coalesce(sum(superseded), 0),
			coalesce(min(b.created_at), 0)
			FROM resume_tokens t JOIN batches b ON b.id = t.batch_id WHERE t.completed_at = 0`).
			Scan(&c[payroll.Pending], &c[payroll.InFlight], &c[payroll.Retrying], &c[payroll.Unknown], &c[payroll.Settled],
				&c[payroll.DeadLettered], &c[payroll.Cancelled], &c[payroll.Superseded], at{&st.OldestUnsettled})
		if err != nil {
			return st, fmt.Errorf("lines: %w", err)
		}
		err = q.row(ctx, `SELECT count(*) FROM troubles r WHERE `+waiting).Scan(&st.RetryDepth)
		if err != nil {
			return st, fmt.Errorf("troubles: %w", err)
		}
		st.OpenLetters = map[store.LetterLabels]int64{}
		err = each(ctx, q, func(row scanner) error {
			var l store.LetterLabels
			var n int64
			err := row.Scan(&l.Reason, &l.Stage, &n)
			st.OpenLetters[l] = n
			return err
		}, "SELECT reason, stage, count(*) FROM dead_letters WHERE status = 1 GROUP BY reason, stage")
		return st, err
	})
}
