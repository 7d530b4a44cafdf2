package sqlite

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
	"payrollgateway/internal/store/storetest"
)

func TestSQLiteKeepsWhatAStorePromises(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		return openAt(t, newPath(t))
	})
}

func newPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "led ger?#%41.db")
}

func openAt(t *testing.T, path string, opts ...Option) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var unitOfTests = payroll.Unit{Tenant: "acme", PayPeriod: "2026-11", Vendor: "paywell"}

// run is a submission of n lines; its group makes its employees.
func run(group string, n int) store.Submission {
	u := unitOfTests
	b := payroll.Batch{
		Tenant: u.Tenant, Vendor: u.Vendor, PayPeriod: u.PayPeriod, Group: group, Currency: "USD",
		ContentHash: payroll.HashBytes([]byte(group)), Total: int32(n), CreatedBy: "key", CreatedAt: noon,
	}
	rows := func() iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for i := range n {
				if !yield(store.Row{Line: lineOf(group, int32(i+1))}, nil) {
					return
				}
			}
		}
	}
	return store.Submission{Batch: b, Rows: rows, Now: noon}
}

func lineOf(group string, ordinal int32) *payroll.Line {
	l := payroll.Line{
		Ordinal: ordinal, EmployeeID: fmt.Sprintf("%s-%d", group, ordinal), Version: 1, Amount: 1000, Currency: "USD",
		Details: payroll.Details{payroll.TextDetail("team", "north")},
	}
	n := l.Natural(unitOfTests.Tenant, unitOfTests.PayPeriod)
	l.Key, l.AnyVersion, l.Hash = n.Digest(), n.AnyVersion(), payroll.RequestHash(l.Currency, l.Amount, l.Details)
	return &l
}

func submit(t *testing.T, s *Store, group string, n int) int64 {
	t.Helper()
	r, err := s.Accept(t.Context(), run(group, n))
	if err != nil {
		t.Fatal(err)
	}
	return r.BatchID
}

func claimed(t *testing.T, s *Store) store.Tenure {
	t.Helper()
	tenure, err := s.Claim(t.Context(), store.Claim{Unit: unitOfTests, Owner: "worker", Now: noon, TTL: time.Second, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	return tenure
}

// first is the opening of a batch's first attempt, with its first n lines.
func first(batchID, epoch int64, n int32) store.Open {
	a := store.Attempt{BatchID: batchID, No: 1, Epoch: epoch, Kind: payroll.Submit, SentAt: noon, SendBefore: noon.Add(2 * time.Second)}
	for o := int32(1); o <= n; o++ {
		a.Ordinals = append(a.Ordinals, o)
	}
	return store.Open{Attempt: a, From: 1, Next: n + 1}
}

// texts reads one column of text.
func texts(t *testing.T, s *Store, query string, args ...any) []string {
	t.Helper()
	all, err := read(t.Context(), s, func(q querier) ([]string, error) {
		return collect(context.Background(), q, func(row scanner) (text string, err error) {
			err = row.Scan(&text)
			return text, err
		}, query, args...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
