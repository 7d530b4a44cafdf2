package benchmark

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// submitPath is where the vendor takes lines.
const submitPath = "/v1/payroll/lines"

// fastVendor is a vendor that costs as little as a vendor can: it answers every
// line of a standard body with 200, at once, and remembers nothing but when
// requests arrived. It reads no more of a body than its keys and is no judge of
// what we send: the sandbox vendor is.
type fastVendor struct {
	mu       sync.Mutex
	arrivals []int64 // nanoseconds since 1970
}

// ServeVendor runs the vendor without latency on a free loopback port until ctx
// ends. It prints its URL as a line of its own when it is ready.
func ServeVendor(ctx context.Context, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("vendor: %w", err)
	}
	server := &http.Server{Handler: new(fastVendor).routes(), ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	fmt.Fprintf(out, "http://%s\n", listener.Addr())
	if err := server.Serve(listener); ctx.Err() == nil {
		return fmt.Errorf("vendor: %w", err)
	}
	return nil
}

func (v *fastVendor) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+submitPath, v.submit)
	mux.HandleFunc("GET /arrivals", v.list)
	return mux
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (v *fastVendor) submit(w http.ResponseWriter, r *http.Request) {
	v.note(time.Now())
	body, answer := buffers.Get().(*bytes.Buffer), buffers.Get().(*bytes.Buffer) //nolint:errcheck // the pool holds nothing else
	defer buffers.Put(body)
	defer buffers.Put(answer)
	body.Reset()
	answer.Reset()
	if _, err := body.ReadFrom(r.Body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	answerStandard(answer, body.Bytes())
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer.Bytes()) // a caller that has gone hears nothing
}

// answerStandard writes the standard answer to a standard body: 200 per line.
func answerStandard(answer *bytes.Buffer, body []byte) {
	key := []byte(`"key":"`)
	answer.WriteString(`{"results":[`)
	for first := true; ; first = false {
		_, rest, found := bytes.Cut(body, key)
		end := bytes.IndexByte(rest, '"')
		if !found || end < 0 {
			break
		}
		if !first {
			answer.WriteByte(',')
		}
		answer.WriteByte('{')
		answer.Write(key)
		answer.Write(rest[:end])
		answer.WriteString(`","status":200}`)
		body = rest[end:]
	}
	answer.WriteString("]}")
}

func (v *fastVendor) note(at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.arrivals = append(v.arrivals, at.UnixNano())
}

// list answers with every arrival, in order.
func (v *fastVendor) list(w http.ResponseWriter, _ *http.Request) {
	v.mu.Lock()
	arrivals := append([]int64{}, v.arrivals...)
	v.mu.Unlock()
	_ = json.NewEncoder(w).Encode(arrivals)
}
