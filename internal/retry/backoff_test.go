package retry_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// TestCeilingForAnyRetry guards jpillora/backoff#11 (an overflow from attempt
// 33 on meant no delay at all) and heimdall#82, failsafe-go#23 (the first
// backoff was 0, or it never grew).
func TestCeilingForAnyRetry(t *testing.T) {
	t.Parallel()
	budgets := map[string]retry.Budget{
		"seed":          {Base: 2 * time.Second, Cap: 2 * time.Minute},
		"nanosecond":    {Base: 1, Cap: math.MaxInt64},
		"odd base":      {Base: 7, Cap: math.MaxInt64 - 1},
		"base = cap":    {Base: time.Minute, Cap: time.Minute},
		"base > cap":    {Base: time.Hour, Cap: time.Minute},
		"huge base":     {Base: math.MaxInt64, Cap: math.MaxInt64},
		"half of it":    {Base: math.MaxInt64/2 + 1, Cap: math.MaxInt64},
		"cap 1":         {Base: 1, Cap: 1},
		"cap near base": {Base: 10, Cap: 19},
	}
	for class, b := range retry.DefaultBudgets() {
		budgets["default "+string(rune('0'+class))] = b
	}
	for name, b := range budgets {
		before := time.Duration(0)
		for n := range 10_001 {
			got := b.Ceiling(n)
			if got <= 0 || got > b.Cap || got < before {
				t.Fatalf("%s: Ceiling(%d) = %d after %d, cap %d", name, n, got, before, b.Cap)
			}
			if want := exact(b, n); got != want {
				t.Fatalf("%s: Ceiling(%d) = %d, want %d", name, n, got, want)
			}
			before = got
		}
		if before != b.Cap {
			t.Errorf("%s: the ceiling never reaches the cap: %d", name, before)
		}
	}
}

// exact is min(cap, base·2^n) in numbers without a limit.
func exact(b retry.Budget, n int) time.Duration {
	doubled := new(big.Int).Lsh(big.NewInt(int64(b.Base)), uint(n))
	if doubled.Cmp(big.NewInt(int64(b.Cap))) >= 0 {
		return b.Cap
	}
	return time.Duration(doubled.Int64())
}

// TestJitterStaysInItsBoundsAndIsNotConstant: 1,000 draws of retry 5 lie in
// [0, min(cap, base·2^5)], fill that range, and differ.
func TestJitterStaysInItsBoundsAndIsNotConstant(t *testing.T) {
	t.Parallel()
	b := retry.Budget{Base: 2 * time.Second, Cap: 2 * time.Minute}
	rng := rand.New(rand.NewPCG(1, 2)).Float64
	seen := map[time.Duration]bool{}
	low, high := b.Cap, time.Duration(0)
	for range 1000 {
		w := b.Wait(5, 0, rng)
		seen[w] = true
		low, high = min(low, w), max(high, w)
	}
	if ceiling := 64 * time.Second; low < 0 || high > ceiling || low > ceiling/20 || high < ceiling*19/20 {
		t.Errorf("1,000 draws lie in [%v, %v], want them spread over [0, %v]", low, high, ceiling)
	}
	if len(seen) < 900 {
		t.Errorf("1,000 draws have %d values: the jitter is a fixed delay in disguise", len(seen))
	}
}

// TestHintsAreNeverEarly guards dotnet/extensions#7001: retries before
// Retry-After. The cap bounds our backoff, never a hint.
func TestHintsAreNeverEarly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := retry.Budget{Base: 2 * time.Second, Cap: 2 * time.Minute}
		n := rapid.IntRange(0, 100).Draw(t, "n")
		hint := time.Duration(rapid.Int64Min(1).Draw(t, "hint"))
		u := rapid.Float64Range(0, 0.999999).Draw(t, "u")
		w := b.Wait(n, hint, func() float64 { return u })
		if w < hint {
			t.Fatalf("hint %v, wait %v", hint, w)
		}
		if most := max(float64(b.Ceiling(n)), float64(hint)*1.1); float64(w) > most*1.000001 {
			t.Fatalf("hint %v, wait %v: more than a tenth above it and above our own ceiling", hint, w)
		}
	})
}

func TestHintIsSpreadAboveItself(t *testing.T) {
	t.Parallel()
	b := retry.Budget{Base: time.Second, Cap: time.Second}
	rng := rand.New(rand.NewPCG(3, 4)).Float64
	low, high := 2*time.Hour, time.Duration(0)
	for range 1000 {
		w := b.Wait(0, time.Hour, rng)
		low, high = min(low, w), max(high, w)
	}
	if low < time.Hour || low > time.Hour+time.Minute || high > time.Hour+6*time.Minute || high < time.Hour+5*time.Minute {
		t.Errorf("a hint of an hour gives waits in [%v, %v]", low, high)
	}
}

func TestDefaultBudgets(t *testing.T) {
	t.Parallel()
	want := map[payroll.RetryClass]retry.Budget{
		payroll.ClassNetwork:     {MaxRetries: 6, Base: 2 * time.Second, Cap: 2 * time.Minute},
		payroll.ClassVendorError: {MaxRetries: 6, Base: 2 * time.Second, Cap: 2 * time.Minute},
		payroll.ClassRateLimited: {MaxRetries: 20, Base: 2 * time.Second, Cap: 5 * time.Minute},
		payroll.ClassNotYet:      {MaxRetries: 4, Base: 15 * time.Minute, Cap: 6 * time.Hour},
	}
	for class, b := range want {
		if got := retry.DefaultBudgets()[class]; got != b {
			t.Errorf("class %d: %+v, want %+v", class, got, b)
		}
	}
	for class, b := range retry.DefaultBudgets() {
		if b.MaxRetries <= 0 || b.Base <= 0 || b.Cap < b.Base {
			t.Errorf("class %d has no usable budget: %+v", class, b)
		}
	}
}
