package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/pgtest"
	"payrollgateway/internal/store"
	"payrollgateway/internal/store/postgres"
	"payrollgateway/internal/store/storetest"
)

// patience bounds what a test waits for on its server.
const patience = time.Minute

func TestPostgresKeepsWhatAStorePromises(t *testing.T) {
	empty := &databases{t: t}
	storetest.Run(t, func(t *testing.T) store.Store { return openAt(t, empty.lend(t)) })
}

// open opens a store on an empty database of the test's own.
func open(t *testing.T, opts ...postgres.Option) *postgres.Store {
	t.Helper()
	return openAt(t, pgtest.URL(t), opts...)
}

func openAt(t *testing.T, url string, opts ...postgres.Option) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// databases are lent to the cases of a suite, one after another: to empty one
// takes less time than to make one.
type databases struct {
	t    *testing.T // they are dropped at its end
	mu   sync.Mutex
	free []string
}

func (d *databases) lend(t *testing.T) string {
	t.Helper()
	at := d.take()
	t.Cleanup(func() {
		execute(t, at, `DO $$ BEGIN EXECUTE (SELECT 'TRUNCATE ' || string_agg(quote_ident(tablename), ', ') || ' RESTART IDENTITY'
			FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version'); END $$`)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.free = append(d.free, at)
	})
	return at
}

func (d *databases) take() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.free); n > 0 {
		at := d.free[n-1]
		d.free = d.free[:n-1]
		return at
	}
	at := pgtest.URL(d.t)
	openAt(d.t, at) // migrates it
	return at
}

// execute runs statements on a connection of their own, also after the test's
// context is over.
func execute(t *testing.T, url string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
}
