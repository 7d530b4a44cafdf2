package e2e

import (
	"path/filepath"
	"testing"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/pgtest"
	"payrollgateway/internal/store"
	"payrollgateway/internal/store/postgres"
	"payrollgateway/internal/store/sqlite"
)

// backend is a kind of store.
type backend struct {
	name string
	open func(t *testing.T) store.Store
}

var backends = []backend{
	{"sqlite", func(t *testing.T) store.Store {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "gateway.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}},
	{"postgres", func(t *testing.T) store.Store {
		s, err := postgres.Open(t.Context(), pgtest.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}},
}

// eachWorld runs a test on every kind of vendor and both stores.
func eachWorld(t *testing.T, f func(w *world)) {
	for _, b := range backends {
		for _, k := range kinds {
			t.Run(b.name+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				f(newWorld(t, k, b))
			})
		}
	}
}

// misfits are employees at whom the vendor misbehaves in every way that an
// answer can lie or get lost.
var misfits = []string{
	"sandbox.503x1.a", "sandbox.503x2.b", "sandbox.422.c", "sandbox.500-after-commit.d", "sandbox.reset-after-commit.e",
	"sandbox.timeout-after-commit.f", "sandbox.truncate.g", "sandbox.missing.h", "sandbox.doubled.i", "sandbox.429x1.j",
}

func TestPayRun(t *testing.T) {
	t.Parallel()
	eachWorld(t, func(w *world) {
		w.submit(40, misfits...)
		w.work("", 0)
		w.judge()
	})
}

// points are where a process may die, from the plan to the last commit.
var points = []string{
	"before_attempt_commit", "after_attempt_commit", "before_write", "after_answer", "before_results_commit", "after_results_commit",
}

func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			eachWorld(t, func(w *world) {
				w.submit(40, misfits...)
				if !w.work(point, 3) {
					w.Fatalf("the point %s was not reached three times", point)
				}
				w.work("", 0)
				report := w.judge()
				if w.kind.name == "honours_keys" && report.Count() == 0 {
					w.noneParked()
				}
			})
		})
	}
}

// noneParked: a vendor that remembers keys leaves nothing for a person.
func (w *world) noneParked() {
	w.Helper()
	for l := range w.ledger() {
		if l.ReasonCode == payroll.OutcomeUnknown.String() {
			w.Errorf("a line was parked at a vendor that remembers its key")
		}
	}
}
