package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/store"
)

// singleLock is the key of the session lock of the only replica: "payroll" in
// ASCII. It is no number that goose uses for migrations.
const singleLock int64 = 0x706179726f6c6c

// How often a silent connection is asked whether it lives, and how long it has
// to answer.
const (
	aliveEvery  = 5 * time.Second
	aliveWithin = 5 * time.Second
)

// single holds the session lock on a connection of its own for as long as the
// process lives: a lock on a pooled connection would come and go.
type single struct {
	conn *pgx.Conn
	stop context.CancelFunc
	lost chan struct{}
	done chan struct{}
}

// LockSingle takes the session lock by which a second replica is refused
// (store.ErrSecondReplica). It is held until Close; Lost says if it ends before.
func (s *Store) LockSingle(ctx context.Context) error {
	if s.only != nil {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return translate(err)
	}
	var got bool
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", singleLock).Scan(&got)
	if err == nil && !got {
		err = store.ErrSecondReplica
	}
	if err != nil {
		_ = conn.Close(ctx)
		return translate(err)
	}
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.only = &single{conn: conn, stop: stop, lost: make(chan struct{}), done: make(chan struct{})}
	go s.only.watch(watch)
	return nil
}

// Lost is closed when the connection that holds the session lock is gone: from
// then on another replica may have started, so the caller stops working. Without
// LockSingle it is nil and never closed.
func (s *Store) Lost() <-chan struct{} {
	if s.only == nil {
		return nil
	}
	return s.only.lost
}

// watch ends with the connection or with close.
func (l *single) watch(ctx context.Context) {
	defer close(l.done)
	for {
		err := l.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			close(l.lost)
			return
		}
	}
}

// listen waits for the connection to break, for as long as a silent one is
// trusted, and then asks.
func (l *single) listen(ctx context.Context) error {
	quiet, cancel := context.WithTimeout(ctx, aliveEvery)
	defer cancel()
	if _, err := l.conn.WaitForNotification(quiet); err != nil && !errors.Is(quiet.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("wait: %w", err)
	}
	ask, cancelAsk := context.WithTimeout(ctx, aliveWithin)
	defer cancelAsk()
	return l.conn.Ping(ask)
}

func (l *single) close() {
	l.stop()
	<-l.done
	ctx, cancel := context.WithTimeout(context.Background(), aliveWithin)
	defer cancel()
	_ = l.conn.Close(ctx) // the server drops the lock with the session
}
