package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/pgtest"
	"payrollgateway/internal/store"
	"payrollgateway/internal/store/postgres"
)

func TestKeyVectorsInSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	openAt(t, url)
	conn := connect(t, url)
	text, err := os.ReadFile("../../../testdata/keyvectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Lines []struct {
			Tenant    string  `json:"tenant_id"`
			PayPeriod string  `json:"pay_period_id"`
			Employee  string  `json:"employee_id"`
			Version   int32   `json:"line_version"`
			Ref       *string `json:"line_ref"`
			Canonical string  `json:"canonical"`
			Key       string  `json:"key"`
		} `json:"lines"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors.Lines) == 0 {
		t.Fatalf("%d vectors, %v", len(vectors.Lines), err)
	}
	for _, v := range vectors.Lines {
		if got := query[string](t, conn, "SELECT payroll_canonical($1, $2, $3, $4, $5)", v.Tenant, v.PayPeriod, v.Employee, v.Version, v.Ref); got != v.Canonical {
			t.Errorf("canonical = %s, want %s", got, v.Canonical)
		}
		if got := query[string](t, conn, "SELECT payroll_line_key($1, $2, $3, $4, $5)", v.Tenant, v.PayPeriod, v.Employee, v.Version, v.Ref); got != v.Key {
			t.Errorf("key = %s, want %s", got, v.Key)
		}
		n := payroll.Natural{Tenant: v.Tenant, PayPeriod: v.PayPeriod, Employee: v.Employee}
		if v.Ref != nil {
			n.Ref = *v.Ref
		}
		want := n.AnyVersion()
		if got := query[[]byte](t, conn, "SELECT payroll_natural_digest($1, $2, $3, $4)", v.Tenant, v.PayPeriod, v.Employee, v.Ref); string(got) != string(want[:]) {
			t.Errorf("what all versions of %s share = %x, want %x", v.Key, got, want)
		}
	}
}

// All printable characters, for a key that two encoders spell differently is a
// payment made twice.
func TestEveryPrintableCharacterHashesAlikeInSQL(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	openAt(t, url)
	conn := connect(t, url)
	for c := byte(0x20); c <= 0x7e; c++ {
		n := payroll.Natural{Tenant: "acme", PayPeriod: "2026-03", Employee: "a" + string(rune(c)) + "z", Version: 7, Ref: "bonus"}
		if got := query[string](t, conn, "SELECT payroll_line_key($1, $2, $3, $4, $5)", n.Tenant, n.PayPeriod, n.Employee, n.Version, n.Ref); got != n.Key() {
			t.Errorf("employee %q: %s in SQL, %s in Go", n.Employee, got, n.Key())
		}
	}
}

func TestWhereALineStandsIsOneRule(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	openAt(t, url)
	conn := connect(t, url)
	states := append([]payroll.State{0}, payroll.States...)
	null := func(n int32) *int32 {
		if n == 0 {
			return nil
		}
		return &n
	}
	for _, cancelled := range []int32{0, 1, 5, 9} {
		for _, live := range []bool{true, false} {
			for _, ordinal := range []int32{1, 4, 5, 8} {
				for _, trouble := range states {
					for _, outcome := range states {
						want := store.StateOf(store.Token{NextOrdinal: 5, CancelledFrom: cancelled}, live, ordinal, trouble, outcome)
						got := query[int16](t, conn, "SELECT payroll_line_state(5, $1, $2, $3, $4::int4::int2, $5::int4::int2)",
							null(cancelled), live, ordinal, null(int32(trouble)), null(int32(outcome)))
						if payroll.State(got) != want {
							t.Errorf("cancelled from %d, live %t, line %d, trouble %v, outcome %v: %v in SQL, %v in Go",
								cancelled, live, ordinal, trouble, outcome, payroll.State(got), want)
						}
					}
				}
			}
		}
	}
}

func TestSettingsThatLoseCommitsAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"synchronous_commit", "fsync", "full_page_writes"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := pgtest.URL(t)
			// What a session reads of the server's settings, as if the server had it off.
			execute(t, at, "CREATE SCHEMA shadow", fmt.Sprintf(`CREATE VIEW shadow.pg_settings AS
				SELECT name, CASE WHEN name = '%s' THEN 'off' ELSE setting END AS setting FROM pg_catalog.pg_settings`, name))
			refused(t, withParameter(t, at, "search_path", "shadow,pg_catalog,public"), name)
		})
	}
	t.Run("of a connection", func(t *testing.T) {
		t.Parallel()
		refused(t, withParameter(t, pgtest.URL(t), "synchronous_commit", "off"), "synchronous_commit")
	})
}

func refused(t *testing.T, at, setting string) {
	t.Helper()
	s, err := postgres.Open(t.Context(), at)
	var refusal *postgres.SettingError
	if err == nil {
		_ = s.Close()
	}
	if !errors.As(err, &refusal) || refusal.Name != setting {
		t.Fatalf("opened with %s off: %v", setting, err)
	}
}

func withParameter(t *testing.T, at, name, value string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func TestTenProcessesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	at := pgtest.URL(t)
	var wg sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		wg.Go(func() {
			s, err := postgres.Open(t.Context(), at)
			if err == nil {
				err = errors.Join(s.Ping(t.Context()), s.Close())
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, at)
	if n := query[int](t, conn, "SELECT count(*) FROM goose_db_version WHERE version_id = 1"); n != 1 {
		t.Errorf("the first migration ran %d times", n)
	}
}

func TestAURLThatCannotBeReadDoesNotShowItsPassword(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), "postgres://gateway:hunter2@[::1:5432/db")
	if err == nil || containsAny(err.Error(), "hunter2") {
		t.Fatalf("error = %v", err)
	}
}
