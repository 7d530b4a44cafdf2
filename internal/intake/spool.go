package intake

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// spool keeps records in the order in which they came: the first max bytes in
// memory, all of them in an unlinked temporary file as soon as they are more.
// Written once, sealed, then read as often as needed.
type spool struct {
	dir  string
	max  int
	mem  []byte
	file *os.File
	out  *bufio.Writer
	size int64 // bytes of all records
}

var errSpool = errors.New("the spool cannot be read back")

// append adds a record.
func (s *spool) append(record []byte) error {
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(record)))
	if s.file == nil && len(s.mem)+n+len(record) > s.max {
		if err := s.spill(); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
	}
	s.size += int64(n + len(record))
	if s.file == nil {
		s.mem = append(append(s.mem, head[:n]...), record...)
		return nil
	}
	_, err1 := s.out.Write(head[:n])
	_, err2 := s.out.Write(record)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// spill moves the spool from memory to a file that no folder lists: it holds
// pay data, and is gone with the process whatever happens.
func (s *spool) spill() error {
	file, err := os.CreateTemp(s.dir, "intake-*")
	if err != nil {
		return err
	}
	s.file, s.out = file, bufio.NewWriterSize(file, readBuffer)
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	_, err = s.out.Write(s.mem)
	s.mem = nil
	return err
}

// seal ends the writing.
func (s *spool) seal() error {
	if s.file == nil {
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.out = nil
	return nil
}

// records yields every record; the bytes are valid until the next one. The spool
// must be sealed. It may be read several times, also at once.
func (s *spool) records() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(s.reader(), readBuffer)
		var record []byte
		for {
			next, err := readRecord(in, record, s.size)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(next, err) || err != nil {
				return
			}
			record = next
		}
	}
}

func (s *spool) reader() io.Reader {
	if s.file == nil {
		return bytes.NewReader(s.mem)
	}
	return io.NewSectionReader(s.file, 0, s.size)
}

// readRecord reads the next record, of at most limit bytes, into buf or into a
// larger one. io.EOF: there is none.
func readRecord(in *bufio.Reader, buf []byte, limit int64) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil || n > uint64(limit) {
		return nil, fmt.Errorf("%w: %w", errSpool, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	if uint64(cap(buf)) < n {
		buf = make([]byte, n, 2*n)
	}
	buf = buf[:n]
	if _, err := io.ReadFull(in, buf); err != nil {
		return nil, fmt.Errorf("%w: %w", errSpool, err)
	}
	return buf, nil
}

// close gives memory and file back. That closing fails matters to nobody: what
// was written has no name and is not needed any more.
func (s *spool) close() {
	s.mem = nil
	if s.file != nil {
		_ = s.file.Close()
	}
}
