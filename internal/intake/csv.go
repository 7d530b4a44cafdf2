package intake

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// readCSV gives every row of a CSV body to add: RFC 4180 with a header. Blank
// lines are no rows. A row with another number of cells, or with quotes where
// none may be, spoils itself alone; a quote that is never closed spoils the
// body, since nobody can tell where it should have ended.
func readCSV(body *bufio.Reader, l Limits, add func(*draft) error) error {
	records := &csvRecords{lines: lineReader{in: body, max: l.RowBytes}, max: l.RowBytes}
	first, err := records.next()
	if errors.Is(err, io.EOF) {
		return refuse(InvalidBody, "the body is empty: it must begin with a header")
	}
	if err != nil {
		return csvError(err, 0)
	}
	header, err := readHeader(string(first))
	if err != nil {
		return err
	}
	for ordinal := 1; ; ordinal++ {
		record, err := records.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return csvError(err, ordinal)
		}
		if err := add(header.row(record)); err != nil {
			return err
		}
	}
}

func csvError(err error, ordinal int) error {
	switch {
	case errors.Is(err, errOpenQuote):
		return refuseRow(InvalidBody, ordinal, "this quote is never closed")
	case errors.Is(err, errRowTooLong):
		return errLongRow(ordinal)
	default:
		return err
	}
}

// errOpenQuote: the body, or the longest row that is taken, ends in a quoted cell.
var errOpenQuote = errors.New("open quote")

// csvRecords cuts a body into records: lines, and lines joined by line endings
// within quotes.
type csvRecords struct {
	lines  lineReader
	max    int
	joined []byte
}

// next returns the next record that is not blank, without its line ending. It is
// valid until the next call. io.EOF: there is none.
func (c *csvRecords) next() ([]byte, error) {
	line, err := c.lines.next()
	for err == nil && blank(line) {
		line, err = c.lines.next()
	}
	if err != nil {
		return nil, err
	}
	state := cellStart.scan(trimEnding(line))
	if state != cellQuoted {
		return trimEnding(line), nil
	}
	return c.join(line)
}

// join reads on until the quote that the first line left open is closed.
func (c *csvRecords) join(first []byte) ([]byte, error) {
	c.joined = append(c.joined[:0], first...)
	for state := cellQuoted; state == cellQuoted; {
		line, err := c.lines.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errRowTooLong) || len(c.joined)+len(line) > c.max {
			return nil, errOpenQuote
		}
		if err != nil {
			return nil, err
		}
		state = state.scan(trimEnding(line))
		c.joined = append(c.joined, line...)
	}
	return trimEnding(c.joined), nil
}

// cellState is where in a cell a reader stands.
type cellState int

const (
	cellStart   cellState = iota
	cellPlain             // in a cell without quotes, or after a misplaced one
	cellQuoted            // within quotes
	cellClosing           // after a quote that closes the cell, unless another follows
)

// after returns the state after one more byte.
func (s cellState) after(b byte) cellState {
	switch {
	case b == '"' && (s == cellStart || s == cellClosing):
		return cellQuoted
	case b == '"' && s == cellQuoted:
		return cellClosing
	case s == cellQuoted:
		return cellQuoted
	case b == ',':
		return cellStart
	default:
		return cellPlain
	}
}

// scan returns the state after a part of a record.
func (s cellState) scan(part []byte) cellState {
	if s == cellStart && !hasQuote(part) {
		return cellPlain
	}
	for _, b := range part {
		s = s.after(b)
	}
	return s
}

func hasQuote(b []byte) bool {
	for _, c := range b {
		if c == '"' {
			return true
		}
	}
	return false
}

// splitRecord appends a record's cells. ok is false where a quote stands in a
// cell that does not begin with one, or something follows the closing quote.
func splitRecord(record string, cells []string) (_ []string, ok bool) {
	for {
		var cell string
		if strings.HasPrefix(record, `"`) {
			if cell, record, ok = splitQuoted(record); !ok {
				return cells, false
			}
		} else {
			cell, record = splitPlain(record)
			if strings.IndexByte(cell, '"') >= 0 {
				return cells, false
			}
		}
		cells = append(cells, cell)
		if record == "" {
			return cells, true
		}
		record = record[1:] // the comma
	}
}

// splitPlain returns a cell and the rest, which is empty or begins with a comma.
func splitPlain(record string) (cell, rest string) {
	if end := strings.IndexByte(record, ','); end >= 0 {
		return record[:end], record[end:]
	}
	return record, ""
}

// splitQuoted does the same for a cell in quotes.
func splitQuoted(record string) (cell, rest string, ok bool) {
	end, doubled := 1, false
	for {
		quote := strings.IndexByte(record[end:], '"')
		if quote < 0 {
			return "", "", false
		}
		end += quote + 1
		if !strings.HasPrefix(record[end:], `"`) {
			break
		}
		end, doubled = end+1, true
	}
	cell, rest = record[1:end-1], record[end:]
	if doubled {
		cell = strings.ReplaceAll(cell, `""`, `"`)
	}
	return cell, rest, rest == "" || rest[0] == ','
}
