package intake

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const csvHead = "employee_id,line_version,gross_pay,title\n"

func TestCSVFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		want []string
	}{
		"plain":                   {csvHead + "007,1,119042.5,CLERK\n7,1,2,CLERK\n", []string{`1 007 v1 "" 119042.50 USD [{title CLERK "CLERK"}] `, `2 7 v1 "" 2.00 USD [{title CLERK "CLERK"}] `}},
		"no last line ending":     {csvHead + "7,1,2,CLERK", []string{`1 7 v1 "" 2.00 USD [{title CLERK "CLERK"}] `}},
		"byte-order mark, CRLF":   {"\xef\xbb\xbf" + strings.ReplaceAll(csvHead+"7,1,2,CLERK\n", "\n", "\r\n"), []string{`1 7 v1 "" 2.00 USD [{title CLERK "CLERK"}] `}},
		"blank lines":             {"\n" + csvHead + "7,1,2,CLERK\n\n \t\r\n8,1,2,\n\n\n", []string{`1 7 v1 "" 2.00 USD [{title CLERK "CLERK"}] `, `2 8 v1 "" 2.00 USD [] `}},
		"quoted commas":           {csvHead + `7,1,2,"CLERK, CHIEF"` + "\n", []string{`1 7 v1 "" 2.00 USD [{title CLERK, CHIEF "CLERK, CHIEF"}] `}},
		"quoted quotes":           {csvHead + `7,1,2,"the ""best"" one"` + "\n", []string{`1 7 v1 "" 2.00 USD [{title the "best" one "the \"best\" one"}] `}},
		"quoted newlines":         {csvHead + "7,1,2,\"A\nB\n\n,C\"\n8,1,2,D\n", []string{`1 7 v1 "" 2.00 USD [{title A` + "\nB\n\n" + `,C "A\nB\n\n,C"}] `, `2 8 v1 "" 2.00 USD [{title D "D"}] `}},
		"all quoted":              {"\"employee_id\",\"line_version\",\"gross_pay\"\n\"7\",\"1\",\"2\"\n", []string{`1 7 v1 "" 2.00 USD [] `}},
		"own columns, any order":  {"line_ref,gross_pay,currency,employee_id,line_version\nbonus,3,JPY,7,1\n,3,,7,1\n", []string{`1 7 v1 "bonus" 3 JPY [] `, `2 7 v1 "" 3.00 USD [] `}},
		"negative":                {csvHead + "7,1,-12.30,CLERK\n", []string{`1 statutory_cap_breach`}},
		"leading zero amount":     {csvHead + "7,1,007,CLERK\n", []string{`1 schema_validation_failed: gross_pay: must be a plain decimal number such as 1830.50: no exponent, plus sign, grouping or spaces, at most 15 digits before the point`}},
		"grouping":                {csvHead + `7,1,"1,000.00",CLERK` + "\n", []string{`1 schema_validation_failed: gross_pay: must be a plain decimal number such as 1830.50: no exponent, plus sign, grouping or spaces, at most 15 digits before the point`}},
		"empty cells":             {csvHead + ",1,2,\n7,,2,\n7,1,,\n", []string{`1 schema_validation_failed: employee_id: is required`, `2 schema_validation_failed: line_version: is required`, `3 schema_validation_failed: gross_pay: is required`}},
		"spreadsheet's blank row": {csvHead + ",,,\n", []string{`1 schema_validation_failed: employee_id: is required`}},
		"too few cells":           {csvHead + "7,1,2\n8,1,2,D\n", []string{`1 poison_message: has 3 cells where the header has 4`, `2 8 v1 "" 2.00 USD [{title D "D"}] `}},
		"too many cells":          {csvHead + "7,1,2,D,E\n", []string{`1 poison_message: has 5 cells where the header has 4`}},
		"a quote in a cell":       {csvHead + "7,1,2,5\" pipe\n8,1,2,D\n", []string{`1 poison_message: has a quote in the wrong place: quote the whole cell and double the quotes in it`, `2 8 v1 "" 2.00 USD [{title D "D"}] `}},
		"after a closing quote":   {csvHead + "7,1,2,\"A\"B\n8,1,2,D\n", []string{`1 poison_message: has a quote in the wrong place: quote the whole cell and double the quotes in it`, `2 8 v1 "" 2.00 USD [{title D "D"}] `}},
		"Latin-1":                 {csvHead + "7,1,2,B\xfcrger\n8,1,2,D\n", []string{`1 schema_validation_failed: details.title: must be UTF-8`, `2 8 v1 "" 2.00 USD [{title D "D"}] `}},
		"same payment twice":      {csvHead + "7,1,2,A\n8,1,1,\n7,1,3,B\n", []string{`1 duplicate_natural_key: ` + twinRemedy, `2 8 v1 "" 1.00 USD [] `, `3 duplicate_natural_key: ` + twinRemedy}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, row := range newDesk(t).mustSubmit(csvRequest(c.body)) {
				got = append(got, tell(row))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

const twinRemedy = "another row of this body is the same payment: send one row for it, or tell them apart by line_ref"

func TestCSVBodiesRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body    string
		ordinal int32
		detail  string // of the first fault
	}{
		"empty":                {"", 0, "the body is empty: it must begin with a header"},
		"blank":                {"\n\n", 0, "the body is empty: it must begin with a header"},
		"no header":            {"0100001,1,47223.31\n", 0, "the header must have a column employee_id, cells separated by commas"},
		"semicolons":           {"employee_id;line_version;gross_pay\n7;1;2\n", 0, "column 1 is neither a column of ours, exactly as spelled in the documentation, nor a possible name of a detail"},
		"UTF-16":               {"\xff\xfee\x00m\x00p\x00", 0, "column 1 is neither a column of ours, exactly as spelled in the documentation, nor a possible name of a detail"},
		"missing column":       {"employee_id,gross_pay\n7,2\n", 0, "the header must have a column line_version, cells separated by commas"},
		"column twice":         {"employee_id,line_version,gross_pay,a,a\n7,1,2,3,4\n", 0, "column 5 repeats an earlier one"},
		"ours twice":           {"employee_id,line_version,gross_pay,gross_pay\n7,1,2,3\n", 0, "column 4 repeats an earlier one"},
		"ours in capitals":     {"employee_id,line_version,gross_pay,Gross_Pay\n7,1,2,3\n", 0, "column 4 is neither a column of ours, exactly as spelled in the documentation, nor a possible name of a detail"},
		"a column we use":      {"employee_id,line_version,gross_pay,metadata\n7,1,2,3\n", 0, "column 4 is neither a column of ours, exactly as spelled in the documentation, nor a possible name of a detail"},
		"spaces in the header": {"employee_id, line_version,gross_pay\n7,1,2\n", 0, "column 2 is neither a column of ours, exactly as spelled in the documentation, nor a possible name of a detail"},
		"trailing comma":       {"employee_id,line_version,gross_pay,\n7,1,2,\n", 0, "column 4 is neither a column of ours, exactly as spelled in the documentation, nor a possible name of a detail"},
		"header quote":         {"employee_id,\"line_version\n", 0, "this quote is never closed"},
		"open quote":           {csvHead + "7,1,2,A\n8,1,2,\"B\n9,1,2,C\n", 2, "this quote is never closed"},
		"open quote at end":    {csvHead + "7,1,2,\"", 1, "this quote is never closed"},
		"open quote, huge":     {csvHead + "7,1,2,\"" + strings.Repeat("8,1,2,C\n", 200_000), 1, "this quote is never closed"},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := newDesk(t).mustRefuse(csvRequest(c.body), InvalidBody)
			if f := refused.Faults[0]; f.Ordinal != c.ordinal || f.Detail != c.detail {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Where the standard library's reader takes a record, ours reads the same cells.
func TestCSVAgreesWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.StringMatching(`([ab ,"]{0,6}\n?){0,6}`).Draw(t, "body")
		theirs := csv.NewReader(strings.NewReader(body))
		theirs.FieldsPerRecord = -1
		want, err := theirs.ReadAll()
		if err != nil {
			return
		}
		if got := records(t, body); !slices.EqualFunc(got, slices.DeleteFunc(want, spacesOnly), slices.Equal) {
			t.Fatalf("%q\n got %q\nwant %q", body, got, want)
		}
	})
}

// spacesOnly: such a line is blank here, and a record of one cell there.
func spacesOnly(cells []string) bool { return len(cells) == 1 && strings.Trim(cells[0], " ") == "" }

func records(t *rapid.T, body string) (all [][]string) {
	in := &csvRecords{lines: lineReader{in: newReader(body), max: 1 << 20}, max: 1 << 20}
	for {
		record, err := in.next()
		if errors.Is(err, io.EOF) {
			return all
		}
		cells, ok := splitRecord(string(record), nil)
		if err != nil || !ok {
			t.Fatalf("%q: %v %v", body, err, ok)
		}
		if !spacesOnly(cells) {
			all = append(all, cells)
		}
	}
}
