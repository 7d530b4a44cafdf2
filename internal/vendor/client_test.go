package vendor

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

func TestAnExchange(t *testing.T) {
	t.Parallel()
	chunk := chunkOf(3)
	s := newRawVendor(t, func(v *visitor) { v.say(whole("207 Multi-Status", itemsOf(chunk, 201, 503, 422))) })
	c := clientOf(t, s.profile())
	before := time.Now()
	x := submit(t, c, chunk)
	if x.Err != nil || x.Status != 207 || x.Truncated || x.Sent != MaybeSent {
		t.Fatalf("%+v", x)
	}
	if x.WrittenAt.Before(before) || x.Received.Before(x.WrittenAt) {
		t.Errorf("written %v, received %v", x.WrittenAt, x.Received)
	}
	j := c.profile.Judge(chunk, x)
	if j.Lines[0].Verdict != payroll.VerdictSettled || j.Lines[1].Verdict != payroll.VerdictRetry || j.Lines[2].Verdict != payroll.VerdictRejected {
		t.Errorf("%+v", j.Lines)
	}
	want, _ := c.profile.Render(chunk)
	r := s.requests[0]
	if !bytes.Equal(s.bodies[0], want.Body) || r.Method != http.MethodPost || r.URL.Path != "/v1/payroll/lines" || r.ContentLength != int64(len(want.Body)) {
		t.Errorf("%s %s, %d bytes", r.Method, r.URL, len(s.bodies[0]))
	}
	if got := r.Header.Get("Accept-Encoding"); got != "gzip" {
		t.Errorf("Accept-Encoding %q: set by hand, net/http does not decode", got)
	}
}

// stripe-go#647, resty#47: the body of a repeated POST is empty. Here the same
// request is sent twice by two attempts, and both are the same bytes.
func TestASecondAttemptIsTheSameBytes(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) { v.say(whole("503 Later", "")) })
	c := clientOf(t, s.profile())
	submit(t, c, chunkOf(250))
	submit(t, c, chunkOf(250))
	if s.read() != 2 || !bytes.Equal(s.bodies[0], s.bodies[1]) || len(s.bodies[1]) == 0 {
		t.Errorf("%d requests", s.read())
	}
}

// One request on the wire for each Send, whatever net/http would do by itself:
// it repeats a GET, and a request with an Idempotency-Key, when a connection
// that it uses again breaks.
func TestOneRequestOnTheWirePerSend(t *testing.T) {
	t.Parallel()
	breaks := map[string]func(v *visitor){
		"reset":             func(v *visitor) { v.reset() },
		"closed":            func(v *visitor) { _ = v.Close() },
		"half a status":     func(v *visitor) { v.say("HTTP/1."); v.reset() },
		"closed in headers": func(v *visitor) { v.say("HTTP/1.1 200 OK\r\nContent-Le"); _ = v.Close() },
	}
	kinds := map[string]func(t *testing.T, c *Client) Exchange{
		"submit": func(t *testing.T, c *Client) Exchange { t.Helper(); return submit(t, c, chunkOf(2)) },
		"lookup": func(t *testing.T, c *Client) Exchange { t.Helper(); return ask(t, c, "pl_x") },
	}
	for name, fails := range breaks {
		for kind, send := range kinds {
			for reused := range 2 {
				t.Run(fmt.Sprintf("%s %s after %d", kind, name, reused), func(t *testing.T) {
					t.Parallel()
					s := newRawVendor(t, func(v *visitor) {
						if v.n <= reused {
							v.say(whole("200 OK", "{}"))
							return
						}
						fails(v)
					})
					c := clientOf(t, s.profile(func(p *Profile) {
						p.Idempotency = Idempotency{Scope: retry.KeyRequest, Header: "Idempotency-Key", Retention: time.Hour, Partial: true}
					}))
					for range reused {
						if x := send(t, c); x.Err != nil {
							t.Fatal(x.Err)
						}
					}
					x := send(t, c)
					if !errors.Is(x.Err, ErrBroken) && !errors.Is(x.Err, ErrMalformed) || x.Sent != MaybeSent || x.Status != 0 || x.WrittenAt.IsZero() {
						t.Errorf("%+v", x)
					}
					if s.read() != reused+1 || s.connections() != 1 {
						t.Errorf("%d requests on %d connections, want %d on 1", s.read(), s.connections(), reused+1)
					}
				})
			}
		}
	}
}

// The vendor closed an idle connection: the next request goes on a new one, or
// fails, and is not sent twice.
func TestAConnectionThatTheVendorClosed(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 1)
	s := newRawVendor(t, func(v *visitor) {
		v.say(whole("200 OK", "{}"))
		if v.conn == 1 {
			_ = v.Close()
			closed <- struct{}{}
		}
	})
	c := clientOf(t, s.profile())
	ask(t, c, "pl_x")
	<-closed
	x := ask(t, c, "pl_y")
	if s.read() > 2 || x.Err == nil && s.read() != 2 {
		t.Errorf("%d requests for two: %+v", s.read(), x)
	}
}

// axios-retry#66 in other clothes: a vendor without keys and without a look-up
// gets a fresh connection for each request, since a stale one would lose it.
func TestABlindVendorGetsFreshConnections(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) { v.say(whole("200 OK", "{}")) })
	c := clientOf(t, s.profile(func(p *Profile) { p.Idempotency, p.LookUp = Idempotency{Scope: retry.KeyNone}, false }))
	for range 5 {
		if x := submit(t, c, chunkOf(1)); x.Err != nil {
			t.Fatal(x.Err)
		}
	}
	if s.connections() != 5 {
		t.Errorf("%d connections for 5 requests", s.connections())
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) { v.say(whole("200 OK", "{}")) })
	c := clientOf(t, s.profile())
	for range 5 {
		submit(t, c, chunkOf(1))
		ask(t, c, "pl_x")
	}
	if s.connections() != 1 || s.read() != 10 {
		t.Errorf("%d connections, %d requests", s.connections(), s.read())
	}
}

func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var s *rawVendor
		s = newRawVendor(t, func(v *visitor) {
			v.say(whole(fmt.Sprintf("%d Elsewhere", status), "", "Location: "+s.url()+"/elsewhere"))
		})
		c := clientOf(t, s.profile())
		for _, x := range []Exchange{submit(t, c, chunkOf(1)), ask(t, c, "pl_x")} {
			if x.Status != status || x.Err != nil {
				t.Errorf("%+v", x)
			}
		}
		if s.read() != 2 {
			t.Errorf("%d: %d requests for two", status, s.read())
		}
	}
}

// A proxy of the environment would read pay data, and answer for the vendor.
func TestNoProxyFromTheEnvironment(t *testing.T) {
	proxy := newRawVendor(t, func(v *visitor) { v.say(whole("200 OK", "{}")) })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.url())
	}
	p := keyed(t)
	p.BaseURL = "http://vendor.invalid"
	c := clientOf(t, p, func(o *ClientOptions) {
		o.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("unreachable") }
	})
	if x := submit(t, c, chunkOf(1)); x.Sent != NothingSent || !errors.Is(x.Err, ErrConnect) {
		t.Errorf("%+v", x)
	}
	if proxy.connections() != 0 || c.transport.Proxy != nil {
		t.Error("the proxy was asked")
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + l.Addr().String()
	l.Close()
	plain := newRawVendor(t, func(v *visitor) { v.say("hello") })
	fails := func(err error) func(o *ClientOptions) {
		return func(o *ClientOptions) {
			o.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, err }
		}
	}
	hangs := func(o *ClientOptions) {
		o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	cases := []struct {
		name, url string
		option    func(o *ClientOptions)
		want      error
	}{
		{"refused", dead, func(*ClientOptions) {}, ErrRefused},
		{"no such host", "https://vendor.invalid", fails(&net.OpError{Op: "dial", Err: &net.DNSError{Name: "vendor.invalid", IsNotFound: true}}), ErrResolve},
		{"no route", "https://vendor.invalid", fails(errors.New("no route to host")), ErrConnect},
		{"not TLS", strings.Replace(plain.url(), "http:", "https:", 1), func(*ClientOptions) {}, ErrTLS},
		{"nobody answers the dial", "https://vendor.invalid", hangs, ErrConnect},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := keyed(t)
			p.BaseURL, p.Submit.Timeout = tt.url, 300*time.Millisecond
			x := submit(t, clientOf(t, p, tt.option), chunkOf(1))
			if !errors.Is(x.Err, tt.want) || x.Sent != NothingSent || !x.WrittenAt.IsZero() || x.Status != 0 {
				t.Errorf("%+v, want %v", x, tt.want)
			}
			if v := p.Judge(chunkOf(1), x).Lines[0]; v.Verdict != payroll.VerdictReturned || v.Class != payroll.ClassNetwork {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestTLSIsVerified(t *testing.T) {
	t.Parallel()
	var read atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		read.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	p := keyed(t)
	p.BaseURL = s.URL
	if x := submit(t, clientOf(t, p), chunkOf(1)); !errors.Is(x.Err, ErrTLS) || x.Sent != NothingSent || read.Load() != 0 {
		t.Errorf("an unknown authority: %+v", x)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(s.Certificate())
	c := clientOf(t, p, func(o *ClientOptions) { o.RootCAs = trusted })
	for range 2 {
		if x := submit(t, c, chunkOf(1)); x.Err != nil || x.Status != 200 {
			t.Errorf("%+v", x)
		}
	}
}

func TestTimeoutsLeaveTheFateOpen(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(v *visitor){
		"no answer":       func(*visitor) {},
		"half the header": func(v *visitor) { v.say("HTTP/1.1 200 OK\r\nContent-") },
		"half the body":   func(v *visitor) { v.say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRawVendor(t, answer)
			c := clientOf(t, s.profile(func(p *Profile) { p.Submit.Timeout = 200 * time.Millisecond }))
			begun := time.Now()
			x := submit(t, c, chunkOf(1))
			if !errors.Is(x.Err, ErrTimeout) || x.Sent != MaybeSent {
				t.Errorf("%+v", x)
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if v := c.profile.Judge(chunkOf(1), x).Lines[0]; v.Verdict != payroll.VerdictUnknown {
				t.Errorf("%+v", v)
			}
			submit(t, c, chunkOf(1))
			if s.connections() != 2 {
				t.Error("the connection of a request that was given up was used again")
			}
		})
	}
}

func TestGivenUpByTheCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	s := newRawVendor(t, func(*visitor) { cancel() })
	c := clientOf(t, s.profile())
	r, _ := c.profile.Render(chunkOf(1))
	if x := c.Send(ctx, r, time.Time{}); !errors.Is(x.Err, ErrGivenUp) || x.Sent != MaybeSent {
		t.Errorf("%+v", x)
	}
	x := c.Send(ctx, r, time.Time{})
	if !errors.Is(x.Err, ErrStopped) || x.Sent != NothingSent || s.read() != 1 {
		t.Errorf("%+v", x)
	}
}

// F4: a worker that was paused must not write when it wakes up.
func TestNothingIsWrittenAfterTheFence(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) { v.say(whole("200 OK", "{}")) })
	start := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	var now atomic.Int64 // since start
	clock := func() time.Time { return start.Add(time.Duration(now.Load())) }
	dialled := func(o *ClientOptions) {
		o.Now = clock
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			now.Store(int64(3 * time.Second)) // the worker was paused while it dialled
			return conn, err
		}
	}
	c := clientOf(t, s.profile(), dialled)
	r, _ := c.profile.Render(chunkOf(1))
	if x := c.Send(context.Background(), r, start.Add(2*time.Second)); !errors.Is(x.Err, ErrFence) || x.Sent != NothingSent || !x.WrittenAt.IsZero() {
		t.Errorf("paused while dialling: %+v", x)
	}
	if x := c.Send(context.Background(), r, start.Add(2*time.Second)); !errors.Is(x.Err, ErrFence) || x.Sent != NothingSent {
		t.Errorf("paused before: %+v", x)
	}
	if s.read() != 0 {
		t.Fatalf("%d requests were written", s.read())
	}
	x := c.Send(context.Background(), r, start.Add(4*time.Second))
	if x.Err != nil || !x.WrittenAt.Equal(start.Add(3*time.Second)) || s.read() != 1 {
		t.Errorf("in time: %+v", x)
	}
	if v := c.profile.Judge(chunkOf(1), Exchange{Sent: NothingSent, Err: ErrFence}); v.Lines[0].Verdict != payroll.VerdictNotSent || v.Failed {
		t.Errorf("%+v", v)
	}
}

// A vendor that does not answer the dial fails; it is not that we were late.
func TestADialLongerThanTheFenceIsAFailure(t *testing.T) {
	t.Parallel()
	p := keyed(t)
	p.BaseURL = "https://vendor.invalid"
	c := clientOf(t, p, func(o *ClientOptions) {
		o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	})
	r, _ := p.Render(chunkOf(1))
	x := c.Send(context.Background(), r, time.Now().Add(100*time.Millisecond))
	if !errors.Is(x.Err, ErrConnect) || x.Sent != NothingSent || !p.Judge(chunkOf(1), x).Failed {
		t.Errorf("%+v", x)
	}
}

func TestErrorsShowNothing(t *testing.T) {
	t.Parallel()
	const leak = "pl_t1_2026-01_00000000000000000000abc0 EMP-7000 1830.50 top-secret"
	for name, answer := range map[string]string{
		"not HTTP":     leak + "\r\n\r\n",
		"a bad status": "HTTP/1.1 abc " + leak + "\r\n\r\n",
		"a bad header": "HTTP/1.1 200 OK\r\n" + leak + "\r\n\r\n",
		"a bad length": "HTTP/1.1 200 OK\r\nContent-Length: " + leak + "\r\n\r\n",
		"a bad chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + leak + "\r\n\r\n",
		"two lengths":  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n" + leak,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRawVendor(t, func(v *visitor) { v.say(answer); _ = v.Close() })
			p := s.profile(func(p *Profile) {
				p.Auth = []Auth{{Type: AuthBearer, Token: "${env:T}"}}
				p.secrets = knownSecrets{"${env:T}": "top-secret"}.Resolve
			})
			c := clientOf(t, p)
			x := submit(t, c, chunkOf(1))
			if x.Err == nil || x.Sent != MaybeSent {
				t.Fatalf("%+v", x)
			}
			for _, part := range strings.Fields(leak) {
				if strings.Contains(x.Err.Error()+p.Judge(chunkOf(1), x).Detail, part) {
					t.Errorf("%v shows %q", x.Err, part)
				}
			}
			if !slices.Contains(sentinels, x.Err) {
				t.Errorf("%v is none of the errors of an exchange", x.Err)
			}
		})
	}
}

func TestACodeThatSwitchesProtocols(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) {
		v.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
	})
	c := clientOf(t, s.profile(func(p *Profile) { p.Submit.Timeout = time.Second }))
	x := submit(t, c, chunkOf(1))
	if v := c.profile.Judge(chunkOf(1), x); v.Lines[0].Verdict != payroll.VerdictUnknown {
		t.Errorf("%+v", x)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) { v.say(whole("200 OK", "{}")) })
	c := clientOf(t, s.profile())
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for range 20 {
				if x := submit(t, c, chunkOf(2)); x.Err != nil {
					t.Error(x.Err)
				}
			}
		})
	}
	wait.Wait()
	if s.read() != 16*20 {
		t.Errorf("%d requests", s.read())
	}
}

func TestAClosedClientSendsNothing(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) { v.say(whole("200 OK", "{}")) })
	c := clientOf(t, s.profile())
	c.Close()
	if x := submit(t, c, chunkOf(1)); !errors.Is(x.Err, ErrStopped) || x.Sent != NothingSent || s.read() != 0 {
		t.Errorf("%+v", x)
	}
}

// A request that is given up is torn down with a reset: what lies in buffers
// must not be delivered when nobody waits for its answer any more.
func TestGivingUpResetsTheConnection(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := newRawVendor(t, func(v *visitor) {
		_, err := v.Read(make([]byte, 1))
		ended <- err
	})
	c := clientOf(t, s.profile(func(p *Profile) { p.Submit.Timeout = 100 * time.Millisecond }))
	submit(t, c, chunkOf(1))
	if err := <-ended; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the vendor saw %v", err)
	}
}
