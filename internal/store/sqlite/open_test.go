package sqlite

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"payrollgateway/internal/store"
)

func TestSettingsThatLoseCommitsAreRefused(t *testing.T) {
	t.Parallel()
	for _, p := range [][2]string{
		{"synchronous", "NORMAL"},
		{"synchronous", "OFF"},
		{"journal_mode", "MEMORY"},
		{"journal_mode", "OFF"},
		{"foreign_keys", "0"},
		{"ignore_check_constraints", "1"},
	} {
		s, err := Open(t.Context(), newPath(t), WithPragma(p[0], p[1]))
		if !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s = %s: %v", p[0], p[1], err)
		}
		if err == nil {
			s.Close()
		}
	}
	openAt(t, newPath(t), WithPragma("synchronous", "EXTRA"))
}

func TestWhatIsStoredIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	s := openAt(t, path)
	id := submit(t, s, "run", 300)
	tenure := claimed(t, s)
	if err := s.Open(t.Context(), first(id, tenure.Epoch, 250)); err != nil {
		t.Fatal(err)
	}
	before, err := s.Work(t.Context(), tenure)
	if err != nil || s.Close() != nil {
		t.Fatal(err)
	}

	s = openAt(t, path)
	after, err := s.Work(t.Context(), tenure)
	if err != nil || len(after) != 1 || after[0].Version != before[0].Version || after[0].Counts != before[0].Counts {
		t.Fatalf("after reopening: %+v, %v; before: %+v", after, err, before)
	}
	open, err := s.OpenAttempts(t.Context(), id)
	if err != nil || len(open) != 1 || len(open[0].Ordinals) != 250 {
		t.Errorf("open attempts: %v, %v", open, err)
	}
}

// TestTheFileIsItsOwnersAlone: it tells who is paid what, and lies where its
// operator puts it, not always in a directory that is closed to others.
func TestTheFileIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	submit(t, openAt(t, path), "run", 1)
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestManyOpenAtOnce: goose has no lock for SQLite; of several migrations at
// once one used to fail with "table exists".
func TestManyOpenAtOnce(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			s, err := Open(context.Background(), path)
			if err == nil {
				err = errors.Join(s.Ping(context.Background()), s.Close())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	s := openAt(t, newPath(t))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("write: %v", err)
	}
	if _, err := s.Gates(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
}

func TestAWaitForATurnEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := openAt(t, newPath(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := s.write(t.Context(), "held", func(context.Context, *tx) error {
		waiting := make(chan error, 1)
		go func() { waiting <- s.Ping(ctx) }()
		cancel()
		if err := <-waiting; !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("wait ended with %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAPanicLeavesNoTransactionBehind: the connection would refuse every later
// write.
func TestAPanicLeavesNoTransactionBehind(t *testing.T) {
	t.Parallel()
	s := openAt(t, newPath(t))
	func() {
		defer func() { _ = recover() }()
		_ = s.write(t.Context(), "panics", func(context.Context, *tx) error { panic("a decision") })
	}()
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
