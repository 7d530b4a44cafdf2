package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"payrollgateway/internal/store"
)

// SQLSTATEs that decide about something.
const (
	codeExpect    = "PG409" // payroll_expect of our schema
	codeDeadlock  = "40P01"
	codeSerialise = "40001"
	codeUnique    = "23505"
	codeCheck     = "23514"
	codeReadOnly  = "25006"
)

// outages are the classes of codes that say that the server is not there, or
// cannot take the write: connection, resources, operator, system.
var outages = []string{"08", "53", "57", "58"}

// translate spells the driver's errors in the contract's words; others pass.
// Values never get into an error: a server's DETAIL is left out by the driver.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnavailable):
		return err
	case errors.Is(err, pgx.ErrNoRows):
		return store.ErrNotFound
	case outage(err):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	default:
		return err
	}
}

func outage(err error) bool {
	if code := stateOf(err); code != "" {
		return outageCode(code)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.Is(err, errLost), errors.As(err, &connect), errors.As(err, &network), pgconn.SafeToRetry(err):
		return true
	default:
		return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
	}
}

func outageCode(code string) bool {
	if code == codeReadOnly {
		return true
	}
	for _, class := range outages {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// refused reports whether the server itself said no, so that nothing was
// written; or that nothing was ever sent. A server that is being stopped may
// say so instead of answering a commit that took effect.
func refused(err error) bool {
	code := stateOf(err)
	switch {
	case errors.Is(err, pgx.ErrTxCommitRollback), pgconn.SafeToRetry(err):
		return true
	default:
		return code != "" && !strings.HasPrefix(code, "57") && !strings.HasPrefix(code, "08")
	}
}

// collided reports whether the transaction lost against another one and may
// simply run again.
func collided(err error) bool {
	code := stateOf(err)
	return code == codeDeadlock || code == codeSerialise
}

// stateOf returns the SQLSTATE of an error of the server; "" = none.
func stateOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
