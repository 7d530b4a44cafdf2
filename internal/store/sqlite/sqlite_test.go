package sqlite_test

import (
	"path/filepath"
	"testing"

	"payrollgateway/internal/store"
	"payrollgateway/internal/store/sqlite"
	"payrollgateway/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		return open(t, filepath.Join(t.TempDir(), "ledger.db"))
	})
}

func open(t *testing.T, path string, opts ...sqlite.Option) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, opts...)
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
