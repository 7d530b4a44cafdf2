package intake

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// readNDJSON gives every row of an NDJSON body to add. Blank lines are no rows.
// A row that is not JSON spoils itself alone: where the next one begins is
// certain.
func readNDJSON(body *bufio.Reader, l Limits, add func(*draft) error) error {
	lines := &lineReader{in: body, max: l.RowBytes}
	row := newJSONRow()
	for ordinal := 1; ; {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errRowTooLong):
			return errLongRow(ordinal)
		case err != nil:
			return err
		case blank(line):
			continue
		}
		if err := add(row.read(bytes.Trim(line, " \t\r\n"))); err != nil {
			return err
		}
		ordinal++
	}
}
