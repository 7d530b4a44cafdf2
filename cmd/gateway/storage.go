package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"payrollgateway/internal/store"
	"payrollgateway/internal/store/postgres"
	"payrollgateway/internal/store/sqlite"
)

// storage is the open store and what keeps other processes away from it.
type storage struct {
	store.Store
	lost <-chan struct{} // closed when the process may not be alone any more; nil = cannot happen
	lock *flock.Flock
}

// openStorage opens the configured store, migrated, for this process alone: an
// embedded one by a lock on its directory, Postgres by a session lock.
func openStorage(ctx context.Context, c Config) (*storage, error) {
	path, embedded := c.sqlitePath()
	if !embedded {
		p, err := postgres.Open(ctx, c.Store)
		if err != nil {
			return nil, err
		}
		if err := p.LockSingle(ctx); err != nil {
			return nil, errors.Join(err, p.Close())
		}
		return &storage{Store: p, lost: p.Lost()}, nil
	}
	lock, err := lockDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return &storage{Store: s, lock: lock}, nil
}

// lockDir makes a data directory and locks it for the life of the process.
func lockDir(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "gateway.lock"))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if !held {
		return nil, fmt.Errorf("another gateway works in %s: stop it, or give this one a store of its own", dir)
	}
	return lock, nil
}

func (s *storage) Close() error {
	err := s.Store.Close()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Unlock())
	}
	return err
}

// checkStore looks for what would keep the store from being opened, without
// making or migrating anything. Whether another gateway uses it is no fault.
func checkStore(ctx context.Context, c Config) error {
	path, embedded := c.sqlitePath()
	if !embedded {
		return postgres.Check(ctx, c.Store)
	}
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // it is made
	case err != nil:
		return fmt.Errorf("store: %w", err)
	case !info.IsDir():
		return fmt.Errorf("store: %s is no directory", dir)
	}
	return nil
}
