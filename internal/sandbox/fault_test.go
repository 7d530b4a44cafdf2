package sandbox

import (
	"math"
	"strings"
	"testing"
)

func TestParseFault(t *testing.T) {
	for name, want := range map[string]Fault{
		"reset":               {Kind: KindReset, Stage: AfterCommit},
		"reset-before-commit": {Kind: KindReset, Stage: BeforeCommit},
		"close-after-headers": {Kind: KindCloseAfterHeaders, Stage: AfterCommit},
		"503":                 {Kind: KindStatus, Status: 503, Stage: BeforeCommit},
		"503-no-hint":         {Kind: KindStatus, Status: 503, NoHint: true, Stage: BeforeCommit},
		"429-no-hint-after-commit": {
			Kind: KindStatus, Status: 429, NoHint: true, Stage: AfterCommit,
		},
		"500-after-commit": {Kind: KindStatus, Status: 500, Stage: AfterCommit},
		"409":              {Kind: KindStatus, Status: 409, Stage: AfterCommit},
		"303":              {Kind: KindStatus, Status: 303, Stage: BeforeCommit},
	} {
		got, err := ParseFault(name)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestParseFaultRefuses(t *testing.T) {
	for _, name := range []string{
		"", "nonsense", "reset-no-hint", "500-no-hint", "199", "600", "-503", "truncate-before-commit", "missing",
		"reset-before-commit-before-commit", "status",
	} {
		if f, err := ParseFault(name); err == nil {
			t.Errorf("%q became %+v", name, f)
		}
	}
	for _, name := range []string{"200", "201-before-commit", "reset", "99", "doubled-before-commit"} {
		if f, err := ParseItemFault(name); err == nil {
			t.Errorf("item fault %q became %+v", name, f)
		}
	}
}

func TestEveryFaultReadsBackFromItsName(t *testing.T) {
	for kind, info := range kinds {
		for _, stage := range info.stages {
			f := Fault{Kind: kind, Stage: stage}
			if got, err := parseFault(f.String(), info.reach); err != nil || got != f {
				t.Errorf("%s: %+v, %v", f, got, err)
			}
		}
		if _, sent := spoilers[kind]; info.reach == requestFault && !sent && kind != KindSlow {
			t.Errorf("%s is never sent", kind)
		}
	}
}

func TestFaultRatesReadBack(t *testing.T) {
	const text = "503-before-commit=0.05,reset-after-commit=1"
	rates, err := ParseFaultRates(" 503=0.05, reset=1,")
	if err != nil || rates.String() != text {
		t.Fatalf("%s, %v", rates, err)
	}
	for _, bad := range []string{"503", "503=", "503=2", "503=-1", "503=NaN", "=1", "missing=1"} {
		if _, err := ParseFaultRates(bad); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}

func TestParseMagic(t *testing.T) {
	for id, want := range map[string]struct {
		fault string
		wire  bool
		times int
	}{
		"0100001":                            {"", false, 0},
		"sandboxed":                          {"", false, 0},
		"sandbox.422":                        {"422-before-commit", false, math.MaxInt},
		"sandbox.422.alice":                  {"422-before-commit", false, math.MaxInt},
		"sandbox.503x2":                      {"503-before-commit", false, 2},
		"sandbox.503x2.b.c d":                {"503-before-commit", false, 2},
		"sandbox.429x1":                      {"429-before-commit", false, 1},
		"sandbox.429-no-hint":                {"429-no-hint-before-commit", false, math.MaxInt},
		"sandbox.500-after-commit":           {"500-after-commit", false, 1},
		"sandbox.409":                        {"409-after-commit", false, 1},
		"sandbox.missing":                    {"missing-after-commit", false, 1},
		"sandbox.doubledxall":                {"doubled-after-commit", false, math.MaxInt},
		"sandbox.timeout-after-commit":       {"timeout-after-commit", true, 1},
		"sandbox.timeout-after-commitx3.bob": {"timeout-after-commit", true, 3},
		"sandbox.reset-before-commit":        {"reset-before-commit", true, 1},
		"sandbox.truncate":                   {"truncate-after-commit", true, 1},
		"sandbox.slow":                       {"slow-after-commit", true, 1},
	} {
		m, err := parseMagic(id)
		if err != nil || m.fault.String() != want.fault || m.wire != want.wire || m.times != want.times {
			t.Errorf("%s: %+v, %v", id, m, err)
		}
	}
	for _, id := range []string{"sandbox.", "sandbox.mistyped", "sandbox.200", "sandbox.503x0", "sandbox.503x1000", "sandbox.503y", "sandbox. 503"} {
		if m, err := parseMagic(id); err == nil {
			t.Errorf("%s became %+v", id, m)
		}
	}
}

func TestTenantOfKey(t *testing.T) {
	const hex = "a149ded2a3a16f34392f2d68"
	for _, c := range []struct{ key, period, tenant string }{
		{"pl_42_2024Q1_" + hex, "2024Q1", "42"},
		{"pl_a_b_2024_Q1_" + hex, "2024_Q1", "a_b"},
		{"pl_42_2024Q1_" + hex + ".2", "2024Q1", "42"},
		{"pl_42_2024Q1_" + hex, "2024Q2", ""},
		{"pl_42_2024Q1_" + strings.ToUpper(hex), "2024Q1", ""},
		{"k", "2024Q1", ""},
	} {
		if got := tenantOf(c.key, c.period); got != c.tenant {
			t.Errorf("%s: %q", c.key, got)
		}
	}
	if got := withoutGeneration("pl_42_p_" + hex + ".12"); got != "pl_42_p_"+hex {
		t.Error(got)
	}
	if got := withoutGeneration("other.2"); got != "other.2" {
		t.Error(got)
	}
}

func TestMinorUnits(t *testing.T) {
	for _, c := range []struct{ amount, currency, want string }{
		{"47223.31", "USD", "4722331"},
		{"0.10", "USD", "10"},
		{"-0.02", "EUR", "-2"},
		{"1000", "JPY", "1000"},
		{"1.234", "KWD", "1234"},
		{"0.001", "USD", "0.1"},
	} {
		amount, err := parseAmount(c.amount)
		if got := minorUnits(amount, c.currency); err != nil || got != c.want {
			t.Errorf("%s %s: %s, %v", c.amount, c.currency, got, err)
		}
	}
}
