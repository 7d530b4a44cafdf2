package sqlite

import (
	"context"
	"database/sql"
	"io"

	"github.com/google/uuid"
)

// tx is the transaction under way on the connection that writes.
type tx struct {
	w      *writer
	random io.Reader
	// proof tells from what is stored whether this transaction took effect;
	// nil = it cannot be told, or repeating it does no harm.
	proof func(context.Context) (bool, error)
}

// querier is what reads need: the writing transaction or a reading one.
type querier interface {
	rows(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	row(ctx context.Context, text string, args ...any) scanner
}

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// failed is a row that could not be asked for.
type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

func (t *tx) rows(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	stmt, err := t.w.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (t *tx) row(ctx context.Context, text string, args ...any) scanner {
	stmt, err := t.w.stmt(ctx, text)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(ctx, args...)
}

func (t *tx) exec(ctx context.Context, text string, args ...any) error {
	_, err := t.count(ctx, text, args...)
	return err
}

// count executes and returns how many rows changed.
func (t *tx) count(ctx context.Context, text string, args ...any) (int64, error) {
	stmt, err := t.w.stmt(ctx, text)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// id makes a new id, ordered by time of making.
func (t *tx) id() (uuid.UUID, error) { return uuid.NewV7FromReader(t.random) }

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, scan func(scanner) (T, error), text string, args ...any) (all []T, err error) {
	err = each(ctx, q, func(row scanner) error {
		item, err := scan(row)
		all = append(all, item)
		return err
	}, text, args...)
	return all, err
}

// each calls visit with every row of a query.
func each(ctx context.Context, q querier, visit func(scanner) error, text string, args ...any) (err error) {
	rows, err := q.rows(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() {
		if closing := rows.Close(); err == nil {
			err = closing
		}
	}()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// exists reports whether a query has a row.
func exists(ctx context.Context, q querier, text string, args ...any) (yes bool, err error) {
	err = q.row(ctx, "SELECT EXISTS ("+text+")", args...).Scan(&yes)
	return yes, err
}
