package vendor

import (
	"fmt"
	"slices"
	"testing"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

func recordOf(l ChunkLine, change string) string {
	return fmt.Sprintf(`{"key":%q,"status":201,"gross_pay":%q,"employee_id":%q,"line_version":%d,"reference":"R1"%s}`,
		l.Key, l.Line.Amount.Format(l.Line.Currency), l.Line.EmployeeID, l.Line.Version, change)
}

func TestLookUpRecords(t *testing.T) {
	t.Parallel()
	l := lineNo(0) // 1830.50 USD, version 1
	record := func(key, status, pay, employee, version string) string {
		return fmt.Sprintf(`{"key":%s,"status":%s,"gross_pay":%s,"employee_id":%s,"line_version":%s}`, key, status, pay, employee, version)
	}
	key, employee := `"`+l.Key+`"`, `"`+l.Line.EmployeeID+`"`
	cases := []struct {
		name, body string
		want       payroll.Verdict
	}{
		{"paid", recordOf(l, ""), payroll.VerdictSettled},
		{"paid, with currency", recordOf(l, `,"currency":"USD"`), payroll.VerdictSettled},
		{"200", record(key, "200", `"1830.50"`, employee, "1"), payroll.VerdictSettled},
		{"204 as text", record(key, `"204"`, `"1830.50"`, employee, `"1"`), payroll.VerdictSettled},
		{"one digit", record(key, "201", `"1830.5"`, employee, "1"), payroll.VerdictSettled},
		{"more zeros", record(key, "201", `"1830.5000"`, employee, "1"), payroll.VerdictSettled},
		{"amount as number", record(key, "201", `1830.50`, employee, "1"), payroll.VerdictSettled},
		{"without employee", fmt.Sprintf(`{"key":%q,"status":201,"gross_pay":"1830.50","line_version":1}`, l.Key), payroll.VerdictSettled},
		{"a cent more", record(key, "201", `"1830.51"`, employee, "1"), payroll.VerdictMismatch},
		{"a fraction of a cent more", record(key, "201", `"1830.501"`, employee, "1"), payroll.VerdictMismatch},
		{"minor units", record(key, "201", `183050`, employee, "1"), payroll.VerdictMismatch},
		{"negative", record(key, "201", `"-1830.50"`, employee, "1"), payroll.VerdictMismatch},
		{"an exponent", record(key, "201", `1.8305e3`, employee, "1"), payroll.VerdictMismatch},
		{"shopspring/decimal#427: a huge exponent", record(key, "201", `1e1000000000`, employee, "1"), payroll.VerdictMismatch},
		{"another version", record(key, "201", `"1830.50"`, employee, "2"), payroll.VerdictMismatch},
		{"gjson#29: a version above 2^53", record(key, "201", `"1830.50"`, employee, "9007199254740993"), payroll.VerdictMismatch},
		{"a version that is no integer", record(key, "201", `"1830.50"`, employee, "1.0"), payroll.VerdictMismatch},
		{"another employee", record(key, "201", `"1830.50"`, `"EMP-9999"`, "1"), payroll.VerdictMismatch},
		{"another key", record(`"pl_t1_2026-01_ffffffffffffffffffffffff"`, "201", `"1830.50"`, employee, "1"), payroll.VerdictMismatch},
		{"another currency", recordOf(l, `,"currency":"EUR"`), payroll.VerdictMismatch},
		{"in progress", record(key, "202", `"1830.50"`, employee, "1"), payroll.VerdictUnknown},
		{"refused there", record(key, "422", `"1830.50"`, employee, "1"), payroll.VerdictUnknown},
		{"208 is not in the look-up's words", record(key, "208", `"1830.50"`, employee, "1"), payroll.VerdictUnknown},
		{"status in words", record(key, `"paid"`, `"1830.50"`, employee, "1"), payroll.VerdictUnknown},
		{"no key", record(`null`, "201", `"1830.50"`, employee, "1"), payroll.VerdictUnknown},
		{"no amount", record(key, "201", `null`, employee, "1"), payroll.VerdictUnknown},
		{"no version", record(key, "201", `"1830.50"`, employee, `null`), payroll.VerdictUnknown},
		{"no status", record(key, `null`, `"1830.50"`, employee, "1"), payroll.VerdictUnknown},
		{"empty object", `{}`, payroll.VerdictUnknown},
		{"a list", `[` + recordOf(l, "") + `]`, payroll.VerdictUnknown},
		{"HTML", `<html>`, payroll.VerdictUnknown},
		{"nothing", ``, payroll.VerdictUnknown},
		{"two values", recordOf(l, "") + recordOf(l, ""), payroll.VerdictUnknown},
		{"a name doubled", recordOf(l, `,"status":201`), payroll.VerdictUnknown},
	}
	p := profileWith(retry.KeyNone)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := p.JudgeLookUp(l, reply(200, c.body))
			r := j.Lines[0]
			if len(j.Lines) != 1 || r.Verdict != c.want || j.Request != c.want {
				t.Fatalf("got %v (%v): %s, want %v", r.Verdict, j.Request, r.Detail, c.want)
			}
			if c.want == payroll.VerdictSettled && r.As != payroll.LookedUp || c.want != payroll.VerdictSettled && r.As != 0 {
				t.Errorf("settled as %v", r.As)
			}
			if j.Gate.Kind != GateNone {
				t.Errorf("gate %v", j.Gate)
			}
		})
	}
}

// F18: a wrong path, a proxy or a maintenance page must not read as "not paid".
func TestAbsentIsTheVendorsOwnAnswerOnly(t *testing.T) {
	t.Parallel()
	p, l := profileWith(retry.KeyNone), lineNo(0)
	cases := []struct {
		name, body, kind string
		want             payroll.Verdict
	}{
		{"the vendor's", `{"error":"not_found"}`, "application/json", payroll.VerdictAbsent},
		{"with a character set", `{"error":"not_found"}`, "application/json; charset=utf-8", payroll.VerdictAbsent},
		{"problem", `{"title":"not found"}`, "application/problem+json", payroll.VerdictAbsent},
		{"it names the key", `{"key":"` + l.Key + `"}`, "application/json", payroll.VerdictAbsent},
		{"it names another key", `{"key":"pl_x"}`, "application/json", payroll.VerdictUnknown},
		{"HTML", `<html>404</html>`, "text/html", payroll.VerdictUnknown},
		{"HTML that calls itself JSON", `<html>404</html>`, "application/json", payroll.VerdictUnknown},
		{"a router's text", "404 page not found\n", "text/plain; charset=utf-8", payroll.VerdictUnknown},
		{"JSON that calls itself text", `{"error":"not_found"}`, "text/plain", payroll.VerdictUnknown},
		{"no type", `{"error":"not_found"}`, "", payroll.VerdictUnknown},
		{"empty", ``, "application/json", payroll.VerdictUnknown},
		{"a JSON text", `"not found"`, "application/json", payroll.VerdictUnknown},
		{"cut", `{"error":"not_found"`, "application/json", payroll.VerdictUnknown},
		{"two values", `{}{}`, "application/json", payroll.VerdictUnknown},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := reply(404, c.body, "Content-Type", c.kind)
			if j := p.JudgeLookUp(l, x); j.Lines[0].Verdict != c.want || j.Gate.Kind != GateNone {
				t.Errorf("got %v, gate %v, want %v", j.Lines[0].Verdict, j.Gate, c.want)
			}
			x.Truncated, x.Err = true, ErrBroken
			if j := p.JudgeLookUp(l, x); j.Lines[0].Verdict != payroll.VerdictUnknown {
				t.Errorf("cut off: %v", j.Lines[0].Verdict)
			}
		})
	}
}

func TestLookUpTable(t *testing.T) {
	t.Parallel()
	p, l := profileWith(retry.KeyLine), lineNo(0)
	barredBy := map[int]string{403: "forbidden", 405: "method_not_allowed", 410: "gone", 415: "unsupported_media_type"}
	for _, status := range statusesToTry {
		for _, hint := range []bool{false, true} {
			x := reply(status, recordOf(l, ""))
			if hint {
				x.Header.Set("Retry-After", "60")
			}
			want, gate, reason, failed := payroll.VerdictUnknown, GateNone, "", false
			switch {
			case status == 200:
				want = payroll.VerdictSettled
			case status == 404:
				want = payroll.VerdictAbsent
			case status > 200 && status < 300, slices.Contains([]int{400, 409, 413, 422}, status):
			case status >= 300 && status < 400:
				gate, reason = GateSuspend, "unexpected_redirect"
			case status == 401:
				want, gate = payroll.VerdictReturned, GateRefresh
			case barredBy[status] != "":
				want, gate, reason = payroll.VerdictReturned, GateSuspend, barredBy[status]
			case status == 429:
				want, gate = payroll.VerdictReturned, GateThrottle
			case status == 503 && hint:
				gate = GateThrottle
			case slices.Contains([]int{408, 425, 500, 502, 503, 504}, status):
				failed = true
			default:
				gate, reason = GateSuspend, "unclassified"
			}
			j := p.JudgeLookUp(l, x)
			if r := j.Lines[0]; r.Verdict != want || j.Gate.Kind != gate || j.Gate.Reason != reason || j.Failed != failed {
				t.Errorf("%d: %v, %+v, failed %v; want %v, %v %s, %v", status, r.Verdict, j.Gate, j.Failed, want, gate, reason, failed)
			}
		}
	}
}

func TestLookUpWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	p, l := profileWith(retry.KeyLine), lineNo(0)
	for _, c := range []struct {
		x     Exchange
		want  payroll.Verdict
		class payroll.RetryClass
	}{
		{Exchange{Sent: NothingSent, Err: ErrRefused}, payroll.VerdictReturned, payroll.ClassNetwork},
		{Exchange{Sent: NothingSent, Err: ErrFence}, payroll.VerdictNotSent, payroll.ClassNone},
		{Exchange{Sent: NothingSent, Err: ErrStopped}, payroll.VerdictNotSent, payroll.ClassNone},
		{Exchange{Sent: MaybeSent, Err: ErrTimeout}, payroll.VerdictUnknown, payroll.ClassLookUp},
		{Exchange{}, payroll.VerdictUnknown, payroll.ClassLookUp},
	} {
		if r := p.JudgeLookUp(l, c.x).Lines[0]; r.Verdict != c.want || r.Class != c.class {
			t.Errorf("%v: %v %v", c.x.Err, r.Verdict, r.Class)
		}
	}
}
