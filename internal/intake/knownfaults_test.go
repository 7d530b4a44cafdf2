package intake

import (
	"slices"
	"testing"
	"time"
)

// Faults that others shipped, and that ended in wrong pay. One test each.

// golang/go#9588: a byte-order mark is glued to the first header, so that the
// column is not found, or is taken for another.
func TestByteOrderMarkIsStripped(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const mark = "\xef\xbb\xbf"
	for _, r := range []Request{
		csvRequest(mark + "employee_id,line_version,gross_pay\n7,1,2\n"),
		csvRequest(mark + `"employee_id","line_version","gross_pay"` + "\n7,1,2\n"),
		ndjsonRequest(mark + goodRow),
		jsonRequest(mark + `{"vendor":"acme","pay_period_id":"1","run_attempt_group":"1","currency":"USD","lines":[` + goodRow + `]}`),
		zipped(t, csvRequest(mark+"employee_id,line_version,gross_pay\n7,1,2\n")),
	} {
		if rows := d.mustSubmit(r); rows[0].Line == nil || rows[0].Line.EmployeeID != "7" {
			t.Errorf("%s: %s", r.ContentType, tell(rows[0]))
		}
	}
	d.mustRefuse(csvRequest(mark+mark+"employee_id,line_version,gross_pay\n7,1,2\n"), InvalidBody)
}

// golang/go#36225: what follows the first JSON value is ignored; the second half
// of a concatenated file is not paid.
func TestTrailingDataIsRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	body := `{"vendor":"acme","pay_period_id":"1","run_attempt_group":"1","currency":"USD","lines":[` + goodRow + `]}`
	d.mustSubmit(jsonRequest(body + " \r\n\t"))
	for _, tail := range []string{body, "{}", "]", "x", "\x00", ",", "null"} {
		d.mustRefuse(jsonRequest(body+tail), InvalidBody)
	}
	for _, tail := range []string{goodRow, "x", "]", ","} {
		if rows := d.mustSubmit(ndjsonRequest(goodRow + tail)); len(rows) != 1 || rows[0].Reject == nil {
			t.Errorf("a row with %q after it: %s", tail, tell(rows[0]))
		}
	}
}

// machinery#251, gjson#29: integers above 2^53 change on their way through a
// float.
func TestLargeIntegersAreExactOrRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := d.mustSubmit(ndjsonRequest(`{"employee_id":"7","line_version":1,"gross_pay":1,"details":{"a":9007199254740993,"b":123456789012345678901234567890,"c":0.1000000000000000055511151231257827}}
{"employee_id":"7","line_version":9007199254740993,"gross_pay":1}
{"employee_id":"8","line_version":1,"gross_pay":90071992547409.93}
`))
	want := []string{
		`1 7 v1 "" 1.00 USD [{a 9007199254740993 9007199254740993} {b 123456789012345678901234567890 123456789012345678901234567890} {c 0.1000000000000000055511151231257827 0.1000000000000000055511151231257827}] `,
		`2 schema_validation_failed: line_version: must be an integer from 1 to 2147483647, in digits`,
		`3 statutory_cap_breach`,
	}
	for i, row := range rows {
		if tell(row) != want[i] {
			t.Errorf("\n got %s\nwant %s", tell(row), want[i])
		}
	}
	if amount := rows[2].Line.Amount; amount != 9007199254740993 {
		t.Errorf("amount %d", amount)
	}
}

// bilig#28: 00123 becomes 123, and one of two employees is paid twice.
func TestLeadingZerosMakeTwoEmployees(t *testing.T) {
	t.Parallel()
	rows := newDesk(t).mustSubmit(csvRequest("employee_id,line_version,gross_pay\n00123,1,1\n123,1,1\n"))
	if a, b := rows[0].Line, rows[1].Line; a == nil || b == nil || a.EmployeeID != "00123" || b.EmployeeID != "123" || a.Key == b.Key {
		t.Errorf("%s, %s", tell(rows[0]), tell(rows[1]))
	}
}

// shopspring/decimal#427: a short text with a large exponent burns processor and
// memory.
func TestExponentsAreRefusedBeforeConversion(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	began := time.Now()
	amounts := []string{"1e1000000000", `"1e1000000000"`, `"1E-999999999"`, "1e2", `"0x10"`, `"Infinity"`, `"NaN"`}
	var body string
	for _, amount := range amounts {
		body += `{"employee_id":"7","line_version":1,"gross_pay":` + amount + "}\n"
	}
	for _, row := range d.mustSubmit(ndjsonRequest(body)) {
		if row.Reject == nil || row.Reject.Currency != "" {
			t.Errorf("%s", tell(row))
		}
	}
	d.mustRefuse(document("control_totals", `{"gross_pay":1e1000000000}`), InvalidEnvelope)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// tableExport#296: a guard against formulas breaks negative amounts.
func TestNegativeAmountsStayIntact(t *testing.T) {
	t.Parallel()
	rows := newDesk(t).mustSubmit(csvRequest("employee_id,line_version,gross_pay,note\n7,1,-0.02,=1+1\n"))
	if l := rows[0].Line; l == nil || l.Amount != -2 || l.Details[0].Text != "=1+1" {
		t.Errorf("%s", tell(rows[0]))
	}
}

// A file with a row for each earnings code would have one of them paid as the
// whole: none of the rows of one key stands, also where one cannot be read.
func TestRowsThatShareAKeyAllFall(t *testing.T) {
	t.Parallel()
	rows := newDesk(t).mustSubmit(ndjsonRequest(`{"employee_id":"7","line_version":1,"gross_pay":"1000"}
{"employee_id":"8","line_version":1,"gross_pay":"1"}
{"employee_id":"7","line_version":1,"gross_pay":"50.x"}
{"employee_id":"7","line_version":1,"gross_pay":"50","line_ref":"bonus"}
{"employee_id":"7","line_version":2,"gross_pay":"1000"}
{"employee_id":"9","line_version":1,"gross_pay":"999999"}
{"employee_id":"9","line_version":1,"gross_pay":"1"}
`))
	var got []string
	for _, row := range rows {
		reason := "line"
		if row.Reject != nil {
			reason = row.Reject.Reason.String()
		}
		got = append(got, reason)
	}
	want := []string{"duplicate_natural_key", "line", "schema_validation_failed", "line", "line", "duplicate_natural_key", "duplicate_natural_key"}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
	r := rows[0].Reject
	if string(r.Payload) != `{"employee_id":"7","line_version":1,"gross_pay":"1000.00","currency":"USD"}` || r.Amount != 100000 || r.Currency != "USD" {
		t.Errorf("%+v, payload %s", r, r.Payload)
	}
}
