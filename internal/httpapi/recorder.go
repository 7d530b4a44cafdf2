package httpapi

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Connections that have no deadlines (a test's) have no slow clients either: the
// errors of setting one are left alone in this file.

// recorder notes what was answered, and bounds how long the answer may take to
// leave, from its first byte on.
type recorder struct {
	http.ResponseWriter
	send     time.Duration
	arriving *arrival // the request's body; nil = none
	status   int
	bytes    int64
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(r.send))
		if r.arriving != nil {
			r.arriving.abandon()
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets a ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) statusCode() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// linger is how long a client is listened to that was answered before its body
// had arrived: net/http reads the rest of a small one before it answers, and
// would wait for a silent client for ever.
const linger = time.Second

// arrival is a request's body on its way. It fails with os.ErrDeadlineExceeded
// when nothing arrives for too long. Once it has arrived whole it sets no
// deadline any more: one that net/http meets while it watches the connection of
// a call that goes on would end the call.
type arrival struct {
	io.ReadCloser
	conn    *http.ResponseController
	silence time.Duration // the longest that nothing may arrive
	until   time.Time     // by when all of it must have arrived; zero = whenever
	whole   bool
}

// Read implements io.Reader.
func (a *arrival) Read(p []byte) (int, error) {
	if !a.whole {
		deadline := time.Now().Add(a.silence)
		if !a.until.IsZero() && a.until.Before(deadline) {
			deadline = a.until
		}
		_ = a.conn.SetReadDeadline(deadline)
	}
	n, err := a.ReadCloser.Read(p)
	a.whole = a.whole || errors.Is(err, io.EOF)
	return n, err
}

// abandon bounds what else is read of a body that has not arrived whole.
func (a *arrival) abandon() {
	if !a.whole {
		_ = a.conn.SetReadDeadline(time.Now().Add(linger))
	}
}
