package postgres_test

import (
	"errors"
	"testing"
	"time"

	"payrollgateway/internal/pgtest"
	"payrollgateway/internal/store"
	"payrollgateway/internal/store/postgres"
)

func TestASecondReplicaIsRefused(t *testing.T) {
	t.Parallel()
	at := pgtest.URL(t)
	first := openAt(t, at, postgres.WithSingleReplica())
	if _, err := postgres.Open(t.Context(), at, postgres.WithSingleReplica()); !errors.Is(err, store.ErrSecondReplica) {
		t.Fatalf("second replica: %v", err)
	}
	beside := openAt(t, at) // a reader, or many replicas that coordinate
	if err := beside.LockSingle(t.Context()); !errors.Is(err, store.ErrSecondReplica) {
		t.Fatalf("second lock: %v", err)
	}
	if err := first.LockSingle(t.Context()); err != nil {
		t.Fatalf("the lock that is ours: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lock is free after its holder has closed", func() bool { return beside.LockSingle(t.Context()) == nil })
}

func TestALostSessionLockIsReported(t *testing.T) {
	t.Parallel()
	at := pgtest.URL(t)
	s := openAt(t, at, postgres.WithSingleReplica())
	select {
	case <-s.Lost():
		t.Fatal("lost at once")
	default:
	}
	execute(t, at, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
	select {
	case <-s.Lost():
	case <-time.After(patience):
		t.Fatal("the lock is gone and nobody was told")
	}
	if openAt(t, at).Lost() != nil {
		t.Error("a store without the lock can lose it")
	}
}
