package pgtest

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestEachTestHasItsOwnEmptyDatabase(t *testing.T) {
	t.Parallel()
	first, second := connect(t, URL(t)), connect(t, URL(t))
	for _, conn := range []*pgx.Conn{first, second} {
		if _, err := conn.Exec(t.Context(), "CREATE TABLE same_name (id int)"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDatabaseIsDroppedThoughAConnectionIsLeftOpen(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("owner", func(t *testing.T) {
		url = URL(t)
		connectAndForget(t, url)
	})
	if _, err := pgx.Connect(t.Context(), url); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Fatalf("connecting after the test: %v, want a database that does not exist", err)
	}
}

func connectAndForget(t *testing.T, url string) {
	t.Helper()
	if _, err := pgx.Connect(t.Context(), url); err != nil {
		t.Fatal(err)
	}
}

// fatalTB stands in for a test that is expected to fail.
type fatalTB struct {
	testing.TB
	said string
}

func (f *fatalTB) Helper() {}

func (f *fatalTB) Fatalf(format string, _ ...any) {
	f.said = format
	runtime.Goexit()
}

func TestWithoutAServerTheTestFailsWithARemedy(t *testing.T) {
	for name, value := range map[string]string{"unset": "", "no URL": "host=localhost dbname=x"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(Variable, value)
			tb := &fatalTB{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				URL(tb)
			}()
			<-done
			if tb.said == "" {
				t.Fatal("the test went on without a server")
			}
		})
	}
}
