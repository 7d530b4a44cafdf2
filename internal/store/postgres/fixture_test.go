package postgres_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
	"payrollgateway/internal/store/postgres"
)

var now = time.Date(2026, 3, 27, 9, 0, 0, 0, time.UTC)

// crew is a submission of n lines of about 200 bytes each, of one unit.
func crew(period, group string, n int) store.Submission {
	b := payroll.Batch{
		Tenant: "acme", Vendor: "paywell", PayPeriod: period, Group: group, Currency: "USD", PayDate: "2026-03-31",
		ContentHash: sha256.Sum256([]byte(period + group)), Total: int32(n), CreatedBy: "hr-key", CreatedAt: now,
	}
	return store.Submission{Batch: b, Now: now, Rows: func() iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for i := range n {
				if !yield(store.Row{Line: line(b, int32(i+1), int32(i+1))}, nil) {
					return
				}
			}
		}
	}}
}

// line is the payment to a person, at an ordinal of a batch.
func line(b payroll.Batch, ordinal, person int32) *payroll.Line {
	l := payroll.Line{
		Ordinal: ordinal, EmployeeID: fmt.Sprintf("E-%06d", person), Version: 1, Amount: payroll.Minor(100_000 + person), Currency: "USD",
		Details: payroll.Details{payroll.TextDetail("cost_centre", "north-17"), payroll.LiteralDetail("hours", "173.33")},
	}
	n := l.Natural(b.Tenant, b.PayPeriod)
	l.Key, l.AnyVersion, l.Hash = n.Digest(), n.AnyVersion(), payroll.RequestHash(l.Currency, l.Amount, l.Details)
	return &l
}

func accept(t *testing.T, s *postgres.Store, sub store.Submission) store.Token {
	t.Helper()
	if _, err := s.Accept(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	return token(t, s, sub)
}

func token(t *testing.T, s *postgres.Store, sub store.Submission) store.Token {
	t.Helper()
	k, err := s.Batch(t.Context(), sub.Batch.Tenant, sub.Batch.Key())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func claim(t *testing.T, s *postgres.Store, sub store.Submission, owner string) store.Tenure {
	t.Helper()
	b := sub.Batch
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tenure, err := s.Claim(ctx, store.Claim{
		Unit: payroll.Unit{Tenant: b.Tenant, PayPeriod: b.PayPeriod, Vendor: b.Vendor}, Owner: owner, Now: now, TTL: time.Minute, Force: true, Settle: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tenure
}

// chunk is the next attempt of a worker, and the answer that pays all of it.
func chunk(k store.Token, epoch int64, ordinals []int32) (store.Open, store.Work) {
	o := store.Open{ChangeSeq: k.ChangeSeq, From: k.NextOrdinal, Next: ordinals[len(ordinals)-1] + 1, Attempt: store.Attempt{
		BatchID: k.Batch.ID, No: k.NextAttempt, Epoch: epoch, Kind: payroll.Submit, Ordinals: ordinals,
		BodySHA256: sha256.Sum256([]byte("body")), Revision: 1, SentAt: now, SendBefore: now.Add(2 * time.Second),
	}}
	w := store.Work{BatchID: k.Batch.ID, Epoch: epoch, AttemptNo: k.NextAttempt, Answer: store.Answer{HTTPStatus: 207}, Cursor: o.Next - 1, Now: now}
	for _, ordinal := range ordinals {
		w.Clean = append(w.Clean, store.SettledLine{
			Ordinal: ordinal, Amount: payroll.Minor(100_000 + ordinal), Currency: "USD", As: payroll.Created, Status: 201, Reference: fmt.Sprintf("p-%09d", ordinal),
		})
	}
	return o, w
}

// dispatch pays a batch in chunks of 250, as a worker does it without trouble.
func dispatch(t *testing.T, s *postgres.Store, k store.Token, epoch int64) (chunks int) {
	t.Helper()
	var ahead []payroll.Line
	for k.NextOrdinal <= k.Batch.Total {
		if len(ahead) == 0 {
			ahead = readAhead(t, s, k)
		}
		n := min(250, len(ahead))
		ordinals := make([]int32, n)
		for i, l := range ahead[:n] {
			ordinals[i] = l.Ordinal
		}
		ahead = ahead[n:]
		o, w := chunk(k, epoch, ordinals)
		if err := s.Open(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		applied, err := s.Apply(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		k = applied.Token
		chunks++
	}
	return chunks
}

func readAhead(t *testing.T, s *postgres.Store, k store.Token) []payroll.Line {
	t.Helper()
	lines, err := s.ReadAhead(t.Context(), k.Batch.ID, k.NextOrdinal, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// query reads one value.
func query[V any](t *testing.T, conn *pgx.Conn, sql string, args ...any) V {
	t.Helper()
	var v V
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// eventually asks until it is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline, ticker := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer ticker.Stop()
	for !so() {
		select {
		case <-deadline:
			t.Fatalf("never: %s", what)
		case <-ticker.C:
		}
	}
}
