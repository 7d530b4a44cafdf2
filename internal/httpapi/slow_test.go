package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// serve runs a world's handler on a loopback port until the test ends.
func serve(t *testing.T, w *world) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(w, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("a request outlived its client: %v", err)
		}
		<-done
	})
	return listener.Addr().String()
}

// slowly sends a request's head at once and its body byte by byte, until it is
// answered or the context ends. It returns the answer's status, 0 for none.
func slowly(ctx context.Context, address, head string, pace time.Duration) int {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return 0
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, head); err != nil {
		return 0
	}
	answered := make(chan int, 1)
	go func() {
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			answered <- 0
			return
		}
		r.Body.Close()
		answered <- r.StatusCode
	}()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case status := <-answered:
			return status
		case <-tick.C:
			_, _ = conn.Write([]byte("x")) // an answer, or the end, is what counts
		}
	}
}

func uploadHead(length int) string {
	return fmt.Sprintf("POST /v1/batches HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer key-submit\r\nContent-Type: text/csv\r\nContent-Length: %d\r\n\r\n", length)
}

// TestSlowClientsHoldNobodyUp: 200 uploads at a byte a second leave the health
// check and other uploads alone.
func TestSlowClientsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	address := serve(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	var clients sync.WaitGroup
	for range 200 {
		clients.Go(func() { slowly(ctx, address, uploadHead(1<<20), time.Second) })
	}
	defer clients.Wait()
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	var took []time.Duration
	for range 75 {
		<-pace.C
		asked := time.Now()
		answer, err := client.Get("http://" + address + "/healthz")
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("health: %v %v", answer, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		took = append(took, time.Since(asked))
	}
	// One in ten may be late: other tests run beside this one.
	slices.Sort(took)
	if late := took[len(took)*9/10]; late > 100*time.Millisecond {
		t.Errorf("the health check took %v", late)
	}
	call := samples()["submitBatch"]
	r, err := http.NewRequestWithContext(ctx, call.method, "http://"+address+call.path, strings.NewReader(call.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer key-submit")
	r.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(r)
	if err != nil || answer.StatusCode != http.StatusAccepted {
		t.Fatalf("an upload beside slow ones: %v %v", answer, err)
	}
	answer.Body.Close()
}

// TestASilentClientIsCut: an upload that sends nothing more gets 408.
func TestASilentClientIsCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Silence = 50 * time.Millisecond })
	address := serve(t, w)
	if status := slowly(t.Context(), address, uploadHead(100), time.Hour); status != http.StatusRequestTimeout {
		t.Errorf("status %d", status)
	}
}

// TestARefusedClientIsNotWaitedFor guards what net/http does before it answers:
// it reads the rest of a small body, and once waited for it without an end.
func TestARefusedClientIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	address := serve(t, newWorld(t))
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"no key":          {strings.Replace(uploadHead(100), "key-submit", "key-unheard-of", 1), 401},
		"no such":         {strings.Replace(uploadHead(100), "/v1/batches", "/v1/unheard-of", 1), 404},
		"media type":      {strings.Replace(uploadHead(100), "text/csv", "text/plain", 1), 415},
		"no body is read": {strings.Replace(uploadHead(100), "POST /v1/batches HTTP", "GET /healthz HTTP", 1), 200},
	} {
		begun := time.Now()
		if status := slowly(t.Context(), address, c.head, time.Hour); status != c.status || time.Since(begun) > 5*time.Second {
			t.Errorf("%s: %d after %v", name, status, time.Since(begun))
		}
	}
}

// TestASlowSmallBodyIsCut although it never falls silent.
func TestASlowSmallBodyIsCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Silence = 100 * time.Millisecond })
	address := serve(t, w)
	head := "POST /v1/replays HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer key-operate\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
	if status := slowly(t.Context(), address, head, 10*time.Millisecond); status != http.StatusRequestTimeout {
		t.Errorf("status %d", status)
	}
}

// TestADeadlineEndsWithItsBody: a request that goes on for longer than a body
// may take is not cut for it.
func TestADeadlineEndsWithItsBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Silence = 50 * time.Millisecond })
	w.letters.hold, w.intake.after = 150*time.Millisecond, 150*time.Millisecond
	address := serve(t, w)
	client := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	for op, status := range map[string]int{"closeDeadLetter": 200, "submitBatch": 202} {
		call := samples()[op]
		r, err := http.NewRequestWithContext(t.Context(), call.method, "http://"+address+call.path, strings.NewReader(call.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer key-all")
		r.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(answer.Body); answer.StatusCode != status {
			t.Errorf("%s: %d %s", op, answer.StatusCode, text)
		}
		answer.Body.Close()
	}
}
