package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"payrollgateway/internal/store"
)

// Store is store.Store in PostgreSQL. Methods may be called from any number of
// goroutines.
type Store struct {
	pool  *pgxpool.Pool
	newID func() (uuid.UUID, error)
	fault faults
	lanes lanes
	only  *single // nil: this process has not asked to be the only one
}

var _ store.Store = (*Store)(nil)

type options struct {
	newID     func() (uuid.UUID, error)
	configure []func(*pgxpool.Config)
	single    bool
}

// Option changes how a store is opened.
type Option func(*options)

// WithSingleReplica refuses to open beside another process that did the same:
// LockSingle before anything else.
func WithSingleReplica() Option { return func(o *options) { o.single = true } }

// WithMaxConns bounds the pool; default: four, or the number of processors
// where that is more, or pool_max_conns of the URL.
func WithMaxConns(n int32) Option {
	return func(o *options) {
		o.configure = append(o.configure, func(c *pgxpool.Config) { c.MaxConns = n })
	}
}

// WithTracer has every statement reported, for tests that count them.
func WithTracer(t pgx.QueryTracer) Option {
	return func(o *options) {
		o.configure = append(o.configure, func(c *pgxpool.Config) { c.ConnConfig.Tracer = t })
	}
}

// WithIDs replaces the source of the ids of tokens and dead letters (random,
// time-ordered UUIDs by default), so that a simulation can repeat itself.
func WithIDs(newID func() (uuid.UUID, error)) Option {
	return func(o *options) { o.newID = newID }
}

// session is what every connection of the pool is set to. Locks and guards are
// written for read committed, whatever the server's default. Every statement has
// its index; a planner that knows nothing of a batch which is minutes old must
// not prefer to read all of it.
var session = map[string]string{
	"application_name":              "payroll-gateway",
	"default_transaction_isolation": "read committed",
	"timezone":                      "UTC",
	"jit":                           "off",
	"enable_seqscan":                "off",
	"enable_bitmapscan":             "off",
}

// Open connects, refuses a server whose settings would lose commits
// (*SettingError), and brings the schema up to date. The caller closes it.
func Open(ctx context.Context, url string, opts ...Option) (*Store, error) {
	o := options{newID: uuid.NewV7}
	for _, opt := range opts {
		opt(&o)
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the store's URL cannot be read: postgres://user:password@host:port/database is expected")
	}
	for name, value := range session {
		config.ConnConfig.RuntimeParams[name] = value
	}
	config.AfterConnect = refuseLosses
	for _, configure := range o.configure {
		configure(config)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	s := &Store{pool: pool, newID: o.newID}
	if err := s.start(ctx, o); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) start(ctx context.Context, o options) error {
	if err := s.pool.Ping(ctx); err != nil {
		return translate(err)
	}
	if o.single {
		if err := s.LockSingle(ctx); err != nil {
			return err
		}
	}
	return migrate(ctx, s.pool)
}

// SettingError: the server would lose commits or tear pages when it crashes,
// and a lost commit is a payment made twice.
type SettingError struct {
	Name  string
	Value string
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("the database runs with %s=%s and can lose what it has committed: set it on", e.Name, e.Value)
}

// refuseLosses checks each connection, for a role or a URL may set what the
// server does not.
func refuseLosses(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `SELECT name, setting FROM pg_settings
		WHERE name IN ('synchronous_commit', 'fsync', 'full_page_writes') AND setting = 'off' ORDER BY name`)
	if err != nil {
		return fmt.Errorf("read the server's settings: %w", err)
	}
	off, err := pgx.CollectRows(rows, pgx.RowToStructByPos[SettingError])
	if err != nil {
		return fmt.Errorf("read the server's settings: %w", err)
	}
	if len(off) > 0 {
		return &off[0]
	}
	return nil
}

// Now reads the server's clock.
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan((*stamp)(&now))
	return now, translate(err)
}

// Ping says whether the server can be reached and takes writes.
func (s *Store) Ping(ctx context.Context) error {
	var readOnly bool
	err := s.pool.QueryRow(ctx, "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool").Scan(&readOnly)
	if err == nil && readOnly {
		return fmt.Errorf("%w: the server takes no writes", store.ErrUnavailable)
	}
	return translate(err)
}

// Precision is a microsecond.
func (s *Store) Precision() time.Duration { return time.Microsecond }

// Close gives up the session lock and closes all connections.
func (s *Store) Close() error {
	if s.only != nil {
		s.only.close()
	}
	s.pool.Close()
	return nil
}
