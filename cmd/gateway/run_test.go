package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"payrollgateway/internal/httpapi/apigen"
)

// console collects what a command prints, and shows lines as they come.
type console struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string
}

func newConsole() *console { return &console{lines: make(chan string, 100)} }

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines <- string(p)
	return c.text.Write(p)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// TestServeInProcess: the whole server is one function of its surroundings,
// and gives back what it took.
func TestServeInProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	vendors := filepath.Join(dir, "vendors")
	profile := "name: acme\nrevision: 1\nbase_url: http://127.0.0.1:9\nsubmit: {path: /x, timeout: 200ms}\nidempotency: {scope: line, retention: 24h}\nrate: {requests: 10, per: 1s}\n"
	if err := os.Mkdir(vendors, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(vendors, "acme.yaml"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, logs := newConsole(), &syncBuffer{}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, Env{
			Args:  []string{"serve", "--listen", "127.0.0.1:0", "--vendors", vendors},
			Stdin: strings.NewReader(""), Stdout: out, Stderr: logs, Getenv: environment("XDG_DATA_HOME", dir),
		})
	}()
	url, ok := address(<-out.lines)
	if !ok {
		t.Fatalf("printed %q, logged %s", out, logs)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/docs": 200, "/openapi.yaml": 200, "/v1/batches": 401} {
		if got := getStatus(t, url+path); got != want {
			t.Errorf("%s: status %d, not %d", path, got, want)
		}
	}
	stop()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("exit status %d: %s", code, logs)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}
	for _, line := range strings.Split(strings.TrimSpace(logs.String()), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("the log has a line that is no JSON: %s", line)
		}
	}
	if text := logs.String(); strings.Contains(text, "pgk_") {
		t.Error("a key is in the log")
	}
}

func getStatus(t *testing.T, url string) int {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// syncBuffer is a buffer that may be read while it is written.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestProblemsAreSentences(t *testing.T) {
	t.Parallel()
	age := 1.4
	for _, c := range []struct {
		problem apigen.Problem
		want    string
	}{
		{
			apigen.Problem{Title: "The batch is held", Code: "held", Detail: "Wait.", HoldReason: "suspended"},
			"The batch is held (held). Wait.\n  held: suspended",
		},
		{
			apigen.Problem{Title: "A worker is on it", Code: "owner_alive", Owner: "a:1", HeartbeatAge: &age},
			"A worker is on it (owner_alive)\n  owner a:1, last heartbeat 1.4 s ago",
		},
		{
			apigen.Problem{Title: "T", Code: "strict_refused", ErrorsTotal: 30, Errors: make([]apigen.Fault, 25)},
			"T (strict_refused)" + strings.Repeat("\n  ", 20) + "\n  … and 10 more",
		},
		{
			apigen.Problem{Title: "T", Code: "invalid_envelope", Errors: []apigen.Fault{{Pointer: "/cutoff_at", Detail: "must lie ahead"}, {Ordinal: 3, Code: "poison_message", Detail: "is no row"}}},
			"T (invalid_envelope)\n  /cutoff_at: must lie ahead\n  row 3 poison_message: is no row",
		},
	} {
		if got := (&problemError{c.problem}).Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0": "0", "999": "999", "1000": "1,000", "-1000.50": "-1,000.50", "-999": "-999", "1234567.891": "1,234,567.891", "123456": "123,456",
	} {
		if got := grouped(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestTableAlignsNumbersToTheRight(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	o := output{w: &b}
	err := o.table("state,lines", func(row func(...any)) {
		row("settled", "1,000")
		row("x", "7")
	})
	if want := "state    lines\nsettled  1,000\nx            7\n"; err != nil || b.String() != want {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// TestPlainProgressIsQuiet: a log is not a terminal; a line now and then, and
// the last one always.
func TestPlainProgressIsQuiet(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := &ticks{w: &b, every: time.Hour}
	for n := range 5 {
		p.show(apigen.Batch{Total: 5, Counts: apigen.LineCounts{Settled: n, Pending: 5 - n}})
	}
	p.away()
	p.away()
	p.end()
	want := "          0 of 5 lines ended: 5 pending\nthe gateway does not answer; waiting for it\n          4 of 5 lines ended: 4 settled, 1 pending\n"
	if b.String() != want {
		t.Errorf("got %q", b.String())
	}
}
