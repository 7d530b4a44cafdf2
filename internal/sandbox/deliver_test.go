package sandbox

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// raw posts a body over a bare connection and reads until the vendor ends it.
func (v *vendor) raw(body string) (text string, end error) {
	v.t.Helper()
	conn, err := net.Dial("tcp", v.web.Listener.Addr().String())
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, err = fmt.Fprintf(conn, "POST /v1/payroll/lines HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if err != nil {
		v.t.Fatal(err)
	}
	data, err := io.ReadAll(conn)
	return string(data), err
}

// Each fault, at each of its stages: what the wire shows, and whether the line
// was paid.
func TestFaultsOnTheWire(t *testing.T) {
	const full = `{"results":[{"key":"pl_acme`
	isReset := func(text string, end error) bool { return text == "" && errors.Is(end, syscall.ECONNRESET) }
	begins := func(prefixes ...string) func(string, error) bool {
		return func(text string, end error) bool {
			head, body, _ := strings.Cut(text, "\r\n\r\n")
			return end == nil && strings.HasPrefix(head, prefixes[0]) && strings.Contains(body, prefixes[1])
		}
	}
	cutIn := func(framing string) func(string, error) bool {
		return func(text string, end error) bool {
			head, body, _ := strings.Cut(text, "\r\n\r\n")
			return end == nil && strings.Contains(head, framing) && strings.Contains(body, `{`) && !strings.Contains(body, "]}")
		}
	}
	for kind, seen := range map[string]func(string, error) bool{
		"reset":               isReset,
		"timeout":             isReset,
		"close":               func(text string, end error) bool { return text == "" && end == nil },
		"close-after-headers": func(text string, end error) bool { return end == nil && strings.HasSuffix(text, "\r\n\r\n") },
		"error-body":          begins("HTTP/1.1 200", `{"error":"internal"`),
		"html":                begins("HTTP/1.1 200", "<!doctype html>"),
		"gzip-bomb":           begins("HTTP/1.1 200", "\x1f\x8b"),
		"slow":                begins("HTTP/1.1 200", full),
		"drip":                begins("HTTP/1.1 200", full),
		"two-values":          begins("HTTP/1.1 200", "]}\n{\"results\":[]}"),
		"truncate":            cutIn("Content-Length: "),
		"truncate-chunked":    cutIn("Transfer-Encoding: chunked"),
		"truncate-close":      cutIn("Connection: close"),
		"500":                 begins("HTTP/1.1 500", `"as_asked"`),
		"503":                 begins("HTTP/1.1 503", `"as_asked"`),
		"429":                 begins("HTTP/1.1 429", `"as_asked"`),
		"303":                 begins("HTTP/1.1 303", `"as_asked"`),
		"204":                 begins("HTTP/1.1 204", ""),
	} {
		for _, stage := range []Stage{BeforeCommit, AfterCommit} {
			rates, err := ParseFaultRates(kind + "-" + string(stage) + "=1")
			if err != nil {
				continue // truncate-before-commit and its like
			}
			t.Run(kind+" "+string(stage), func(t *testing.T) {
				v := start(t, Config{Faults: rates, Seed: 5})
				text, end := v.raw(bodyOf(pay{emp: "1"}))
				if !seen(text, end) {
					t.Errorf("%v %.300q", end, text)
				}
				if want := map[bool]int{true: 1}[rates[0].Fault.Commits()]; v.effects("1") != want {
					t.Errorf("%d effects, want %d", v.effects("1"), want)
				}
				if got := v.read().Requests[0].Fault; got != rates[0].Fault.String() {
					t.Errorf("journal says %q", got)
				}
			})
		}
	}
}

func TestRetryAfterHints(t *testing.T) {
	for fault, want := range map[string]string{"429": "2", "503": "2", "503-no-hint": "", "429-no-hint": "", "500": "", "303": ""} {
		v := start(t, Config{Faults: mustRates(t, fault+"=1"), RetryAfter: 1500 * time.Millisecond})
		r := v.mustPost(bodyOf(pay{emp: "1"}))
		if got := r.header.Get("Retry-After"); got != want {
			t.Errorf("%s: Retry-After %q", fault, got)
		}
		if location := r.header.Get("Location"); (location != "") != (fault == "303") {
			t.Errorf("%s: Location %q", fault, location)
		}
	}
}

func TestTruncationAtEveryByte(t *testing.T) {
	whole := start(t, Config{}).mustPost(bodyOf(pay{emp: "1"})).body
	for _, kind := range []string{"truncate", "truncate-chunked", "truncate-close"} {
		for n := 1; n < len(whole); n++ {
			v := start(t, Config{Faults: mustRates(t, kind+"=1"), TruncateAt: n})
			text, _ := v.raw(bodyOf(pay{emp: "1"}))
			_, body, _ := strings.Cut(text, "\r\n\r\n")
			if kind == "truncate-chunked" {
				_, body, _ = strings.Cut(body, "\r\n")
			}
			if body != whole[:n] {
				t.Fatalf("%s at %d: %q", kind, n, body)
			}
			v.stop()
		}
	}
}

// A client must see the framing faults as faults, not as short answers.
func TestFramedTruncationIsAnUnexpectedEnd(t *testing.T) {
	for _, kind := range []string{"truncate", "truncate-chunked", "close-after-headers"} {
		v := start(t, Config{Faults: mustRates(t, kind+"=1")})
		if _, err := v.post(bodyOf(pay{emp: "1"})); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestGzipBombUnpacksToMuch(t *testing.T) {
	v := start(t, Config{Faults: mustRates(t, "gzip-bomb=1")})
	request, _ := http.NewRequest(http.MethodPost, v.web.URL+"/v1/payroll/lines", strings.NewReader(bodyOf(pay{emp: "1"})))
	request.Header.Set("Accept-Encoding", "gzip") // so that the transport leaves it packed
	response, err := v.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	unpacked, err := gzip.NewReader(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, unpacked)
	if err != nil || n < bombSize || response.ContentLength > 1<<20 {
		t.Fatalf("%d bytes from %d, %v", n, response.ContentLength, err)
	}
}

func TestLatencyAndJitterPassBeforeTheCommit(t *testing.T) {
	v := start(t, Config{Latency: 100 * time.Millisecond, Jitter: 50 * time.Millisecond})
	for i := range 5 {
		v.mustPost(bodyOf(pay{emp: fmt.Sprint(i)}))
	}
	distinct := map[time.Duration]bool{}
	for _, d := range v.clock.paused() {
		if d < 100*time.Millisecond || d >= 150*time.Millisecond {
			t.Fatal(d)
		}
		distinct[d] = true
	}
	if len(distinct) < 2 {
		t.Fatal("no jitter")
	}
}

func TestDripPausesAfterEveryByte(t *testing.T) {
	v := start(t, Config{Faults: mustRates(t, "drip=1"), DripEvery: time.Second, MaxHold: time.Hour})
	r := v.mustPost(bodyOf(pay{emp: "1"}))
	// The pause after the last byte may still lie ahead when that byte is read.
	if n := len(v.clock.paused()); len(r.items) != 1 || n < len(r.body)-1 || n > len(r.body) {
		t.Fatalf("%d pauses for %d bytes", n, len(r.body))
	}
}

func TestDripBreaksOffAtMaxHold(t *testing.T) {
	v := start(t, Config{Faults: mustRates(t, "drip=1"), DripEvery: time.Second, MaxHold: 10 * time.Second})
	if r, err := v.post(bodyOf(pay{emp: "1"})); err == nil || len(r.body) > 11 {
		t.Fatalf("%q, %v", r.body, err)
	}
}

// gate is a clock whose pauses never end by themselves.
type gate struct {
	*fakeClock
	entered chan struct{}
}

func (g *gate) After(time.Duration) (fired <-chan time.Time, stop func()) {
	g.entered <- struct{}{}
	return nil, func() {}
}

func TestTimeoutEndsWithItsCaller(t *testing.T) {
	clock := &gate{fakeClock: newFakeClock(), entered: make(chan struct{})}
	v := start(t, Config{Faults: mustRates(t, "timeout=1"), Clock: clock})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, v.web.URL+"/v1/payroll/lines", strings.NewReader(bodyOf(pay{emp: "1"})))
		_, err := v.send(request)
		done <- err
	}()
	<-clock.entered
	if v.effects("1") != 1 {
		t.Error("timeout after the commit, yet nothing is in the journal")
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	v.web.Close() // returns only when the handler has
}

func TestCloseWakesWhatIsHeldAndDoesNotPay(t *testing.T) {
	clock := &gate{fakeClock: newFakeClock(), entered: make(chan struct{})}
	v := start(t, Config{Faults: mustRates(t, "slow-before-commit=1"), Clock: clock})
	done := make(chan error, 1)
	go func() {
		_, err := v.post(bodyOf(pay{emp: "1"}))
		done <- err
	}()
	<-clock.entered
	v.server.Close()
	if err := <-done; err == nil {
		t.Fatal("answered")
	}
	if v.effects("1") != 0 {
		t.Fatal("paid although the server was closing")
	}
}
