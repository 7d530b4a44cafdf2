package intake

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"payrollgateway/internal/payroll"
)

// payment is a generated line: texts by column.
type payment map[string]string

var detailColumns = []string{"cost_center", "regular_hours", "title"}

func payments(t *rapid.T) (all []payment) {
	for i := range rapid.IntRange(1, 8).Draw(t, "lines") {
		p := payment{
			"employee_id":  rapid.SampledFrom([]string{"7", "007", `o"neil \`, "A, B", fmt.Sprint(i)}).Draw(t, "employee"),
			"line_version": rapid.SampledFrom([]string{"1", "2", "2147483647"}).Draw(t, "version"),
			"gross_pay":    rapid.SampledFrom([]string{"1", "119042.5", "-3.20", "0.00", "250000.01", "1234.560000"}).Draw(t, "amount"),
			"line_ref":     rapid.SampledFrom([]string{"", "bonus", "r-2"}).Draw(t, "ref"),
			"currency":     rapid.SampledFrom([]string{"", "USD", "KWD"}).Draw(t, "currency"),
		}
		for _, name := range detailColumns {
			p[name] = rapid.SampledFrom([]string{"", "1830", "true", "x", `a "b", c`, "line\nbreak\ttab", "Bürger"}).Draw(t, name)
		}
		all = append(all, p)
	}
	return all
}

// object spells a payment as JSON: members in a drawn order, numbers where the
// text is one and chance wants it, null or nothing for what is absent.
func (p payment) object(t *rapid.T) string {
	details := make(map[string]any)
	for _, name := range detailColumns {
		switch text := p[name]; {
		case text == "" && rapid.Bool().Draw(t, "null"):
			details[name] = nil
		case text == "":
		case (text == "1830" || text == "true") && rapid.Bool().Draw(t, "literal"):
			details[name] = json.RawMessage(text)
		default:
			details[name] = text
		}
	}
	members := map[string]any{"employee_id": p["employee_id"], "line_version": json.Number(p["line_version"]), "gross_pay": p["gross_pay"], "details": details}
	if rapid.Bool().Draw(t, "number") {
		members["gross_pay"] = json.RawMessage(p["gross_pay"])
	}
	if rapid.Bool().Draw(t, "metadata") {
		members["metadata"] = map[string]string{"name": "A. Sample"}
	}
	for _, name := range []string{"line_ref", "currency"} {
		if p[name] != "" {
			members[name] = p[name]
		}
	}
	return spell(t, members)
}

// spell writes an object with its members in a drawn order.
func spell(t *rapid.T, members map[string]any) string {
	var parts []string
	for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(members))).Draw(t, "order") {
		value, err := json.Marshal(members[name])
		if raw, ok := members[name].(json.RawMessage); ok {
			value, err = raw, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, fmt.Sprintf("%q: %s", name, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func csvFile(t *rapid.T, all []payment) string {
	columns := append([]string{"employee_id", "line_version", "gross_pay", "line_ref", "currency"}, detailColumns...)
	columns = rapid.Permutation(columns).Draw(t, "columns")
	var out bytes.Buffer
	table := [][]string{columns}
	for _, p := range all {
		var cells []string
		for _, name := range columns {
			cells = append(cells, p[name])
		}
		table = append(table, cells)
	}
	if err := csv.NewWriter(&out).WriteAll(table); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func jsonFile(t *rapid.T, objects []string) string {
	return spell(t, map[string]any{
		"vendor": "acme", "pay_period_id": "2026-W28", "run_attempt_group": "1", "currency": "USD",
		"lines": json.RawMessage("[" + strings.Join(objects, ", ") + "]"), "control_totals": json.RawMessage(fmt.Sprintf(`{"lines":%d}`, len(objects))),
	})
}

// The same payments are the same content, whatever format, compression and order
// of members they come in: a batch posted again in another format is no new one.
func TestFormatsAreEquivalent(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rapid.Check(t, func(t *rapid.T) {
		all := payments(t)
		var objects []string
		for _, p := range all {
			objects = append(objects, p.object(t))
		}
		requests := []Request{
			jsonRequest(jsonFile(t, objects)), ndjsonRequest(strings.Join(objects, "\n")), csvRequest(csvFile(t, all)),
			zipped(d, jsonRequest(jsonFile(t, objects))), zipped(d, ndjsonRequest(strings.Join(objects, "\r\n")+"\n\n")), zipped(d, csvRequest(csvFile(t, all))),
		}
		var want string
		var hash payroll.Hash
		for i, r := range requests {
			d.mustSubmit(r)
			got := d.essence()
			if i == 0 {
				want, hash = got, d.last.Batch.ContentHash
			}
			if got != want || d.last.Batch.ContentHash != hash {
				t.Fatalf("%s\n got %s\nwant %s", r.ContentType, got, want)
			}
		}
	})
}

// essence spells what must not depend on the format: everything but metadata,
// and how a detail is quoted on the wire.
func (d *desk) essence() string {
	var b strings.Builder
	for _, row := range d.rows {
		if r := row.Reject; r != nil {
			fmt.Fprintln(&b, r.Ordinal, r.Reason, r.EmployeeID, r.Amount, r.Currency, r.Key, r.Digest)
			continue
		}
		l := row.Line
		fmt.Fprintln(&b, l.Ordinal, l.Key, l.Hash, l.AnyVersion, l.EmployeeID, l.Version, l.Ref, l.Amount, l.Currency, row.Death)
		for _, m := range l.Details {
			fmt.Fprintln(&b, m.Name, m.Text)
		}
	}
	return b.String()
}

// Another order, amount or vendor is another content; metadata and control
// totals are not part of it.
func TestContentHash(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	row := func(id, pay string) string {
		return `{"employee_id":"` + id + `","line_version":1,"gross_pay":"` + pay + `"}`
	}
	lines := func(rows ...string) string { return "[" + strings.Join(rows, ",") + "]" }
	hash := func(r Request) payroll.Hash {
		d.mustSubmit(r)
		return d.last.Batch.ContentHash
	}
	base := hash(document("lines", lines(row("7", "1"), row("8", "2"))))
	same := map[string]Request{
		"amount's zeros": document("lines", lines(row("7", "1.0"), row("8", "2.00"))),
		"control totals": document("lines", lines(row("7", "1"), row("8", "2")), "control_totals", `{"lines":2}`),
	}
	for name, r := range same {
		if hash(r) != base {
			t.Errorf("%s: another content", name)
		}
	}
	other := map[string]Request{
		"order":       document("lines", lines(row("8", "2"), row("7", "1"))),
		"amount":      document("lines", lines(row("7", "1"), row("8", "2.01"))),
		"fewer":       document("lines", lines(row("7", "1"))),
		"a bad row":   document("lines", lines(row("7", "1"), row("8", "2"), row("9", "x"))),
		"another one": document("lines", lines(row("7", "1"), row("8", "2"), row("9", "y"))),
		"vendor":      document("lines", lines(row("7", "1"), row("8", "2")), "vendor", `"sandbox"`),
		"pay date":    document("lines", lines(row("7", "1"), row("8", "2")), "pay_date", `"2026-07-17"`),
		"cut-off":     document("lines", lines(row("7", "1"), row("8", "2")), "cutoff_at", `"2026-07-17T00:00:00Z"`),
	}
	seen := map[payroll.Hash]string{base: "base"}
	for name, r := range other {
		h := hash(r)
		if seen[h] != "" {
			t.Errorf("%s: the same content as %s", name, seen[h])
		}
		seen[h] = name
	}
}
