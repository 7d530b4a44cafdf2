package vendor

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// rawVendor is a TCP server that answers with bytes. It counts what it read, so
// that the judge of the transport is not the transport.
type rawVendor struct {
	t        testing.TB
	listener net.Listener
	answer   func(v *visitor)
	wait     sync.WaitGroup

	mu       sync.Mutex
	conns    int
	requests []*http.Request
	bodies   [][]byte
	open     map[net.Conn]bool
}

// visitor is one request on one connection; n counts the connection's requests.
type visitor struct {
	net.Conn
	request *http.Request
	conn, n int
}

func (v *visitor) say(text string) { _, _ = io.WriteString(v.Conn, text) }

func (v *visitor) reset() {
	_ = v.Conn.(*net.TCPConn).SetLinger(0)
	_ = v.Conn.Close()
}

func newRawVendor(t testing.TB, answer func(v *visitor)) *rawVendor {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawVendor{t: t, listener: l, answer: answer, open: map[net.Conn]bool{}}
	s.wait.Add(1)
	go s.serve()
	t.Cleanup(s.close)
	return s
}

func (s *rawVendor) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
}

func (s *rawVendor) serve() {
	defer s.wait.Done()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns++
		n := s.conns
		s.open[conn] = true
		s.mu.Unlock()
		s.wait.Add(1)
		go s.talk(conn, n)
	}
}

func (s *rawVendor) talk(conn net.Conn, number int) {
	defer s.wait.Done()
	defer conn.Close()
	r := bufio.NewReader(conn)
	for n := 1; ; n++ {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.requests, s.bodies = append(s.requests, request), append(s.bodies, body)
		s.mu.Unlock()
		s.answer(&visitor{conn, request, number, n})
	}
}

func (s *rawVendor) read() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *rawVendor) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

func (s *rawVendor) url() string { return "http://" + s.listener.Addr().String() }

// profile is a vendor whose connections are used again.
func (s *rawVendor) profile(change ...func(*Profile)) *Profile {
	p := keyed(s.t)
	p.BaseURL, p.Submit.Timeout = s.url(), 10*time.Second
	for _, c := range change {
		c(p)
	}
	return p
}

func clientOf(t testing.TB, p *Profile, change ...func(*ClientOptions)) *Client {
	t.Helper()
	o := ClientOptions{Now: time.Now}
	for _, c := range change {
		c(&o)
	}
	c, err := NewClient(p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// submit sends a chunk that may be written for a minute yet.
func submit(t testing.TB, c *Client, chunk Chunk) Exchange {
	t.Helper()
	r, err := c.profile.Render(chunk)
	if err != nil {
		t.Fatal(err)
	}
	return c.Send(context.Background(), r, time.Now().Add(time.Minute))
}

func ask(t testing.TB, c *Client, key string) Exchange {
	t.Helper()
	r, err := c.profile.RenderLookUp(key)
	if err != nil {
		t.Fatal(err)
	}
	return c.Send(context.Background(), r, time.Now().Add(time.Minute))
}

// whole spells an answer with Content-Length.
func whole(status, body string, headers ...string) string {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + status + "\r\n")
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	return b.String()
}
