package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// fill submits runs until the file is full, and returns the group that did not
// fit any more.
func fill(t *testing.T, s *Store) string {
	t.Helper()
	for i := range 10_000 {
		group := fmt.Sprintf("fill-%d", i)
		_, err := s.Accept(t.Context(), run(group, 200))
		if errors.Is(err, store.ErrUnavailable) {
			return group
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the file never became full")
	return ""
}

func TestAFullDiskStoresNothingOfASubmission(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := openAt(t, path, WithPragma("max_page_count", "250"))
	group := fill(t, s)
	key := run(group, 200).Batch.Key()
	if _, err := s.Batch(t.Context(), unitOfTests.Tenant, key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the batch that did not fit: %v", err)
	}
	if n := texts(t, s, "SELECT count(*) FROM lines WHERE employee_id LIKE ?", group+"-%"); n[0] != "0" {
		t.Errorf("%s of its lines are stored", n[0])
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	if _, err := s.Accept(t.Context(), run(group, 200)); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// TestAFullDiskStopsBeforeTheSend: what cannot be recorded must not be sent, so
// Open has to fail, and leave the lines as they were.
func TestAFullDiskStopsBeforeTheSend(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := openAt(t, path, WithPragma("max_page_count", "250"))
	id := submit(t, s, "pay", 5000/25)
	fill(t, s)
	tenure := claimed(t, s)
	o := first(id, tenure.Epoch, 1)
	o.Attempt.RequestKey = strings.Repeat("k", 1<<20) // more than the pages that are left
	if err := s.Open(t.Context(), o); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("open: %v", err)
	}
	open, err := s.OpenAttempts(t.Context(), id)
	if err != nil || len(open) != 0 {
		t.Errorf("open attempts: %v, %v", open, err)
	}
	tokens, err := s.Work(t.Context(), tenure)
	if err != nil || tokens[0].NextOrdinal != 1 || tokens[0].Counts[payroll.InFlight] != 0 {
		t.Errorf("token: %+v, %v", tokens[0], err)
	}
}
