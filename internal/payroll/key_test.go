package payroll_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payrollgateway/internal/payroll"
)

func TestParseLineKeyTakesEveryKeyApart(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t, keyVectors).Lines {
		n := payroll.Natural{Tenant: v.Tenant, PayPeriod: v.PayPeriod, Employee: v.Employee, Version: v.Version, Ref: v.Ref}
		period, d, ok := payroll.ParseLineKey(v.Tenant, v.Key)
		if !ok || period != v.PayPeriod || d != n.Digest() {
			t.Errorf("ParseLineKey(%q, %q) = %q, %x, %v", v.Tenant, v.Key, period, d, ok)
		}
	}
}

// TestParseLineKeyIsUnambiguousGivenTheTenant guards the underscores: tenant
// "a", period "b_c" and tenant "a_b", period "c" begin alike, and each tenant
// reads the text in its own way only.
func TestParseLineKeyIsUnambiguousGivenTheTenant(t *testing.T) {
	t.Parallel()
	identifiers := rapid.StringMatching(`[a_.-]{1,6}`)
	rapid.Check(t, func(t *rapid.T) {
		n := payroll.Natural{
			Tenant: identifiers.Draw(t, "tenant"), PayPeriod: identifiers.Draw(t, "period"),
			Employee: rapid.StringMatching(`[!-~]{1,8}`).Draw(t, "employee"), Version: rapid.Int32Min(1).Draw(t, "version"),
		}
		period, d, ok := payroll.ParseLineKey(n.Tenant, n.Key())
		if !ok || period != n.PayPeriod || d != n.Digest() {
			t.Fatalf("ParseLineKey(%q, %q) = %q, %v", n.Tenant, n.Key(), period, ok)
		}
		other := identifiers.Draw(t, "other tenant")
		if read, sameDigest, ok := payroll.ParseLineKey(other, n.Key()); ok {
			m := n
			m.Tenant, m.PayPeriod = other, read
			if other != n.Tenant && m.Digest() == sameDigest {
				t.Fatalf("tenants %q and %q share the key %q", n.Tenant, other, n.Key())
			}
		}
	})
}

func TestParseLineKeyRefuses(t *testing.T) {
	t.Parallel()
	const digest = "a149ded2a3a16f34392f2d68"
	tests := map[string]string{
		"empty":              "",
		"prefix alone":       "pl_42_",
		"no period":          "pl_42__" + digest,
		"no period, one _":   "pl_42_" + digest,
		"other tenant":       "pl_43_2024Q1_" + digest,
		"tenant longer":      "pl_421_2024Q1_" + digest,
		"capital hex":        "pl_42_2024Q1_" + strings.ToUpper(digest),
		"one digit less":     "pl_42_2024Q1_" + digest[1:],
		"one digit more":     "pl_42_2024Q1_" + digest + "0",
		"not hex":            "pl_42_2024Q1_" + digest[:23] + "g",
		"generation suffix":  "pl_42_2024Q1_" + digest + ".2",
		"space in period":    "pl_42_2024 Q1_" + digest,
		"slash in period":    "pl_42_2024/Q1_" + digest,
		"period too long":    "pl_42_" + strings.Repeat("p", 65) + "_" + digest,
		"other separator":    "pl_42_2024Q1-" + digest,
		"batch key":          "batch_2024Q1_60b5db4dba4b1ca221c2",
		"newline at the end": "pl_42_2024Q1_" + digest[:23] + "\n",
	}
	for name, key := range tests {
		if _, _, ok := payroll.ParseLineKey("42", key); ok {
			t.Errorf("%s: %q is taken for a line key", name, key)
		}
	}
}

func TestWireKeyShowsGenerationsFromTheSecondOn(t *testing.T) {
	t.Parallel()
	for generation, want := range map[int]string{0: "k", 1: "k", 2: "k.2", 3: "k.3", 12: "k.12"} {
		if got := payroll.WireKey("k", generation); got != want {
			t.Errorf("WireKey(%d) = %q, want %q", generation, got, want)
		}
	}
}

func TestRequestKeyDependsOnLinesAndOrder(t *testing.T) {
	t.Parallel()
	key := payroll.RequestKey([]string{"a", "b"})
	if want := "rq_7e18f737311b2dc3b2f269dd78396b03"; key != want {
		t.Errorf("RequestKey = %q, want %q", key, want)
	}
	if key != payroll.RequestKey([]string{"a", "b"}) {
		t.Error("the same lines in the same order have two keys")
	}
	for _, other := range [][]string{{"b", "a"}, {"ab"}, {"a"}, {"a", "b", ""}, {"a", "b.2"}} {
		if payroll.RequestKey(other) == key {
			t.Errorf("%q share the key of a, b", other)
		}
	}
}
