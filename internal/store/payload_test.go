package store

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"payrollgateway/internal/payroll"
)

func TestPayloadIsTheRowAsJSON(t *testing.T) {
	l := payroll.Line{
		EmployeeID: `00"7`, Version: 2, Ref: "bonus", Amount: 183050, Currency: "USD",
		Details:  payroll.Details{payroll.LiteralDetail("hours", "80.50"), payroll.TextDetail("team", "Küche <1>")},
		Metadata: []byte(`{"name":"x"}`),
	}
	b, cut := Payload(l)
	want := `{"employee_id":"00\"7","line_version":2,"line_ref":"bonus","gross_pay":"1830.50","currency":"USD",` +
		`"details":{"hours":80.50,"team":"Küche <1>"},"metadata":{"name":"x"}}`
	if string(b) != want || cut {
		t.Errorf("got %s (cut %v)\nwant %s", b, cut, want)
	}
}

func TestPayloadOfABareLineIsValidJSON(t *testing.T) {
	b, _ := Payload(payroll.Line{EmployeeID: "1", Version: 1, Amount: 5, Currency: "JPY"})
	if !json.Valid(b) || strings.Contains(string(b), "details") || strings.Contains(string(b), "line_ref") {
		t.Errorf("got %s", b)
	}
}

func TestPayloadIsBounded(t *testing.T) {
	l := payroll.Line{EmployeeID: "1", Version: 1, Currency: "USD", Metadata: []byte(`{"n":"` + strings.Repeat("x", payroll.MaxPayload) + `"}`)}
	if b, cut := Payload(l); len(b) != payroll.MaxPayload || !cut {
		t.Errorf("%d bytes, cut %v", len(b), cut)
	}
}

func TestDetailsReadAsTheyWereWritten(t *testing.T) {
	for _, d := range []payroll.Details{
		nil,
		{payroll.TextDetail("a", "")},
		{payroll.TextDetail("a", "x\"\\\n\u2028é"), payroll.LiteralDetail("b", "1830"), payroll.LiteralDetail("c", "true"), payroll.LiteralDetail("d", "9007199254740993")},
	} {
		got, err := DecodeDetails(EncodeDetails(d))
		if err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("%v came back as %v, %v", d, got, err)
		}
	}
}

func TestDamagedDetailsAreAnErrorWithoutTheirBytes(t *testing.T) {
	for _, b := range []string{`x`, `[1]`, `{"a"`, `{"a":"secret`, `{"a":secret}`} {
		if _, err := DecodeDetails([]byte(b)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", b, err)
		}
	}
}
