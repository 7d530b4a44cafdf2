package payroll

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a line's details.
const (
	MaxDetails     = 64
	MaxDetailValue = 1 << 10 // bytes of a value's text
)

// reserved are the names of a line on the wire that a detail may not take.
var reserved = []string{"key", "employee_id", "line_version", "line_ref", "gross_pay", "currency", "details", "metadata"}

// Detail is one named scalar that travels with a line: hours, cost centre.
type Detail struct {
	Name string
	Text string // the scalar's text: a string's content, a number or boolean as written
	JSON string // the scalar as it goes out: `"A"`, `1830`, `true`
}

// TextDetail makes a detail of a string.
func TextDetail(name, text string) Detail {
	return Detail{Name: name, Text: text, JSON: QuoteJSON(text)}
}

// LiteralDetail makes a detail of a JSON number or boolean, kept as written.
func LiteralDetail(name, literal string) Detail {
	return Detail{Name: name, Text: literal, JSON: literal}
}

// Details are a line's details sorted by name.
type Details []Detail

// Check sorts the details and returns the first Fault: a name that is no valid
// identifier, one of ours in whatever case, one given twice, too many, a value too long.
func (d Details) Check() error {
	if len(d) > MaxDetails {
		return Fault{Field: "details", Remedy: "may have at most 64 members"}
	}
	slices.SortStableFunc(d, func(a, b Detail) int { return strings.Compare(a.Name, b.Name) })
	for i, m := range d {
		switch {
		case !ValidIdentifier(m.Name):
			return Fault{Field: "details", Remedy: "names must be 1 to 64 characters of A-Z a-z 0-9 _ . -"}
		case isReserved(m.Name):
			return Fault{Field: "details." + m.Name, Remedy: "is a name of the line itself: rename it"}
		case i > 0 && d[i-1].Name == m.Name:
			return Fault{Field: "details." + m.Name, Remedy: "is given twice: give it once"}
		case len(m.Text) > MaxDetailValue:
			return Fault{Field: "details." + m.Name, Remedy: "may have at most 1024 bytes"}
		case !utf8.ValidString(m.Text):
			return Fault{Field: "details." + m.Name, Remedy: "must be UTF-8"}
		}
	}
	return nil
}

// isReserved also finds the names of a line in other letters: many a reader of
// JSON would take such a member for the line's own.
func isReserved(name string) bool {
	return slices.ContainsFunc(reserved, func(ours string) bool { return strings.EqualFold(ours, name) })
}

// AppendMembers appends the details as JSON members, each preceded by a comma.
func (d Details) AppendMembers(b []byte) []byte {
	for _, m := range d {
		b = append(b, ',')
		b = appendQuoted(b, m.Name)
		b = append(b, ':')
		b = append(b, m.JSON...)
	}
	return b
}
