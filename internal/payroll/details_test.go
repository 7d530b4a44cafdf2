package payroll_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payrollgateway/internal/payroll"
)

func many(n int) (d payroll.Details) {
	for i := range n {
		d = append(d, payroll.LiteralDetail(fmt.Sprintf("n%d", i), "1"))
	}
	return d
}

func TestDetailsCheckAccepts(t *testing.T) {
	t.Parallel()
	tests := map[string]payroll.Details{
		"none":            nil,
		"sixty-four":      many(payroll.MaxDetails),
		"longest name":    {payroll.TextDetail(strings.Repeat("n", 64), "")},
		"every character": {payroll.TextDetail("AZaz09_.-", "x")},
		"longest value":   {payroll.TextDetail("v", strings.Repeat("v", payroll.MaxDetailValue))},
		"near ours":       {payroll.TextDetail("keys", ""), payroll.TextDetail("employee", ""), payroll.TextDetail("tenant", "")},
		"empty value":     {payroll.TextDetail("v", "")},
	}
	for name, d := range tests {
		if err := d.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDetailsCheckRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		details payroll.Details
		field   string
	}{
		"sixty-five":       {many(payroll.MaxDetails + 1), "details"},
		"empty name":       {payroll.Details{payroll.TextDetail("", "x")}, "details"},
		"long name":        {payroll.Details{payroll.TextDetail(strings.Repeat("n", 65), "x")}, "details"},
		"space in name":    {payroll.Details{payroll.TextDetail("a b", "x")}, "details"},
		"ours in capitals": {payroll.Details{payroll.TextDetail("Gross_Pay", "x")}, "details.Gross_Pay"},
		"newline in name":  {payroll.Details{payroll.TextDetail("a\n", "x")}, "details"},
		"umlaut in name":   {payroll.Details{payroll.TextDetail("ä", "x")}, "details"},
		"quote in name":    {payroll.Details{payroll.TextDetail(`a"`, "x")}, "details"},
		"twice":            {payroll.Details{payroll.TextDetail("b", "x"), payroll.TextDetail("a", "x"), payroll.TextDetail("b", "y")}, "details.b"},
		"value too long":   {payroll.Details{payroll.TextDetail("v", strings.Repeat("v", payroll.MaxDetailValue+1))}, "details.v"},
		"number too long":  {payroll.Details{payroll.LiteralDetail("v", strings.Repeat("9", payroll.MaxDetailValue+1))}, "details.v"},
		"value not UTF-8":  {payroll.Details{payroll.TextDetail("v", "\xff")}, "details.v"},
		"surrogate, UTF-8": {payroll.Details{payroll.TextDetail("v", "\xed\xa0\x80")}, "details.v"},
	}
	for _, ours := range []string{"key", "employee_id", "line_version", "line_ref", "gross_pay", "currency", "details", "metadata"} {
		tests["ours: "+ours] = struct {
			details payroll.Details
			field   string
		}{payroll.Details{payroll.TextDetail("a", "x"), payroll.TextDetail(ours, "x")}, "details." + ours}
	}
	for name, tt := range tests {
		var fault payroll.Fault
		if err := tt.details.Check(); !errors.As(err, &fault) || fault.Field != tt.field {
			t.Errorf("%s: %v, want a fault of %s", name, err, tt.field)
		}
	}
}

// TestOneDetailHashesByItsText guards JSON and CSV of one payment against being
// two payments: a CSV cell is always text.
func TestOneDetailHashesByItsText(t *testing.T) {
	t.Parallel()
	number := payroll.RequestHash("USD", 1, payroll.Details{payroll.LiteralDetail("hours", "1830")})
	text := payroll.RequestHash("USD", 1, payroll.Details{payroll.TextDetail("hours", "1830")})
	if number != text {
		t.Error(`1830 and "1830" hash differently`)
	}
	if other := payroll.RequestHash("USD", 1, payroll.Details{payroll.LiteralDetail("hours", "1830.0")}); other == number {
		t.Error("1830 and 1830.0 hash alike: detail texts are not numbers to us")
	}
}

func TestRequestHashDependsOnWhatIsPaidAlone(t *testing.T) {
	t.Parallel()
	d := payroll.Details{payroll.TextDetail("a", "1"), payroll.TextDetail("b", "2")}
	base := payroll.RequestHash("USD", 100, d)
	others := map[string]payroll.Hash{
		"amount":         payroll.RequestHash("USD", 101, d),
		"sign":           payroll.RequestHash("USD", -100, d),
		"currency":       payroll.RequestHash("EUR", 100, d),
		"no details":     payroll.RequestHash("USD", 100, nil),
		"other text":     payroll.RequestHash("USD", 100, payroll.Details{payroll.TextDetail("a", "1"), payroll.TextDetail("b", "3")}),
		"moved boundary": payroll.RequestHash("USD", 100, payroll.Details{payroll.TextDetail("a", `1","b":"2`)}),
	}
	for name, h := range others {
		if h == base {
			t.Errorf("%s: same hash", name)
		}
	}
	swapped := payroll.Details{d[1], d[0]}
	if err := swapped.Check(); err != nil {
		t.Fatal(err)
	}
	if payroll.RequestHash("USD", 100, swapped) != base {
		t.Error("the hash depends on the order of the details")
	}
}

func TestDetailsTravelAsTheyCame(t *testing.T) {
	t.Parallel()
	d := payroll.Details{payroll.TextDetail("a", `x"<&>`), payroll.LiteralDetail("b", "9007199254740993"), payroll.LiteralDetail("c", "true")}
	got := string(d.AppendMembers([]byte(`{"key":"k"`))) + "}"
	if want := `{"key":"k","a":"x\"<&>","b":9007199254740993,"c":true}`; got != want {
		t.Errorf("AppendMembers = %s, want %s", got, want)
	}
}

func TestQuoteJSONIsReadBackByAnyDecoder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		quoted := payroll.QuoteJSON(s)
		var back string
		if err := json.Unmarshal([]byte(quoted), &back); err != nil || back != s {
			t.Fatalf("QuoteJSON(%q) = %s, read back as %q, %v", s, quoted, back, err)
		}
	})
	for i := range 0x80 {
		s, back := string(rune(i)), ""
		if err := json.Unmarshal([]byte(payroll.QuoteJSON(s)), &back); err != nil || back != s {
			t.Errorf("QuoteJSON(%q) is read back as %q, %v", s, back, err)
		}
	}
}
