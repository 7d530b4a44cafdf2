package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"payrollgateway/internal/store"
)

// writer is the one connection that writes, and the queue before it.
type writer struct {
	turn   chan struct{} // holds one token: who has it, has the connection
	closed chan struct{}
	db     *sql.DB
	conn   *sql.Conn
	stmts  map[string]prepared // by text; the texts are those of this package, so they are few
}

// prepared is a statement that is kept for the next time, until the writer closes.
type prepared struct{ *sql.Stmt }

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	w := &writer{turn: make(chan struct{}, 1), closed: make(chan struct{}), db: db, conn: conn, stmts: map[string]prepared{}}
	w.turn <- struct{}{}
	return w, nil
}

// enter waits for the connection; leave gives it back.
func (w *writer) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return waited(ctx)
	}
	select {
	case <-w.turn:
		return nil
	case <-w.closed:
		return fmt.Errorf("%w: closed", store.ErrUnavailable)
	case <-ctx.Done():
		return waited(ctx)
	}
}

func (w *writer) leave() { w.turn <- struct{}{} }

// close waits for the write under way. A second close does nothing.
func (w *writer) close(ctx context.Context) error {
	if err := w.enter(ctx); err != nil {
		return nil //nolint:nilerr // closed already: nothing is left to do
	}
	close(w.closed)
	var errs []error
	for _, stmt := range w.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.db.Close())...)
}

func (w *writer) stmt(ctx context.Context, text string) (prepared, error) {
	if p, known := w.stmts[text]; known {
		return p, nil
	}
	stmt, err := w.conn.PrepareContext(ctx, text)
	if err != nil {
		return prepared{}, fmt.Errorf("prepare: %w", err)
	}
	w.stmts[text] = prepared{stmt}
	return w.stmts[text], nil
}

// write runs do in a transaction of its own. An error rolls everything back.
// Waiting for the turn ends with ctx; the transaction itself is not torn off in
// the middle. Where the commit's answer is lost, the store is read again.
func (s *Store) write(ctx context.Context, op string, do func(context.Context, *tx) error) error {
	if err := s.writer.enter(ctx); err != nil {
		return err
	}
	defer s.writer.leave()
	ctx = context.WithoutCancel(ctx)
	t := &tx{w: s.writer, random: s.random}
	return t.run(ctx, do, func() error { return s.commit(ctx, op, t) })
}

// run is the transaction itself. It ends with it, also where do panics.
func (t *tx) run(ctx context.Context, do func(context.Context, *tx) error, commit func() error) error {
	if err := t.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return unavailable(err)
	}
	open := true
	end := func() {
		if open {
			_ = t.exec(ctx, "ROLLBACK") // SQLite has ended some itself (disk full): then it says so here
		}
		open = false
	}
	defer end()
	if err := do(ctx, t); err != nil {
		return unavailable(err)
	}
	err := commit()
	if err == nil {
		open = false
		return nil
	}
	end()
	return t.reread(ctx, err)
}

func (s *Store) commit(ctx context.Context, op string, t *tx) error {
	hook := s.fault.Load()
	if hook == nil {
		return t.exec(ctx, "COMMIT")
	}
	applied, fault := (*hook)(op)
	if fault != nil && !applied {
		return fault
	}
	return errors.Join(fault, t.exec(ctx, "COMMIT"))
}

// reread finds out whether a commit without an answer took effect. Nobody else
// has written meanwhile: the turn is still ours.
func (t *tx) reread(ctx context.Context, lost error) error {
	if t.proof != nil {
		if took, err := t.proof(ctx); err == nil && took {
			return nil
		}
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, lost)
}
