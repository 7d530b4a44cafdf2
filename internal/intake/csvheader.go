package intake

import (
	"fmt"
	"slices"
	"strings"

	"payrollgateway/internal/payroll"
)

// csvHeader says what each column of a CSV body is, and reads its rows.
type csvHeader struct {
	columns int
	fields  [fields]int // column of a field; -1 = there is none
	details []csvDetail // the other columns, by name
	cells   []string    // reused
	draft   draft       // reused
}

type csvDetail struct {
	name   string
	column int
}

// readHeader reads a header, all its faults at once. It is exact: a column that
// is nearly one of ours would otherwise travel to the vendor as a detail.
func readHeader(record string) (*csvHeader, error) {
	names, ok := splitRecord(record, nil)
	if !ok {
		return nil, refuse(InvalidBody, "the header has a quote in the wrong place")
	}
	h := &csvHeader{columns: len(names)}
	faults := h.place(names)
	for f, name := range fieldNames {
		if required[f] && h.fields[f] < 0 {
			faults = append(faults, Fault{Detail: "the header must have a column " + name + ", cells separated by commas"})
		}
	}
	if len(faults) > 0 {
		return nil, &Error{Code: InvalidBody, Faults: faults[:min(len(faults), maxFaults)]}
	}
	slices.SortFunc(h.details, func(a, b csvDetail) int { return strings.Compare(a.name, b.name) })
	return h, nil
}

// place finds out what each column is. Faults name columns by number: in a file
// without a header the names are pay data.
func (h *csvHeader) place(names []string) (faults []Fault) {
	seen := make(map[string]bool, len(names))
	for f := range h.fields {
		h.fields[f] = -1
	}
	for i, name := range names {
		fault := ""
		f := slices.Index(fieldNames[:], name)
		switch {
		case seen[name]:
			fault = "repeats an earlier one"
		case f >= 0:
			h.fields[f] = i
		case payroll.Details{payroll.TextDetail(name, "")}.Check() != nil:
			fault = "is neither a column of ours, exactly as spelled in the documentation, nor a possible name of a detail"
		default:
			h.details = append(h.details, csvDetail{name, i})
		}
		if fault != "" {
			faults = append(faults, Fault{Detail: fmt.Sprintf("column %d %s", i+1, fault)})
		}
		seen[name] = true
	}
	return faults
}

// row returns the draft of a record, valid until the next call. An empty cell is
// absent.
func (h *csvHeader) row(record []byte) *draft {
	d := &h.draft
	d.reset(record)
	cells, ok := splitRecord(string(record), h.cells[:0])
	h.cells = cells
	switch {
	case !ok:
		d.poison = "has a quote in the wrong place: quote the whole cell and double the quotes in it"
		return d
	case len(cells) != h.columns:
		d.poison = fmt.Sprintf("has %d cells where the header has %d", len(cells), h.columns)
		return d
	}
	for f, column := range h.fields {
		if column >= 0 && cells[column] != "" {
			d.set(field(f), cells[column])
		}
	}
	for _, c := range h.details {
		if text := cells[c.column]; text != "" {
			d.addDetail(payroll.Detail{Name: c.name, Text: text})
		}
	}
	return d
}
