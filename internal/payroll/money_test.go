package payroll_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"payrollgateway/internal/payroll"
)

func TestParseAmountReads(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text, currency string
		want           payroll.Minor
		format         string
	}{
		{"0", "USD", 0, "0.00"},
		{"-0", "USD", 0, "0.00"},
		{"0.00", "USD", 0, "0.00"},
		{"-0.00", "USD", 0, "0.00"},
		{"1830", "USD", 183000, "1830.00"},
		{"1830.5", "USD", 183050, "1830.50"},
		{"119042.5", "USD", 11904250, "119042.50"},
		{"1830.50", "USD", 183050, "1830.50"},
		{"1830.500000000000000000", "USD", 183050, "1830.50"},
		{"0.01", "USD", 1, "0.01"},
		{"-0.02", "USD", -2, "-0.02"},
		{"-12.30", "USD", -1230, "-12.30"},
		{"0.010", "USD", 1, "0.01"},
		{"1830", "JPY", 1830, "1830"},
		{"1830.000", "JPY", 1830, "1830"},
		{"1.234", "KWD", 1234, "1.234"},
		{"1.2340", "KWD", 1234, "1.234"},
		{"1.2345", "CLF", 12345, "1.2345"},
		{"999999999999999", "JPY", 999999999999999, "999999999999999"},
		{"999999999999999.99", "USD", 99999999999999999, "999999999999999.99"},
		{"922337203685477.5807", "CLF", math.MaxInt64, "922337203685477.5807"},
		{"-922337203685477.5808", "CLF", math.MinInt64, "-922337203685477.5808"},
		{"9007199254740993", "JPY", 0, ""}, // 16 digits
		{"90071992547409.93", "USD", 9007199254740993, "90071992547409.93"},
	}
	for _, tt := range tests {
		got, err := payroll.ParseAmount("gross_pay", tt.text, tt.currency)
		if tt.format == "" {
			if err == nil {
				t.Errorf("ParseAmount(%q, %s) = %d, want a fault", tt.text, tt.currency, got)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("ParseAmount(%q, %s) = %d, %v, want %d", tt.text, tt.currency, got, err, tt.want)
		}
		if f := got.Format(tt.currency); f != tt.format {
			t.Errorf("Format of %q %s = %q, want %q", tt.text, tt.currency, f, tt.format)
		}
	}
}

func TestParseAmountRefusesWhatIsOutsideTheGrammar(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", " ", "+1", "+0", "--1", "-", ".", "-.", ".5", "5.", "-.5", "1.", "01", "00", "-01", "00.5", "007",
		"1e3", "1E3", "1e-2", "1.5e1", "0x10", "0b1", "0o7", "1_000", "1,000", "1,5", "1 000", " 1", "1 ", "1\n", "\n1", "1\x00", "1\r\n",
		"NaN", "Inf", "-Inf", "Infinity", "null", "true", "1.2.3", "1-", "(1)", "$1", "1$", "1%", "\u00a01", "\u0661", "\uff11", "\u22121",
		"1000000000000000", "0.1234567890123456789", strings.Repeat("9", 400), "0." + strings.Repeat("0", 400),
	}
	for _, text := range texts {
		got, err := payroll.ParseAmount("gross_pay", text, "USD")
		var fault payroll.Fault
		if !errors.As(err, &fault) || fault.Field != "gross_pay" {
			t.Errorf("ParseAmount(%q) = %d, %v, want a fault of gross_pay", text, got, err)
		}
	}
}

// TestHugeExponentIsRefusedBeforeConversion guards shopspring/decimal#427: a
// short text that means a huge number burned processor time and memory.
func TestHugeExponentIsRefusedBeforeConversion(t *testing.T) { // counts allocations: not parallel
	for _, text := range []string{"1e1000000000", "1E1000000000", "1e-1000000000", "-1e2147483647", "0e999999999", "1e99999999999999999999"} {
		allocations := testing.AllocsPerRun(1, func() {
			if _, err := payroll.ParseAmount("gross_pay", text, "USD"); err == nil {
				t.Errorf("%q is read as an amount", text)
			}
		})
		if allocations > 20 {
			t.Errorf("refusing %q took %v allocations: it was converted first", text, allocations)
		}
	}
}

func TestParseAmountFaultsNeverEchoTheValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"98765.4321x", "98765.4321", "9876543210987654321", "1e98765"} {
		_, err := payroll.ParseAmount("gross_pay", text, "USD")
		if err == nil || strings.Contains(err.Error(), "9876") {
			t.Errorf("fault of %q: %v", text, err)
		}
	}
}

func TestParseAmountFaultsOnDigitsBeyondTheCurrency(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, currency string }{
		{"0.001", "USD"},
		{"1830.505", "USD"},
		{"1830.500000000000000001", "USD"},
		{"0.1", "JPY"},
		{"-0.01", "JPY"},
		{"1.2345", "KWD"},
		{"1.00001", "CLF"},
	} {
		if got, err := payroll.ParseAmount("gross_pay", tt.text, tt.currency); err == nil {
			t.Errorf("ParseAmount(%q, %s) = %d: rounded in silence", tt.text, tt.currency, got)
		}
	}
}

func TestParseAmountFitsSixtyFourBits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"922337203685477.5808", "-922337203685477.5809", "999999999999999", "-999999999999999"} {
		if got, err := payroll.ParseAmount("gross_pay", text, "CLF"); err == nil {
			t.Errorf("ParseAmount(%q, CLF) = %d: wrapped around", text, got)
		}
	}
}

func TestParseAmountNamesTheCurrency(t *testing.T) {
	t.Parallel()
	for _, currency := range []string{"", "usd", "Usd", "US", "USDX", "XXX", "XAU", "XTS", "USD ", "ZZZ"} {
		_, err := payroll.ParseAmount("gross_pay", "1", currency)
		var fault payroll.Fault
		if !errors.As(err, &fault) || fault.Field != "currency" {
			t.Errorf("ParseAmount in %q: %v, want a fault of currency", currency, err)
		}
	}
}

func TestMinorDigitsFollowISO4217(t *testing.T) {
	t.Parallel()
	want := map[int32]string{
		0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
		3: "BHD IQD JOD KWD LYD OMR TND",
		4: "CLF UYW",
		2: "USD EUR GBP CHF CAD AUD NZD SEK NOK DKK PLN CZK HUF RON INR CNY HKD SGD MXN BRL ZAR AED SAR MGA MRU TRY UAH XCD USN CHE CHW",
	}
	for digits, codes := range want {
		for _, code := range strings.Fields(codes) {
			if got, ok := payroll.MinorDigits(code); !ok || got != digits {
				t.Errorf("MinorDigits(%s) = %d, %v, want %d", code, got, ok, digits)
			}
		}
	}
}

func TestFormatReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		currency := rapid.SampledFrom([]string{"JPY", "USD", "KWD", "CLF"}).Draw(t, "currency")
		amount := payroll.Minor(rapid.Int64Range(-99999999999999999, 99999999999999999).Draw(t, "amount"))
		digits, _ := payroll.MinorDigits(currency)
		text := amount.Format(currency)
		got, err := payroll.ParseAmount("gross_pay", text, currency)
		if tooLong := len(strings.Split(strings.TrimPrefix(text, "-"), ".")[0]) > 15; tooLong {
			return
		}
		if err != nil || got != amount {
			t.Fatalf("%d %s formats as %q and reads back as %d, %v", amount, currency, text, got, err)
		}
		if digits > 0 && len(text)-strings.IndexByte(text, '.')-1 != int(digits) {
			t.Fatalf("%q has not exactly %d digits", text, digits)
		}
	})
}

func TestAddCheckedNeverWraps(t *testing.T) {
	t.Parallel()
	edges := []int64{0, 1, -1, 2, -2, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 62, -(1 << 62)}
	check := func(a, b int64) bool {
		sum, ok := payroll.AddChecked(payroll.Minor(a), payroll.Minor(b))
		exact := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		return ok == exact.IsInt64() && (!ok || int64(sum) == exact.Int64())
	}
	for _, a := range edges {
		for _, b := range edges {
			if !check(a, b) {
				t.Errorf("AddChecked(%d, %d) is wrong", a, b)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b"); !check(a, b) {
			t.Fatalf("AddChecked(%d, %d) is wrong", a, b)
		}
	})
}

func TestCapIncludesItsEnds(t *testing.T) {
	t.Parallel()
	narrow := payroll.Cap{Min: decimal.RequireFromString("-5"), Max: decimal.RequireFromString("10.5")}
	tests := []struct {
		limits       payroll.Cap
		amount, unit string
		allowed      bool
	}{
		{payroll.DefaultCap(), "0.01", "USD", true},
		{payroll.DefaultCap(), "0", "USD", false},
		{payroll.DefaultCap(), "-0.02", "USD", false},
		{payroll.DefaultCap(), "250000", "USD", true},
		{payroll.DefaultCap(), "250000.01", "USD", false},
		{payroll.DefaultCap(), "1", "JPY", true},
		{payroll.DefaultCap(), "250000", "JPY", true},
		{payroll.DefaultCap(), "250001", "JPY", false},
		{payroll.DefaultCap(), "0.009", "KWD", false},
		{payroll.DefaultCap(), "0.010", "KWD", true},
		{payroll.DefaultCap(), "-922337203685477.5808", "CLF", false},
		{narrow, "-5", "USD", true},
		{narrow, "-5.01", "USD", false},
		{narrow, "10.5", "USD", true},
		{narrow, "10.51", "USD", false},
	}
	for _, tt := range tests {
		amount, err := payroll.ParseAmount("gross_pay", tt.amount, tt.unit)
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.limits.Allows(amount, tt.unit); got != tt.allowed {
			t.Errorf("%s %s allowed = %v, want %v", tt.amount, tt.unit, got, tt.allowed)
		}
	}
	if payroll.DefaultCap().Allows(100, "XXX") {
		t.Error("an unknown currency is within the cap")
	}
}

// FuzzParseAmount compares with exact rational arithmetic, written another way.
func FuzzParseAmount(f *testing.F) {
	for _, text := range []string{"0", "-0.02", "1830.50", "1e1000000000", "999999999999999.999999999999999999", "01", "", "922337203685477.5807"} {
		f.Add(text, "USD")
		f.Add(text, "CLF")
	}
	f.Fuzz(func(t *testing.T, text, currency string) {
		got, err := payroll.ParseAmount("gross_pay", text, currency)
		if err != nil {
			return
		}
		digits, ok := payroll.MinorDigits(currency)
		if !ok || strings.Trim(text, "-.0123456789") != "" {
			t.Fatalf("ParseAmount(%q, %q) = %d", text, currency, got)
		}
		exact, ok := new(big.Rat).SetString(text)
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
		if !ok || exact.Mul(exact, new(big.Rat).SetInt(scale)).Cmp(new(big.Rat).SetInt64(int64(got))) != 0 {
			t.Fatalf("ParseAmount(%q, %q) = %d", text, currency, got)
		}
	})
}
