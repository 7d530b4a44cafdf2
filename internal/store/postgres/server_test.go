package postgres_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"payrollgateway/internal/store"
	"payrollgateway/internal/store/postgres"
)

// server starts a PostgreSQL of the test's own, for what is a matter of a whole
// server: how much it logs, and settings that would hold up other tests.
func server(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gateway-postgres-test.")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Cleanup(func() { _, _ = script(t, "stop", dir) })
	url, err := script(t, "start", dir)
	if err != nil {
		t.Fatalf("start a server: %v", err)
	}
	return url
}

func script(t *testing.T, verb, dir string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "../../../scripts/postgres.sh", verb, dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// maxWAL is what a clean line may cost the server's log, all in all.
const maxWAL = 900

func TestWALOfACleanLine(t *testing.T) {
	t.Parallel()
	at := server(t)
	s, conn := openAt(t, at), connect(t, at)
	const n = 10_000
	run := func(group string) int64 {
		sub := crew("2026-03-"+group, group, n)
		before := query[string](t, conn, "SELECT pg_current_wal_lsn()::text")
		k := accept(t, s, sub)
		dispatch(t, s, k, claim(t, s, sub, "worker").Epoch)
		if k := token(t, s, sub); !k.Complete() || k.LastCursor != n {
			t.Fatalf("not complete: %v, cursor %d", k.Counts, k.LastCursor)
		}
		return query[int64](t, conn, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), $1::text::pg_lsn)::int8", before)
	}
	run("warm") // the first touch of a page after a checkpoint logs all of it
	if got := run("measured") / n; got > maxWAL {
		t.Errorf("%d bytes of WAL a line, at most %d are permitted", got, maxWAL)
	} else {
		t.Logf("%d bytes of WAL a line", got)
	}
}

// held is a server on which a commit takes effect and is then not answered: it
// waits for a standby that does not exist.
func unanswered(t *testing.T) (*postgres.Store, *pgx.Conn) {
	t.Helper()
	at := server(t)
	s, conn := openAt(t, at), connect(t, at)
	return s, conn
}

func standby(t *testing.T, conn *pgx.Conn, name string) {
	t.Helper()
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '" + name + "'", "SELECT pg_reload_conf()"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the setting is read", func() bool {
		return query[string](t, conn, "SELECT current_setting('synchronous_standby_names')") == name
	})
}

// cutOff runs a write, waits until its commit has taken effect and nobody has
// been told, and ends the connection.
func cutOff(t *testing.T, conn *pgx.Conn, write func() error) error {
	t.Helper()
	standby(t, conn, "nobody")
	done := make(chan error, 1)
	go func() { done <- write() }()
	const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid <> pg_backend_pid()"
	eventually(t, "a commit waits for a standby", func() bool { return query[int](t, conn, "SELECT count(*) "+waiting) > 0 })
	query[bool](t, conn, "SELECT bool_and(pg_terminate_backend(pid)) "+waiting)
	standby(t, conn, "")
	return <-done
}

func TestACommitWhoseConnectionIsKilledIsReadAgain(t *testing.T) {
	t.Parallel()
	s, conn := unanswered(t)
	sub := crew("2026-03", "run-1", 300)
	if err := cutOff(t, conn, func() error { _, err := s.Accept(t.Context(), sub); return err }); err != nil {
		t.Fatalf("intake: %v", err)
	}
	k := token(t, s, sub)
	epoch := claim(t, s, sub, "worker").Epoch
	k.Epoch = epoch
	o, w := chunk(k, epoch, ordinals(1, 250))
	if err := cutOff(t, conn, func() error { return s.Open(t.Context(), o) }); err != nil {
		t.Fatalf("open: %v", err)
	}
	var applied store.Applied
	err := cutOff(t, conn, func() (err error) { applied, err = s.Apply(t.Context(), w); return err })
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	if now := token(t, s, sub); now.Version != applied.Token.Version || now.Counts.Of(5) != 250 {
		t.Errorf("token = %+v, told %+v", now, applied.Token)
	}
	err = cutOff(t, conn, func() error { _, err := s.Cancel(t.Context(), "acme", sub.Batch.Key(), "hr", now); return err })
	if err != nil || token(t, s, sub).State != store.CancelledBatch {
		t.Errorf("cancel: %v, %v", err, token(t, s, sub).State)
	}
}

func TestAConnectionKilledBeforeItsCommitWroteNothing(t *testing.T) {
	t.Parallel()
	s, conn := unanswered(t)
	s.InjectCommitFault(func(string) (bool, error) {
		query[bool](t, conn, "SELECT bool_and(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE state = 'idle in transaction'")
		return true, nil
	})
	sub := crew("2026-03", "run-1", 10)
	if _, err := s.Accept(t.Context(), sub); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("error = %v", err)
	}
	s.InjectCommitFault(nil)
	if n := query[int](t, conn, "SELECT count(*) FROM lines"); n != 0 {
		t.Fatalf("%d lines are there", n)
	}
	if k := accept(t, s, sub); k.Counts.Of(1) != 10 {
		t.Errorf("afterwards: %v", k.Counts)
	}
}

func ordinals(from, to int32) []int32 {
	all := make([]int32, 0, to-from+1)
	for o := from; o <= to; o++ {
		all = append(all, o)
	}
	return all
}
