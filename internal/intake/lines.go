package intake

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errRowTooLong: a row is longer than Limits.RowBytes.
var errRowTooLong = errors.New("row too long")

func errLongRow(ordinal int) error {
	return refuseRow(BodyTooLarge, ordinal, "this row is too long; a line ending may be missing")
}

// lineReader cuts a body at its line feeds.
type lineReader struct {
	in   *bufio.Reader
	max  int
	long []byte // a line that does not fit the buffer
}

// next returns the next line with its line ending, if it has one. It is valid
// until the next call. io.EOF: there is none. errRowTooLong: it is longer than
// the limit.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.rest(line)
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = nil
	}
	if err == nil && len(line) > l.max {
		err = errRowTooLong
	}
	return line, err
}

func (l *lineReader) rest(begun []byte) ([]byte, error) {
	l.long = append(l.long[:0], begun...)
	for {
		part, err := l.in.ReadSlice('\n')
		l.long = append(l.long, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, err
		}
		if len(l.long) > l.max {
			return nil, errRowTooLong
		}
	}
}

// trimEnding cuts a line feed, or carriage return and line feed, off.
func trimEnding(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// blank reports whether a line has nothing but blanks: it is no item.
func blank(line []byte) bool { return len(bytes.Trim(line, " \t\r\n")) == 0 }
