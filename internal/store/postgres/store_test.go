package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"sync/atomic"
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
	fresh := template(t)
	storetest.Run(t, func(t *testing.T) store.Store { return openAt(t, fresh(t)) })
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

// template migrates one database and gives each caller a copy of it: a case of
// the suite takes less time than the migrations before it.
func template(t *testing.T) func(*testing.T) string {
	t.Helper()
	of := pgtest.URL(t)
	s, err := postgres.Open(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(of)
	if err != nil {
		t.Fatal(err)
	}
	var copies atomic.Int32
	return func(t *testing.T) string {
		t.Helper()
		source := u.Path[1:]
		copied := *u
		copied.Path = fmt.Sprintf("/%s_%d", source, copies.Add(1))
		admin := *u
		admin.Path = "/postgres"
		execute(t, admin.String(), fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", copied.Path[1:], source))
		t.Cleanup(func() { execute(t, admin.String(), fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", copied.Path[1:])) })
		return copied.String()
	}
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
