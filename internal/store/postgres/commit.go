package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/store"
)

// Transactions that met another one are run again, this often in all. Locks are
// taken in one order, so this is a net and no mechanism.
const tries = 5

// How long the fate of a commit whose answer was lost is asked for, and how often.
const (
	fateWithin = 10 * time.Second
	fateEvery  = 20 * time.Millisecond
)

// errLost marks a write whose answer did not come: it may have taken effect.
var errLost = errors.New("the answer to a write was lost")

// faults lets tests lose commits and their answers.
type faults struct {
	mu   sync.Mutex
	hook func(op string) (applied bool, err error)
}

// InjectCommitFault has hook asked before each commit, with the name of the
// method that commits. An error makes the connection look lost: applied says
// whether the commit took effect all the same. nil ends it. Test support: the
// gateway itself never calls this.
func (s *Store) InjectCommitFault(hook func(op string) (applied bool, err error)) {
	s.fault.mu.Lock()
	defer s.fault.mu.Unlock()
	s.fault.hook = hook
}

func (f *faults) ask(op string) (applied bool, err error) {
	f.mu.Lock()
	hook := f.hook
	f.mu.Unlock()
	if hook == nil {
		return true, nil
	}
	return hook(op)
}

// write runs fn in a transaction and commits it, or leaves no trace. fn may run
// several times. op is the method's name.
func (s *Store) write(ctx context.Context, op string, fn func(pgx.Tx) error) error {
	var err error
	for range tries {
		if err = s.writeOnce(ctx, op, fn); !collided(err) {
			break
		}
	}
	return translate(err)
}

func (s *Store) writeOnce(ctx context.Context, op string, fn func(pgx.Tx) error) error {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	if err := fn(tx); err != nil {
		return err
	}
	var number *string // nil: nothing was written
	if err := tx.QueryRow(ctx, "SELECT pg_current_xact_id_if_assigned()::text").Scan(&number); err != nil {
		return err
	}
	err = s.commit(ctx, op, tx)
	if errors.Is(err, errLost) && number != nil {
		return s.fateOf(ctx, *number, err)
	}
	return err
}

// commit fails with errLost where nobody knows whether it took effect.
func (s *Store) commit(ctx context.Context, op string, tx pgx.Tx) error {
	applied, fault := s.fault.ask(op)
	if !applied {
		rollback(ctx, tx)
		return fmt.Errorf("%w: %w", errLost, fault)
	}
	err := tx.Commit(ctx)
	if err == nil {
		err = fault
	}
	if err != nil && !refused(err) {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}

func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fateWithin)
	defer cancel()
	_ = tx.Rollback(ctx) // an open transaction on a broken connection ends with it
}

// fateOf asks the server what became of a transaction. It has a deadline of its
// own: a caller that gave up is told what is true all the same.
func (s *Store) fateOf(ctx context.Context, number string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fateWithin)
	defer cancel()
	ticker := time.NewTicker(fateEvery)
	defer ticker.Stop()
	for {
		var status string
		err := s.pool.QueryRow(ctx, "SELECT coalesce(pg_xact_status($1::text::xid8), 'forgotten')", number).Scan(&status)
		switch {
		case err == nil && status == "committed":
			return nil
		case err == nil && status == "aborted":
			return fmt.Errorf("%w: nothing was written: %w", store.ErrUnavailable, cause)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", store.ErrUnavailable, cause)
		case <-ticker.C:
		}
	}
}

// statement runs a write of one statement, which is its own transaction. errLost:
// it may have taken effect, and what it leaves behind must be read.
func (s *Store) statement(ctx context.Context, op string, run func(context.Context) error) error {
	applied, fault := s.fault.ask(op)
	if !applied {
		return fmt.Errorf("%w: %w", errLost, fault)
	}
	err := run(ctx)
	switch {
	case err == nil && fault == nil:
		return nil
	case err == nil:
		return fmt.Errorf("%w: %w", errLost, fault)
	case refused(err):
		return translate(err)
	default:
		return fmt.Errorf("%w: %w", errLost, err)
	}
}

// afterwards is a context for reading what a lost write left behind.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), fateWithin)
}
