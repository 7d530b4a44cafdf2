package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"modernc.org/sqlite"

	"payrollgateway/internal/store"
)

// codes of SQLite (primary result codes) that say that the file cannot be used
// now: busy, locked, out of memory, read-only, interrupted, I/O error, corrupt,
// full, cannot open, protocol, not a database.
var outages = map[int]bool{5: true, 6: true, 7: true, 8: true, 9: true, 10: true, 11: true, 13: true, 14: true, 15: true, 26: true}

// unavailable translates an error of the driver: what says that the file
// cannot be used becomes store.ErrUnavailable, the rest stays as it is.
func unavailable(err error) error {
	var e *sqlite.Error
	switch {
	case err == nil, errors.Is(err, store.ErrUnavailable):
		return err
	case errors.As(err, &e) && outages[e.Code()&0xff],
		errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	default:
		return err
	}
}

// waited translates the end of a wait for a turn.
func waited(ctx context.Context) error {
	return fmt.Errorf("%w: no turn to write: %w", store.ErrUnavailable, context.Cause(ctx))
}

// found translates the absence of a row.
func found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}
