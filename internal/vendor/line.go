package vendor

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"time"
)

// line is a connection to the vendor that carries nothing without a ticket. The
// ticket is what makes two promises hold whatever net/http does above: the first
// byte of a request is not written after its time, and a request travels on one
// line only, once.
type line struct {
	net.Conn          // what bytes are written to: TCP, or TLS above it
	tcp      net.Conn // what is torn down

	mu     sync.Mutex
	ticket *ticket // of the request that is on its way, or was the last
}

// errNoTicket stops a request that net/http would send a second time.
var errNoTicket = errors.New("vendor: no ticket")

// errLate ends the wait for a connection.
var errLate = errors.New("vendor: too late to connect")

// Write refuses bytes that no ticket admits. Nothing of them leaves.
func (l *line) Write(b []byte) (int, error) {
	if err := l.holder().admit(); err != nil {
		return 0, err
	}
	return l.Conn.Write(b)
}

// Close tears the connection down with a reset if its request was given up: what
// lies in buffers is not delivered later.
func (l *line) Close() error {
	if l.holder().unfinished() {
		if tcp, ok := l.tcp.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a closed connection needs no reset
		}
		_ = l.tcp.Close() // first: a TLS farewell would wait for the peer
	}
	return l.Conn.Close()
}

func (l *line) holder() *ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ticket
}

// ticket lets one request onto one line.
type ticket struct {
	now        func() time.Time
	sendBefore time.Time // zero = any time

	mu      sync.Mutex
	line    *line
	written time.Time // when the first byte was admitted
	late    bool      // the time passed before
	ended   bool      // the answer was read whole
}

// open reports whether there is time left to write.
func (t *ticket) open() bool { return t.sendBefore.IsZero() || t.now().Before(t.sendBefore) }

// board binds the ticket to the connection that net/http chose. A ticket that
// is bound already stays where it is, so a repetition finds its line without one.
func (t *ticket) board(info httptrace.GotConnInfo) {
	l, ok := info.Conn.(*line)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !ok || t.line != nil {
		return
	}
	t.line = l
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ticket = t
}

// admit is asked before every write on a line.
func (t *ticket) admit() error {
	if t == nil {
		return errNoTicket
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
		return errNoTicket
	case !t.written.IsZero():
		return nil
	}
	now := t.now()
	if t.late || !t.sendBefore.IsZero() && !now.Before(t.sendBefore) {
		t.late = true
		return ErrFence
	}
	t.written = now
	return nil
}

// limit ends the context when the time has passed and nothing was written, so
// that nobody waits for a connection that comes too late.
func (t *ticket) limit(ctx context.Context) (context.Context, func()) {
	if t.sendBefore.IsZero() {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(t.sendBefore.Sub(t.now()), func() {
		if t.expire() {
			cancel(errLate)
		}
	})
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// expire closes the ticket unless its request is on the way.
func (t *ticket) expire() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = t.written.IsZero()
	return t.late
}

func (t *ticket) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

func (t *ticket) unfinished() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.written.IsZero() && !t.ended
}

func (t *ticket) writtenAt() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written
}

// connected: a connection was there, so what kept the request back was time.
func (t *ticket) connected() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line != nil
}

func (t *ticket) tooLate() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
}

// dialer makes lines.
type dialer struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	tls  *tls.Config
}

func (d dialer) plain(ctx context.Context, network, address string) (net.Conn, error) {
	tcp, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &line{Conn: tcp, tcp: tcp}, nil
}

// secure agrees TLS before the connection is a line, so that a handshake is
// never taken for a request.
func (d dialer) secure(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	tcp, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := d.tls.Clone()
	config.ServerName = host
	secured := tls.Client(tcp, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = tcp.Close() // the handshake's fault is the one that matters
		return nil, handshakeError{err}
	}
	return &line{Conn: secured, tcp: tcp}, nil
}

type handshakeError struct{ error }

func (e handshakeError) Unwrap() error { return e.error }
