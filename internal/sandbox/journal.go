package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Journal is an append-only file of JSON records, one a line. Append makes a
// record visible to readers; only Sync makes it survive the machine.
//
// After the first failure every call fails: a vendor whose journal is broken
// must not answer. The journal is safe for concurrent use.
type Journal struct {
	lock *flock.Flock
	past Contents

	appending sync.Mutex
	file      *os.File
	seq       int64
	written   int64
	failed    error

	syncing sync.Mutex
	synced  int64
}

// OpenJournal opens or makes the journal at path and reads it back. What a
// crash left of a last record is cut off: it was never answered for. A journal
// in use by another process is refused.
func OpenJournal(path string) (*Journal, error) {
	lock := flock.New(path + ".lock")
	if mine, err := lock.TryLock(); err != nil || !mine {
		return nil, errors.Join(errors.New("sandbox journal is in use"), err)
	}
	j := &Journal{lock: lock}
	if err := j.open(path); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return j, nil
}

func (j *Journal) open(path string) error {
	past, err := ReadJournal(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("sandbox journal: %w", err)
	}
	if err := file.Truncate(past.length); err != nil {
		return errors.Join(fmt.Errorf("sandbox journal: %w", err), file.Close())
	}
	j.file, j.past, j.seq = file, past, past.lastSeq
	return nil
}

// takePast hands over what was read at opening, once.
func (j *Journal) takePast() Contents {
	past := j.past
	j.past = Contents{}
	return past
}

// Append numbers and writes the records in one write. The mark it returns is
// for Sync.
func (j *Journal) Append(now time.Time, records ...record) (mark int64, err error) {
	j.appending.Lock()
	defer j.appending.Unlock()
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	for _, r := range records {
		j.seq++
		r.stamp(j.seq, now)
		if err := encoder.Encode(r); err != nil {
			return 0, j.fail(err)
		}
	}
	if j.failed != nil {
		return 0, j.failed
	}
	if _, err := j.file.Write(buffer.Bytes()); err != nil {
		return 0, j.fail(err)
	}
	j.written += int64(buffer.Len())
	return j.written, nil
}

// Sync returns when everything up to the mark is on disk. Callers that wait
// while one of them syncs share the next sync.
func (j *Journal) Sync(mark int64) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced >= mark {
		return nil
	}
	j.appending.Lock()
	upTo, failed := j.written, j.failed
	j.appending.Unlock()
	if failed != nil {
		return failed
	}
	if err := j.file.Sync(); err != nil {
		j.appending.Lock()
		defer j.appending.Unlock()
		return j.fail(err)
	}
	j.synced = upTo
	return nil
}

// fail needs the lock of Append.
func (j *Journal) fail(err error) error {
	j.failed = fmt.Errorf("sandbox journal: %w", err)
	return j.failed
}

// Close syncs and closes the file.
func (j *Journal) Close() error {
	return errors.Join(j.file.Sync(), j.file.Close(), j.lock.Unlock())
}

// ReadJournal reads a journal, also one that is being written. A last line
// without its line feed is no record yet and is left out; anything else that
// cannot be read is an error naming the line.
func ReadJournal(path string) (Contents, error) {
	file, err := os.Open(path)
	if err != nil {
		return Contents{}, fmt.Errorf("sandbox journal: %w", err)
	}
	defer func() { _ = file.Close() }()
	var c Contents
	reader := bufio.NewReaderSize(file, 1<<16)
	for number := 1; ; number++ {
		text, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err == nil {
			err = c.add(text)
		}
		if err != nil {
			return Contents{}, fmt.Errorf("sandbox journal, line %d: %w", number, err)
		}
	}
}

func (c *Contents) add(text []byte) error {
	var head Stamp
	if err := json.Unmarshal(text, &head); err != nil {
		return errors.New("not a record")
	}
	var err error
	switch head.Type {
	case TypeRequest:
		c.Requests, err = appendDecoded(c.Requests, text)
	case TypeEffect:
		c.Effects, err = appendDecoded(c.Effects, text)
	case TypeMemory:
		c.Memories, err = appendDecoded(c.Memories, text)
	default:
		err = errors.New("record of an unknown type")
	}
	c.lastSeq, c.length = head.Seq, c.length+int64(len(text))
	return err
}

func appendDecoded[T any](list []T, text []byte) ([]T, error) {
	var item T
	if err := json.Unmarshal(text, &item); err != nil {
		return list, errors.New("record cannot be read")
	}
	return append(list, item), nil
}
