package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
	"payrollgateway/internal/store"
)

// world is what a case acts in: an empty store, a clock that only the case
// moves, a vendor's policy, and the batches accepted so far, all of which are
// recounted after every step.
type world struct {
	store   store.Store
	now     time.Time
	policy  retry.Policy
	batches []*batch
	groups  int
	owners  int
}

// fixture is the world seen by one tenant, in one pay period, at one vendor.
// Its verbs fail the test on any error; those whose name begins with try return it.
type fixture struct {
	*testing.T
	*world
	unit payroll.Unit
}

// lockTTL is after how long a silent owner counts as gone.
const lockTTL = 15 * time.Second

func newFixture(t *testing.T, s store.Store) *fixture {
	t.Helper()
	w := &world{store: s, policy: keyedVendor(), now: time.Date(2026, 3, 27, 9, 0, 0, 0, time.UTC)}
	return &fixture{T: t, world: w, unit: payroll.Unit{Tenant: "acme", PayPeriod: "2026-03", Vendor: "paywell"}}
}

// keyedVendor remembers keys for a day and cannot be looked up.
func keyedVendor() retry.Policy {
	return retry.Policy{
		Budgets: retry.DefaultBudgets(), Timeout: 30 * time.Second, Settle: time.Minute,
		Keys: retry.KeyLine, Retention: 24 * time.Hour, Conflict: retry.ConflictDone,
	}
}

// after moves the clock on.
func (f *fixture) after(d time.Duration) { f.now = f.now.Add(d) }

func (f *fixture) decider() retry.Decider {
	return retry.Decider{Policy: f.policy, Now: f.now, Rand: func() float64 { return 0.5 }}
}

// at is the same world seen from another unit.
func (f *fixture) at(u payroll.Unit) *fixture {
	return &fixture{T: f.T, world: f.world, unit: u}
}

// elsewhere is the same tenant and pay period at another vendor.
func (f *fixture) elsewhere() *fixture {
	return f.at(payroll.Unit{Tenant: f.unit.Tenant, PayPeriod: f.unit.PayPeriod, Vendor: "otherpay"})
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatalf("unexpected error: %v", err)
	}
}

// mustBe fails unless err is target.
func (f *fixture) mustBe(err, target error) {
	f.Helper()
	if !errors.Is(err, target) {
		f.Fatalf("error = %v, want %v", err, target)
	}
}

// mustEqual compares values; times as instants, nil and empty slices alike.
func (f *fixture) mustEqual(what string, got, want any) {
	f.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		f.Fatalf("%s differs (-want +got):\n%s", what, d)
	}
}

// same fails where a and b differ, and says what is being compared.
func same[V comparable](f *fixture, what string, got, want V) {
	f.Helper()
	if got != want {
		f.Fatalf("%s = %v, want %v", what, got, want)
	}
}

func mustAs[E error](f *fixture, err error) E {
	f.Helper()
	var target E
	if !errors.As(err, &target) {
		f.Fatalf("error = %v, want a %T", err, target)
	}
	return target
}

// read calls a reader that gives a value.
func read[V any](f *fixture) func(V, error) V {
	f.Helper()
	return func(v V, err error) V {
		f.Helper()
		f.must(err)
		return v
	}
}

// pages walks a keyset list to its end, limit items at a time.
func pages[V any](f *fixture, limit int, list func(context.Context, store.Page) ([]V, string, error)) (all []V) {
	f.Helper()
	p := store.Page{Limit: limit}
	for range 1 << 20 {
		items, next, err := list(f.Context(), p)
		f.must(err)
		if len(items) > limit {
			f.Fatalf("a page of %d has %d items", limit, len(items))
		}
		all = append(all, items...)
		if next == "" {
			return all
		}
		if len(items) == 0 {
			f.Fatalf("an empty page names a next one")
		}
		p.After = next
	}
	f.Fatalf("the list does not end")
	return nil
}

// snapshot is all that a reader can see of the fixture's batches, to show that
// a refused write changed nothing.
func (f *fixture) snapshot() []any {
	f.Helper()
	var all []any
	for _, b := range f.batches {
		all = append(all, b.token(), b.lines(0), b.openAttempts(), b.fullLetters())
	}
	return all
}

// unchanged runs a step that must leave everything as it was.
func (f *fixture) unchanged(what string, step func()) {
	f.Helper()
	before := f.snapshot()
	step()
	f.mustEqual("the store after "+what, f.snapshot(), before)
	f.mustAddUp()
}

func (f *fixture) nextOwner() string {
	f.owners++
	return fmt.Sprintf("worker-%d", f.owners)
}
