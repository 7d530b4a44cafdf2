package vendor

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"
)

// Below every other precaution: a request that net/http may repeat, and does, on
// a connection that breaks when it is used again, reaches the vendor once.
func TestATicketIsForOneLine(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) {
		if v.n == 1 && v.conn == 1 {
			v.say(whole("200 OK", "{}"))
			return
		}
		v.reset()
	})
	c := clientOf(t, s.profile())
	if x := ask(t, c, "pl_x"); x.Err != nil {
		t.Fatal(x.Err)
	}
	ticket, boarded := &ticket{now: time.Now}, 0
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { boarded++; ticket.board(i) }})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := c.transport.RoundTrip(request); err == nil {
		response.Body.Close()
		t.Error("an answer out of nothing")
	}
	if s.read() != 2 || boarded != 2 {
		t.Errorf("%d requests, want 2; %d tries of the second one, want 2", s.read(), boarded)
	}
}

func TestALineWithoutATicketIsSilent(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	wrote := make(chan struct{})
	go func() { defer close(wrote); _, _ = io.Copy(io.Discard, there) }()
	l := &line{Conn: here, tcp: here}
	refused := func(when string) {
		t.Helper()
		if n, err := l.Write([]byte("x")); n != 0 || err == nil {
			t.Errorf("%s: %d bytes, %v", when, n, err)
		}
	}
	refused("before there is a ticket")
	ticket := &ticket{now: time.Now}
	ticket.board(httptrace.GotConnInfo{Conn: l})
	if n, err := l.Write([]byte("x")); n != 1 || err != nil || ticket.writtenAt().IsZero() {
		t.Errorf("with a ticket: %d bytes, %v", n, err)
	}
	ticket.done()
	refused("after the answer")
	l.Close()
	<-wrote
}
