package postgres

import (
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// stamp is a time as a column has it: NULL for the zero time, microseconds, UTC.
type stamp time.Time

// ScanTimestamptz reads a column.
func (s *stamp) ScanTimestamptz(v pgtype.Timestamptz) error {
	if !v.Valid {
		*s = stamp{}
		return nil
	}
	*s = stamp(v.Time.UTC())
	return nil
}

// TimestamptzValue makes a parameter.
func (s stamp) TimestamptzValue() (pgtype.Timestamptz, error) {
	if time.Time(s).IsZero() {
		return pgtype.Timestamptz{}, nil
	}
	return pgtype.Timestamptz{Time: time.Time(s).Truncate(time.Microsecond), Valid: true}, nil
}

// fixed reads a bytea of known length into an array's slice.
type fixed struct{ into []byte }

var errLength = errors.New("a stored key or hash has another length")

// ScanBytes reads a column; NULL leaves the array as it is.
func (f *fixed) ScanBytes(v []byte) error {
	if v != nil && len(v) != len(f.into) {
		return errLength
	}
	copy(f.into, v)
	return nil
}

// details reads a line's details.
type details struct{ into *payroll.Details }

// ScanBytes reads a column.
func (d *details) ScanBytes(v []byte) (err error) {
	*d.into, err = store.DecodeDetails(v)
	return err
}

// kept reads bytes of which none means nil.
type kept struct{ into *[]byte }

// ScanBytes reads a column.
func (k *kept) ScanBytes(v []byte) error {
	*k.into = nil
	if len(v) > 0 {
		*k.into = append([]byte(nil), v...)
	}
	return nil
}

// blob is a parameter for a column that is never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
