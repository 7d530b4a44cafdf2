package intake

import (
	"encoding/binary"
	"fmt"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// A record is a ready row as the spool keeps it: numbers as varints, texts with
// their length before them. It never outlives its Submit, so it has no version.

// The kinds of records.
const (
	recordLine   byte = 1
	recordDead   byte = 2 // a line beyond the vendor's limits
	recordReject byte = 3
)

func appendRow(b []byte, r store.Row) []byte {
	switch {
	case r.Reject != nil:
		return appendReject(append(b, recordReject), r.Reject)
	case r.Death != nil:
		return appendLine(append(b, recordDead), r.Line)
	default:
		return appendLine(append(b, recordLine), r.Line)
	}
}

func appendLine(b []byte, l *payroll.Line) []byte {
	b = append(b, l.Key[:]...)
	b = append(b, l.Hash[:]...)
	b = append(b, l.AnyVersion[:]...)
	b = binary.AppendUvarint(b, uint64(l.Version))
	b = binary.AppendVarint(b, int64(l.Amount))
	b = appendText(b, l.Currency)
	b = appendText(b, l.EmployeeID)
	b = appendText(b, l.Ref)
	b = binary.AppendUvarint(b, uint64(len(l.Details)))
	for i := range l.Details {
		b = appendDetail(b, &l.Details[i])
	}
	return appendText(b, l.Metadata)
}

// The spellings of a detail. A text without JSON of its own is spelled here, so
// that what is read back needs no memory beyond its record.
const (
	detailLiteral byte = 1 // JSON and Text are the same
	detailPlain   byte = 2 // JSON is the text in quotes
	detailEscaped byte = 3 // both, apart
)

func appendDetail(b []byte, m *payroll.Detail) []byte {
	b = appendText(b, m.Name)
	switch {
	case m.JSON != "":
		return appendText(append(b, detailLiteral), m.Text)
	case plain(m.Text):
		b = binary.AppendUvarint(append(b, detailPlain), uint64(len(m.Text)+2))
		b = append(b, '"')
		b = append(b, m.Text...)
		return append(b, '"')
	default:
		return appendText(appendText(append(b, detailEscaped), m.Text), payroll.QuoteJSON(m.Text))
	}
}

// plain reports whether a JSON string spells s as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func appendReject(b []byte, r *payroll.Reject) []byte {
	b = append(b, r.Key[:]...)
	b = append(b, r.Digest[:]...)
	b = binary.AppendUvarint(b, uint64(r.Reason))
	b = binary.AppendVarint(b, int64(r.Amount))
	b = appendText(b, r.Currency)
	b = appendText(b, r.EmployeeID)
	b = appendText(b, r.Detail)
	b = appendText(b, r.Payload)
	if r.PayloadCut {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendText[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// readRow reads a record back. All texts of the row share one string.
func readRow(record []byte, ordinal int32) (store.Row, error) {
	c := cursor{left: string(record)}
	var row store.Row
	switch kind := c.byte(); kind {
	case recordLine, recordDead:
		row.Line = c.line(ordinal)
		if kind == recordDead {
			row.Death = capBreach
		}
	case recordReject:
		row.Reject = c.reject(ordinal)
	default:
		c.failed = true
	}
	if c.failed || c.left != "" {
		return store.Row{}, fmt.Errorf("row %d: %w", ordinal, errSpool)
	}
	return row, nil
}

// cursor takes a record apart. After a failure it gives zeros.
type cursor struct {
	left   string
	failed bool
}

func (c *cursor) take(n uint64) string {
	if c.failed || n > uint64(len(c.left)) {
		c.failed = true
		return ""
	}
	taken := c.left[:n]
	c.left = c.left[n:]
	return taken
}

func (c *cursor) byte() byte {
	if b := c.take(1); b != "" {
		return b[0]
	}
	return 0
}

func (c *cursor) uvarint() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := c.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	c.failed = true
	return 0
}

// varint undoes the zigzag of binary.AppendVarint.
func (c *cursor) varint() int64 {
	n := c.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (c *cursor) text() string { return c.take(c.uvarint()) }

func (c *cursor) bytes() []byte {
	if text := c.text(); text != "" {
		return []byte(text)
	}
	return nil
}

func (c *cursor) line(ordinal int32) *payroll.Line {
	l := &payroll.Line{Ordinal: ordinal}
	copy(l.Key[:], c.take(uint64(len(l.Key))))
	copy(l.Hash[:], c.take(uint64(len(l.Hash))))
	copy(l.AnyVersion[:], c.take(uint64(len(l.AnyVersion))))
	l.Version = int32(c.uvarint())
	l.Amount = payroll.Minor(c.varint())
	l.Currency = c.text()
	l.EmployeeID = c.text()
	l.Ref = c.text()
	if n := c.uvarint(); n > 0 && n <= payroll.MaxDetails {
		l.Details = make(payroll.Details, n)
		for i := range l.Details {
			l.Details[i] = c.detail()
		}
	}
	l.Metadata = c.bytes()
	return l
}

func (c *cursor) detail() payroll.Detail {
	m := payroll.Detail{Name: c.text()}
	switch c.byte() {
	case detailLiteral:
		m.Text = c.text()
		m.JSON = m.Text
	case detailPlain:
		m.JSON = c.text()
		if len(m.JSON) >= 2 {
			m.Text = m.JSON[1 : len(m.JSON)-1]
		}
	case detailEscaped:
		m.Text = c.text()
		m.JSON = c.text()
	default:
		c.failed = true
	}
	return m
}

func (c *cursor) reject(ordinal int32) *payroll.Reject {
	r := &payroll.Reject{Ordinal: ordinal}
	copy(r.Key[:], c.take(uint64(len(r.Key))))
	copy(r.Digest[:], c.take(uint64(len(r.Digest))))
	r.Reason = payroll.Reason(c.uvarint())
	r.Amount = payroll.Minor(c.varint())
	r.Currency = c.text()
	r.EmployeeID = c.text()
	r.Detail = c.text()
	r.Payload = c.bytes()
	r.PayloadCut = c.byte() == 1
	return r
}
