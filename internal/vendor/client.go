package vendor

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of the transport.
const (
	maxHeader   = 256 << 10
	idleTimeout = 15 * time.Second
	keepAlive   = 15 * time.Second
	userAgent   = "payroll-gateway"
)

// ClientOptions is what a Client does not know by itself.
type ClientOptions struct {
	// Now is the gateway's one clock, in which sendBefore and WrittenAt are
	// told. Required. How long an exchange takes is measured apart from it.
	Now func() time.Time
	// RootCAs are trusted instead of the system's; nil = the system's.
	RootCAs *x509.CertPool
	// Dial opens a TCP connection; nil = the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client sends requests to one vendor. It may be used from many goroutines.
type Client struct {
	timeout    time.Duration
	now        func() time.Time
	profile    *Profile
	transport  *http.Transport
	credential atomic.Pointer[credential]
	refreshing sync.Mutex // held while the secrets are read again
	closed     atomic.Bool
}

// NewClient prepares the connections and reads the credentials of a vendor. It
// fails where a secret cannot be read.
func NewClient(p *Profile, o ClientOptions) (*Client, error) {
	if o.Now == nil {
		return nil, errors.New("vendor: a client needs a clock")
	}
	c := &Client{timeout: p.Submit.Timeout, now: o.Now, profile: p, transport: newTransport(p, o)}
	header, err := p.credentials()
	if err != nil {
		return nil, err
	}
	c.credential.Store(&credential{1, header})
	return c, nil
}

// credential is what requests authenticate with, numbered in the order in which
// the client read them.
type credential struct {
	number int
	header http.Header
}

// newTransport has no proxy, and HTTP/1.1 only: HTTP/2 may send a request
// again. Every connection is a line, see there.
func newTransport(p *Profile, o ClientOptions) *http.Transport {
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: p.Submit.Timeout, KeepAlive: keepAlive}).DialContext
	}
	d := dialer{dial: dial, tls: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs, NextProtos: []string{"http/1.1"}}}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            d.plain,
		DialTLSContext:         d.secure,
		Protocols:              &protocols,
		DisableKeepAlives:      !p.forgivesLoss(),
		MaxIdleConnsPerHost:    p.Submit.Concurrency,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// forgivesLoss: the fate of a request whose answer is lost can be learned
// without a person. Only then is a connection used twice: the vendor may close
// it in the moment in which a request is written.
func (p *Profile) forgivesLoss() bool {
	return p.Policy().Resolves()
}

// RefreshCredentials reads the secrets again, unless a newer credential is in use
// than the one that was refused (its number, from the Exchange). changed says
// that there is another to try. On an error the old one stays in use.
func (c *Client) RefreshCredentials(ctx context.Context, refused int) (changed bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	c.refreshing.Lock()
	defer c.refreshing.Unlock()
	used := c.credential.Load()
	if used.number > refused {
		return true, nil
	}
	fresh, err := c.profile.credentials()
	if err != nil {
		return false, err
	}
	if maps.EqualFunc(used.header, fresh, func(a, b []string) bool { return a[0] == b[0] }) {
		return false, nil
	}
	c.credential.Store(&credential{used.number + 1, fresh})
	return true, nil
}

// Close closes idle connections; those in use close when their exchange ends.
func (c *Client) Close() {
	c.closed.Store(true)
	c.transport.CloseIdleConnections()
}

// Send puts the request on the wire at most once and reads the answer. Its first
// byte is not written after sendBefore (zero = no such bound), told by the
// client's clock; the whole exchange takes no longer than the profile's timeout.
// No redirect is followed. The Exchange says what happened; it has no other way
// to fail.
func (c *Client) Send(ctx context.Context, r Rendered, sendBefore time.Time) Exchange {
	t := &ticket{now: c.now, sendBefore: sendBefore}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, ErrTimeout)
	defer cancel()
	x := c.exchange(ctx, t, r)
	x.WrittenAt, x.Received = t.writtenAt(), c.now()
	if x.WrittenAt.IsZero() {
		x.Sent = NothingSent
	}
	x.Err = explain(ctx, x.Sent, t, x.Err)
	return x
}

func (c *Client) exchange(ctx context.Context, t *ticket, r Rendered) (x Exchange) {
	if c.closed.Load() || ctx.Err() != nil {
		x.Err = ErrStopped
		return x
	}
	if !t.open() {
		x.Err = ErrFence
		return x
	}
	ctx, stop := t.limit(ctx)
	defer stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: t.board})
	used := c.credential.Load()
	x.Credential = used.number
	request, err := c.request(ctx, r, used.header)
	if err != nil {
		x.Err = ErrConnect
		return x
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		x.Err = err
		return x
	}
	defer func() { _ = response.Body.Close() }() // what was read is what counts
	x.Status, x.Header = response.StatusCode, response.Header
	x.Body, x.Err = readAnswer(response)
	x.Truncated = x.Err != nil
	if x.Err == nil {
		t.done()
	}
	return x
}

// request has a body that cannot be rewound, an empty one for a look-up too:
// net/http repeats requests that have none, or can make theirs again.
func (c *Client) request(ctx context.Context, r Rendered, credentials http.Header) (*http.Request, error) {
	body := io.NopCloser(bytes.NewReader(r.Body))
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		return nil, err
	}
	request.GetBody = nil
	request.ContentLength = int64(len(r.Body))
	maps.Copy(request.Header, r.Header)
	maps.Copy(request.Header, credentials)
	request.Header.Set("User-Agent", userAgent)
	return request, nil
}

// readAnswer reads the body to its end, or to what is too much.
func readAnswer(response *http.Response) ([]byte, error) {
	if response.StatusCode == http.StatusSwitchingProtocols {
		return nil, ErrMalformed // nobody asked for another protocol
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return body[:min(len(body), MaxAnswer)], err
	case len(body) > MaxAnswer:
		return body[:MaxAnswer], ErrTooLong
	}
	return body, nil
}
