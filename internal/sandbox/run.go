package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// drain is how long a stopping sandbox waits for answers that are on their way.
const drain = 2 * time.Second

// Run serves a sandbox until ctx ends, which is no error. ready is called once,
// with the address listened on; nothing is printed. The journal is closed when
// Run returns.
func Run(ctx context.Context, cfg Config, ready func(addr net.Addr)) (err error) {
	if cfg.Journal == "" {
		return errors.New("sandbox: journal: a file name is needed")
	}
	journal, err := OpenJournal(cfg.Journal)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	server, err := New(cfg, journal)
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.withDefaults().Listen)
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	return server.serve(ctx, listener, ready)
}

func (s *Server) serve(ctx context.Context, listener net.Listener, ready func(net.Addr)) error {
	web := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	if ready != nil {
		ready(listener.Addr())
	}
	var failed error
	select {
	case <-ctx.Done():
	case <-s.broken:
		failed = errors.New("sandbox: the journal cannot be written")
	case err := <-served:
		return fmt.Errorf("sandbox: %w", err)
	}
	s.Close()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	_ = web.Shutdown(patience)
	_ = web.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		failed = errors.Join(failed, fmt.Errorf("sandbox: %w", err))
	}
	return failed
}
