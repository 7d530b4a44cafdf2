package postgres_test

import (
	"testing"

	"payrollgateway/internal/pgtest"
	"payrollgateway/internal/store"
	"payrollgateway/internal/store/postgres"
	"payrollgateway/internal/store/storetest"
)

func open(t *testing.T, opts ...postgres.Option) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), pgtest.URL(t), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestPostgresKeepsWhatAStorePromises(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t) })
}
