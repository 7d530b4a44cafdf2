// Package pgtest gives a test a PostgreSQL database of its own.
//
// A database and not a schema: advisory locks, which keep migrations and second
// replicas apart, belong to a database, so tests that run side by side cannot
// meet in them. The package starts no server (scripts/with-postgres.sh does) and
// knows nothing of the gateway's tables; whoever wants them migrates the
// database. Only tests import it.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Variable names the server: a URL (postgres://...) of a role that may create
// databases. There is no default, so that no test writes to a server by accident.
const Variable = "TEST_POSTGRES_URL"

// patience bounds each statement on the server: making a database takes tens of
// milliseconds, and seconds on a disk that is busy with other tests.
const patience = time.Minute

// URL makes an empty database for the test and returns its URL. At the test's
// end the database is dropped, together with the connections still open on it.
// Without a server the test fails; it is never skipped.
func URL(tb testing.TB) string {
	tb.Helper()
	u := server(tb)
	admin, name := u.String(), freshName()
	exec(tb, admin, "CREATE DATABASE "+name)
	tb.Cleanup(func() { exec(tb, admin, "DROP DATABASE "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	return u.String()
}

func server(tb testing.TB) *url.URL {
	tb.Helper()
	text := os.Getenv(Variable)
	if text == "" {
		tb.Fatalf("%s is not set: run `scripts/with-postgres.sh go test ./...`, which starts a private server, "+
			"or set it to the URL of a server on which tests may create databases", Variable)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		tb.Fatalf("%s is not a URL of the form postgres://user:password@host:port/database", Variable)
	}
	return u
}

// freshName needs no quoting in SQL and meets no other test's, also not on a
// server that several machines share.
func freshName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return "gateway_test_" + hex.EncodeToString(b[:])
}

// exec runs one statement on a connection of its own. It has its own deadline,
// for the test's context is over when cleanups run.
func exec(tb testing.TB, url, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		tb.Fatalf("connecting to the server of %s: %v", Variable, err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}
