package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"payrollgateway/internal/store"
)

// reading is a transaction that reads: all its queries see one moment.
type reading struct{ tx *sql.Tx }

func (r reading) rows(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return r.tx.QueryContext(ctx, text, args...)
}

func (r reading) row(ctx context.Context, text string, args ...any) scanner {
	return r.tx.QueryRowContext(ctx, text, args...)
}

// read runs do on one moment of the store. It never waits for the writer.
func read[T any](ctx context.Context, s *Store, do func(querier) (T, error)) (value T, err error) {
	t, err := s.reads.BeginTx(ctx, nil)
	if err != nil {
		return value, readError(ctx, err)
	}
	defer func() {
		if ending := t.Rollback(); err == nil && ending != nil {
			err = readError(ctx, ending)
		}
	}()
	value, err = do(reading{t})
	return value, readError(ctx, err)
}

// readError: a read that its context ended says so; one that found the store
// closed says that it is unavailable.
func readError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err.Error() == "sql: database is closed":
		return errors.Join(store.ErrUnavailable, err)
	default:
		return unavailable(found(err))
	}
}
