package intake

import (
	"strings"
	"testing"
)

// Each row is read from a JSON body and from an NDJSON body, which must agree.
func TestJSONRows(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1025)
	tests := map[string]struct{ row, want string }{
		"plain":                {`{"employee_id":"0100001","line_version":1,"gross_pay":"47223.31"}`, `1 0100001 v1 "" 47223.31 USD [] `},
		"any order, spaces":    {`{ "gross_pay" : "1.5" ,	"line_version":2, "employee_id":"7" }`, `1 7 v2 "" 1.50 USD [] `},
		"amount as a number":   {`{"employee_id":"7","line_version":1,"gross_pay":119042.5}`, `1 7 v1 "" 119042.50 USD [] `},
		"largest version":      {`{"employee_id":"7","line_version":2147483647,"gross_pay":1}`, `1 7 v2147483647 "" 1.00 USD [] `},
		"own currency":         {`{"employee_id":"7","line_version":1,"gross_pay":"300","currency":"JPY"}`, `1 7 v1 "" 300 JPY [] `},
		"line_ref":             {`{"employee_id":"7","line_version":1,"gross_pay":1,"line_ref":"bonus"}`, `1 7 v1 "bonus" 1.00 USD [] `},
		"escapes in a name":    {`{"\u0065mployee_id":"7","line_version":1,"gross_pay":1}`, `1 7 v1 "" 1.00 USD [] `},
		"escapes in a value":   {`{"employee_id":"\u0037","line_version":1,"gross_pay":"\u0031"}`, `1 7 v1 "" 1.00 USD [] `},
		"details":              {`{"employee_id":"7","line_version":1,"gross_pay":1,"details":{"b":"B \"q\"","a":1830,"t":true,"n":null}}`, `1 7 v1 "" 1.00 USD [{a 1830 1830} {b B "q" "B \"q\""} {t true true}] `},
		"non-ASCII details":    {`{"employee_id":"7","line_version":1,"gross_pay":1,"details":{"title":"Bürgermeister"}}`, `1 7 v1 "" 1.00 USD [{title Bürgermeister "Bürgermeister"}] `},
		"metadata":             {`{"employee_id":"7","line_version":1,"gross_pay":1,"metadata":{ "name" : "A. Sample", "n": [1] , "x": null}}`, `1 schema_validation_failed: metadata: must have strings, numbers and booleans only`},
		"metadata kept":        {`{"employee_id":"7","line_version":1,"gross_pay":1,"metadata":{ "name" : "A. \u0053ample", "x": null}}`, `1 7 v1 "" 1.00 USD [] {"name":"A. \u0053ample","x":null}`},
		"empty objects":        {`{"employee_id":"7","line_version":1,"gross_pay":1,"details":{},"metadata":{}}`, `1 7 v1 "" 1.00 USD [] `},
		"employee as a number": {`{"employee_id":7,"line_version":1,"gross_pay":1}`, `1 schema_validation_failed: employee_id: must be a JSON string`},
		"employee missing":     {`{"line_version":1,"gross_pay":1}`, `1 schema_validation_failed: employee_id: is required`},
		"employee null":        {`{"employee_id":null,"line_version":1,"gross_pay":1}`, `1 schema_validation_failed: employee_id: must be a JSON string`},
		"employee with spaces": {`{"employee_id":" 7","line_version":1,"gross_pay":1}`, `1 schema_validation_failed: employee_id: must be 1 to 64 printable ASCII characters without a space at either end`},
		"version as a string":  {`{"employee_id":"7","line_version":"1","gross_pay":1}`, `1 schema_validation_failed: line_version: must be a JSON integer`},
		"version 1.0":          {`{"employee_id":"7","line_version":1.0,"gross_pay":1}`, `1 schema_validation_failed: line_version: must be an integer from 1 to 2147483647, in digits`},
		"version 0":            {`{"employee_id":"7","line_version":0,"gross_pay":1}`, `1 schema_validation_failed: line_version: must be an integer from 1 to 2147483647, in digits`},
		"version too large":    {`{"employee_id":"7","line_version":2147483648,"gross_pay":1}`, `1 schema_validation_failed: line_version: must be an integer from 1 to 2147483647, in digits`},
		"amount an object":     {`{"employee_id":"7","line_version":1,"gross_pay":{"a":1}}`, `1 schema_validation_failed: gross_pay: must be a JSON string or number`},
		"amount too fine":      {`{"employee_id":"7","line_version":1,"gross_pay":"1.005"}`, `1 schema_validation_failed: gross_pay: has more decimal digits than its currency`},
		"currency unknown":     {`{"employee_id":"7","line_version":1,"gross_pay":1,"currency":"usd"}`, `1 schema_validation_failed: currency: must be an ISO 4217 code in capitals, such as USD`},
		"line_ref empty":       {`{"employee_id":"7","line_version":1,"gross_pay":1,"line_ref":""}`, `1 schema_validation_failed: line_ref: must be 1 to 64 characters of A-Z a-z 0-9 . _ -`},
		"unknown member":       {`{"employee_id":"7","line_version":1,"gross_pay":1,"bonus":{"x":[1]}}`, `1 schema_validation_failed: bonus: is no member of a line: put it into details`},
		"unspeakable member":   {`{"employee_id":"7","line_version":1,"gross_pay":1,"Jane Doe":1}`, `1 schema_validation_failed: a member: is no member of a line: put it into details`},
		"case variant":         {`{"employee_id":"7","line_version":1,"gross_pay":1,"Gross_Pay":2}`, `1 schema_validation_failed: Gross_Pay: is no member of a line: put it into details`},
		"amount twice":         {`{"employee_id":"7","line_version":1,"gross_pay":1,"gross_pay":1}`, `1 schema_validation_failed: gross_pay: occurs twice: give it once`},
		"details twice":        {`{"employee_id":"7","line_version":1,"gross_pay":1,"details":{},"details":{}}`, `1 schema_validation_failed: details: occurs twice: give it once`},
		"details an array":     {`{"employee_id":"7","line_version":1,"gross_pay":1,"details":[]}`, `1 schema_validation_failed: details: must be a JSON object`},
		"a detail nested":      {`{"employee_id":"7","line_version":1,"gross_pay":1,"details":{"a":{"b":1}}}`, `1 schema_validation_failed: details: must have strings, numbers and booleans only`},
		"a detail twice":       {`{"employee_id":"7","line_version":1,"gross_pay":1,"details":{"a":1,"\u0061":2}}`, `1 schema_validation_failed: details.a: is given twice: give it once`},
		"a detail of ours":     {`{"employee_id":"7","line_version":1,"gross_pay":1,"details":{"Gross_Pay":1}}`, `1 schema_validation_failed: details.Gross_Pay: is a name of the line itself: rename it`},
		"a long detail":        {`{"employee_id":"7","line_version":1,"gross_pay":1,"details":{"a":"` + long + `"}}`, `1 schema_validation_failed: details.a: may have at most 1024 bytes`},
		"a long metadatum":     {`{"employee_id":"7","line_version":1,"gross_pay":1,"metadata":{"a":"` + long + `"}}`, `1 schema_validation_failed: metadata: values may have at most 1024 bytes`},
		"a metadatum twice":    {`{"employee_id":"7","line_version":1,"gross_pay":1,"metadata":{"a":1,"b":2,"a":1}}`, `1 schema_validation_failed: metadata: has a name twice: give it once`},
		"above the limit":      {`{"employee_id":"7","line_version":1,"gross_pay":"250000.01"}`, `1 statutory_cap_breach`},
		"below the limit":      {`{"employee_id":"7","line_version":1,"gross_pay":"0.00"}`, `1 statutory_cap_breach`},
		"negative":             {`{"employee_id":"7","line_version":1,"gross_pay":-0.02}`, `1 statutory_cap_breach`},
		"not an object":        {`[1,2]`, `1 poison_message: is not a JSON object: each row must be one, whole and in UTF-8`},
		"null":                 {`null`, `1 poison_message: is not a JSON object: each row must be one, whole and in UTF-8`},
		"a string":             {`"x"`, `1 poison_message: is not a JSON object: each row must be one, whole and in UTF-8`},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			for _, r := range []Request{oneLine(c.row), ndjsonRequest(c.row + "\r\n")} {
				rows := d.mustSubmit(r)
				if len(rows) != 1 || tell(rows[0]) != c.want {
					t.Errorf("%s\n got %s\nwant %s", r.ContentType, tell(rows[0]), c.want)
				}
				if reject := rows[0].Reject; reject != nil && string(reject.Payload) != c.row {
					t.Errorf("payload %q", reject.Payload)
				}
			}
		})
	}
}

// What can be read of a refused row is kept: its employee, amount and key.
func TestRefusedRowKeepsWhatCanBeRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rows := d.mustSubmit(ndjsonRequest(`{"employee_id":"7","line_version":1,"gross_pay":"12.50","details":{"a":[]}}
{"employee_id":"8","line_version":1,"gross_pay":"1e3"}
{"employee_id":"9","line_version":1,"gross_pay":"1","gross_pay":"2"}
{"employee_id":"10","line_version":1,"gross_pay":"1","employee_id":"11"}
`))
	r := rows[0].Reject
	if r.EmployeeID != "7" || r.Amount != 1250 || r.Currency != "USD" || r.Key == rows[1].Reject.Key {
		t.Errorf("%+v", r)
	}
	for _, row := range rows[1:3] {
		if row.Reject.Currency != "" || row.Reject.Amount != 0 {
			t.Errorf("an unreadable amount is counted: %+v", row.Reject)
		}
	}
	if last := rows[3].Reject; last.EmployeeID != "" || last.Currency != "USD" {
		t.Errorf("which of two employees: %+v", last)
	}
}
