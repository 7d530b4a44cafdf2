package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver

	"payrollgateway/internal/store"
)

// Store is a store.Store in one SQLite file.
type Store struct {
	reads  *sql.DB
	writer *writer
	clock  func() time.Time
	random io.Reader
	fault  atomic.Pointer[func(op string) (applied bool, err error)]
}

var _ store.Store = (*Store)(nil)

// readers is how many reads run at a time; the rest wait.
const readers = 4

// ErrUnsafe: the file would be opened with settings under which a commit that
// was answered can be lost.
var ErrUnsafe = errors.New("unsafe settings: commits could be lost")

type options struct {
	pragmas map[string]string // of the connection that writes
	clock   func() time.Time
	random  io.Reader
}

// Option changes how a file is opened.
type Option func(*options)

// WithPragma sets a pragma of the connection that writes, in place of our own.
// Values under which commits can be lost make Open fail.
func WithPragma(name, value string) Option {
	return func(o *options) { o.pragmas[name] = value }
}

// WithClock is what Store.Now reads; default: the machine's clock.
func WithClock(now func() time.Time) Option { return func(o *options) { o.clock = now } }

// WithRandom is where ids come from; default: the machine's randomness.
func WithRandom(r io.Reader) Option { return func(o *options) { o.random = r } }

// Open opens the file at path, making it where it does not exist, and brings
// its schema up to date. ErrUnsafe for settings that lose commits. The caller
// has locked the file's directory against other processes, and closes the store.
func Open(ctx context.Context, path string, opts ...Option) (*Store, error) {
	o := options{clock: time.Now, random: rand.Reader, pragmas: map[string]string{
		"busy_timeout": "10000", "journal_mode": "WAL", "synchronous": "FULL", "foreign_keys": "1", "cache_size": "-32768",
		"journal_size_limit": "67108864",
	}}
	for _, set := range opts {
		set(&o)
	}
	if err := makePrivate(path); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	writes, err := sql.Open("sqlite", dsn(path, o.pragmas))
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	writes.SetMaxOpenConns(1)
	if err := prepare(ctx, writes); err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	w, err := newWriter(ctx, writes)
	if err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	reads, err := sql.Open("sqlite", dsn(path, map[string]string{"busy_timeout": "10000", "query_only": "1", "cache_size": "-8192"}))
	if err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	reads.SetMaxOpenConns(readers)
	reads.SetMaxIdleConns(readers)
	return &Store{reads: reads, writer: w, clock: o.clock, random: o.random}, nil
}

// makePrivate makes a missing file readable by its owner alone: it tells who is
// paid what. SQLite gives the files beside it the same mode. One that exists
// keeps its mode.
func makePrivate(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

func dsn(path string, pragmas map[string]string) string {
	values := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(pragmas)) {
		values.Add("_pragma", name+"("+pragmas[name]+")")
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + values.Encode()
}

// prepare checks what the connection came up with, then migrates.
func prepare(ctx context.Context, db *sql.DB) error {
	var journal string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return unavailable(err)
	}
	settings := map[string]int{}
	for _, name := range []string{"synchronous", "foreign_keys", "ignore_check_constraints"} {
		var value int
		if err := db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value); err != nil {
			return unavailable(err)
		}
		settings[name] = value
	}
	switch {
	case journal != "wal":
		return fmt.Errorf("%w: journal_mode is %s, must be wal", ErrUnsafe, journal)
	case settings["synchronous"] < 2:
		return fmt.Errorf("%w: synchronous is %s, must be FULL or EXTRA", ErrUnsafe, strconv.Itoa(settings["synchronous"]))
	case settings["foreign_keys"] != 1 || settings["ignore_check_constraints"] != 0:
		return fmt.Errorf("%w: constraints are switched off", ErrUnsafe)
	}
	return migrate(ctx, db)
}

// Close ends the store once the write under way has ended. What comes later is
// ErrUnavailable.
func (s *Store) Close() error {
	return errors.Join(s.writer.close(context.Background()), s.reads.Close())
}

// Now reads the store's clock.
func (s *Store) Now(context.Context) (time.Time, error) {
	return s.clock().UTC().Truncate(time.Microsecond), nil
}

// Precision is the resolution of stored times.
func (s *Store) Precision() time.Duration { return time.Microsecond }

// Ping says whether the store can take a write now: it waits for its turn and
// begins one.
func (s *Store) Ping(ctx context.Context) error {
	return s.write(ctx, "Ping", func(ctx context.Context, t *tx) error {
		var n int
		return t.row(ctx, "SELECT count(*) FROM gates").Scan(&n)
	})
}

// InjectCommitFault is test support: hook is asked before each commit with the
// name of the method that commits. An error takes the place of the commit's
// answer; applied says whether the commit took effect all the same. A nil hook
// ends the faults.
func (s *Store) InjectCommitFault(hook func(op string) (applied bool, err error)) {
	if hook == nil {
		s.fault.Store(nil)
		return
	}
	s.fault.Store(&hook)
}
