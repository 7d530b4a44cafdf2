package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/pgtest"
	"payrollgateway/internal/store"
	"payrollgateway/internal/store/postgres"
)

// counter counts statements, and those that a deadlock ended.
type counter struct{ statements, deadlocks atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.statements.Add(1)
	return ctx
}

func (c *counter) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	var pg *pgconn.PgError
	if errors.As(data.Err, &pg) && pg.Code == "40P01" {
		c.deadlocks.Add(1)
	}
}

func TestStatementsOfACleanChunk(t *testing.T) {
	t.Parallel()
	c := &counter{}
	s := open(t, postgres.WithTracer(c))
	sub := crew("2026-03", "run-1", 10_000)
	k := accept(t, s, sub)
	epoch := claim(t, s, sub, "worker").Epoch
	before := c.statements.Load()
	chunks := dispatch(t, s, k, epoch)
	if got := float64(c.statements.Load()-before) / float64(chunks); got > 4 {
		t.Errorf("%.2f statements a chunk, at most 4 are permitted", got)
	} else {
		t.Logf("%.2f statements a chunk", got)
	}
}

// What a worker writes that lost its unit, in any of its ways, changes no row
// of any table.
func TestAStaleEpochChangesNoRow(t *testing.T) {
	t.Parallel()
	at := pgtest.URL(t)
	s, conn := openAt(t, at), connect(t, at)
	first, second := crew("2026-03", "run-1", 100), crew("2026-03", "run-2", 100)
	k := accept(t, s, first)
	accept(t, s, second) // follows the first
	stale := claim(t, s, first, "old")
	o, w := chunk(k, stale.Epoch, ordinals(1, 50))
	if err := s.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	k = token(t, s, first)
	claim(t, s, first, "new")
	decide := w
	decide.Clean, decide.Ordinals = nil, ordinals(1, 50)
	decide.Decide = func(lines []payroll.Standing) []payroll.Change {
		t.Error("a stale worker was asked to decide")
		return nil
	}
	again, _ := chunk(k, stale.Epoch, ordinals(51, 100))
	troubled := again
	troubled.From, troubled.Next = 0, 0
	before := contents(t, conn)
	for name, write := range map[string]func() error{
		"open":          func() error { return s.Open(t.Context(), again) },
		"open again":    func() error { return s.Open(t.Context(), troubled) },
		"answer, clean": func() error { _, err := s.Apply(t.Context(), w); return err },
		"answer, mixed": func() error { _, err := s.Apply(t.Context(), decide); return err },
		"state":         func() error { return s.SetState(t.Context(), k.Batch.ID, stale.Epoch, store.Waiting, "throttled", now) },
		"heartbeat":     func() error { return s.Heartbeat(t.Context(), stale, now) },
		"mirror": func() error {
			_, err := s.Mirror(t.Context(), token(t, s, second).Batch.ID, stale.Epoch, now, 10)
			return err
		},
	} {
		if err := write(); !errors.Is(err, store.ErrFenced) {
			t.Errorf("%s: %v, want %v", name, err, store.ErrFenced)
		}
		if contents(t, conn) != before {
			t.Fatalf("%s changed something", name)
		}
	}
	if err := s.Release(t.Context(), stale); err != nil || contents(t, conn) != before {
		t.Errorf("release: %v", err)
	}
}

// contents is a digest of all rows of all tables.
func contents(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return query[string](t, conn, `SELECT md5(string_agg(query_to_xml('SELECT md5(string_agg(x::text, '','' ORDER BY x::text)) FROM ' || quote_ident(tablename) || ' x', true, false, '')::text, ',' ORDER BY tablename))
		FROM pg_tables WHERE schemaname = 'public'`)
}

// While an intake copies its lines, its period's owner lives on, and another one
// may take over: only the last, short part of an intake keeps workers away. The
// new batch belongs to whoever owns the unit by then.
func TestAnIntakeThatCopiesHoldsUpNoOwner(t *testing.T) {
	t.Parallel()
	s := open(t)
	accept(t, s, crew("2026-03", "run-1", 1))
	sub := crew("2026-03", "run-2", 1000)
	tenure := claim(t, s, sub, "first")
	rows := sub.Rows
	sub.Rows = func() iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for row, err := range rows() {
				if row.Line.Ordinal == 500 {
					if err := s.Heartbeat(t.Context(), tenure, now); err != nil {
						t.Errorf("heartbeat: %v", err)
					}
					tenure = claim(t, s, sub, "second")
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
	if k := accept(t, s, sub); k.Epoch != tenure.Epoch {
		t.Errorf("the new batch has epoch %d, its unit %d", k.Epoch, tenure.Epoch)
	}
}

// Intakes of the same people from the first to the last and from the last to the
// first, take-overs, a worker and a person, all at the same lines: every pair of
// writers wants the same rows the other way round.
func TestOppositeOrdersMeetNoDeadlock(t *testing.T) {
	t.Parallel()
	c := &counter{}
	s := open(t, postgres.WithTracer(c), postgres.WithMaxConns(8))
	const n, rounds = 60, 25
	base := crew("2026-03", "base", n)
	k := accept(t, s, base)
	var epoch atomic.Int64
	var wg sync.WaitGroup
	many := func(write func(round int) error) {
		wg.Go(func() {
			for round := range rounds {
				if err := write(round); err != nil && !errors.Is(err, store.ErrFenced) {
					t.Error(err)
					return
				}
			}
		})
	}
	many(func(round int) error { return submit(t, s, fmt.Sprintf("forth-%d", round), n, false) })
	many(func(round int) error { return submit(t, s, fmt.Sprintf("back-%d", round), n, true) })
	many(func(round int) error {
		epoch.Store(claim(t, s, base, fmt.Sprintf("worker-%d", round)).Epoch)
		return nil
	})
	many(func(int) error {
		_, err := s.Apply(t.Context(), store.Work{BatchID: k.Batch.ID, Epoch: epoch.Load(), Ordinals: backwards(n), Decide: postpone, Now: now})
		return err
	})
	many(func(int) error {
		_, err := s.Amend(t.Context(), store.Amendment{
			BatchID: k.Batch.ID, Ordinals: ordinals(1, n), Actor: "operator", Action: "postpone", Now: now,
			Decide: func(lines []payroll.Standing) ([]payroll.Change, error) { return postpone(lines), nil },
		})
		return err
	})
	wg.Wait()
	if d := c.deadlocks.Load(); d != 0 {
		t.Errorf("%d deadlocks", d)
	}
}

// postpone remembers something of every line, from the last to the first.
func postpone(lines []payroll.Standing) (changes []payroll.Change) {
	for _, s := range slices.Backward(lines) {
		changes = append(changes, payroll.Change{Ordinal: s.Line.Ordinal, Trouble: &payroll.Trouble{Generation: 1, DueAt: now}})
	}
	return changes
}

func backwards(n int32) []int32 {
	all := ordinals(1, n)
	slices.Reverse(all)
	return all
}

// submit sends the people of a crew once more, in a run of its own.
func submit(t *testing.T, s *postgres.Store, group string, n int32, reversed bool) error {
	t.Helper()
	sub := crew("2026-03", group, int(n))
	b := sub.Batch
	sub.Rows = func() iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for o := int32(1); o <= n; o++ {
				person := o
				if reversed {
					person = n + 1 - o
				}
				if !yield(store.Row{Line: line(b, o, person)}, nil) {
					return
				}
			}
		}
	}
	_, err := s.Accept(t.Context(), sub)
	return err
}
