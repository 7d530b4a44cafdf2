package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// Config is everything the interface stands on. The functions and interfaces are
// required but where a default is named.
type Config struct {
	Reader     Reader
	Operations Operations
	Gates      Gates
	Submitter  Submitter
	Letters    Letters
	Resumer    Resumer
	Vendors    Vendors
	Keys       KeyStore

	// Ready says whether this replica can take a request now, and if not, why:
	// fixed words, such as "the store cannot take a write".
	Ready func(ctx context.Context) (ok bool, causes []string)
	// Draining: the process is stopping. New submissions are refused and long
	// polls are answered.
	Draining func() bool
	Metrics  http.Handler
	// Observe notes a finished request; the route is a pattern. nil = nobody.
	Observe func(route, method string, status int, d time.Duration)

	Now   func() time.Time          // the gateway's one clock
	NewID func() (uuid.UUID, error) // nil = uuid.NewV7
	Log   *slog.Logger

	// Uploads is how many submissions are received at once; more are refused as
	// busy. Slow clients count, and each may hold a spool's memory. Default 256.
	Uploads int
	// Waiters is how many long polls wait at once; more are answered at once.
	// Default 256.
	Waiters int
	// Poll is how often a waiter looks at its batch. Default 200 ms.
	Poll time.Duration
	// Silence is how long a submission's body may stay silent, and how long a
	// small body may take in all. Default 60 s.
	Silence time.Duration
	// Send is how long an answer may take to leave. Default 30 s.
	Send time.Duration
}

func (c Config) withDefaults() Config {
	setDefault(&c.Uploads, 256)
	setDefault(&c.Waiters, 256)
	setDefault(&c.Poll, 200*time.Millisecond)
	setDefault(&c.Silence, time.Minute)
	setDefault(&c.Send, 30*time.Second)
	if c.NewID == nil {
		c.NewID = uuid.NewV7
	}
	if c.Observe == nil {
		c.Observe = func(string, string, int, time.Duration) {}
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// NewServer gives a handler the limits that belong to connections. Bodies and
// answers have deadlines of their own, set where they are read and written: an
// upload may take as long as it keeps arriving.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
