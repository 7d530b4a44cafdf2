package vendor

import (
	"errors"
	"net/http"
	"time"
)

// Exchange is what came of one request: how far it got, and what came back.
type Exchange struct {
	WrittenAt time.Time // just before the first byte was written; zero = none was
	Sent      SentPhase
	Status    int // 0 = no whole status line and header came back
	Header    http.Header
	Body      []byte // decoded, at most MaxAnswer
	Truncated bool   // the body ended early or was longer than MaxAnswer
	Err       error  // one of the errors below; nil where the answer is whole
	Received  time.Time
	// Credential is the number of the one that the request was sent with; 0 = it was not sent.
	Credential int
}

// SentPhase says whether the vendor can have seen anything of a request.
type SentPhase int

// The phases. The zero value is the one that permits nothing.
const (
	MaybeSent   SentPhase = iota
	NothingSent           // certainly no byte was written
)

// MaxAnswer is how many bytes of an answer are read, after decompression.
const MaxAnswer = 8 << 20

// What can become of an exchange. The texts are fixed: what a network or a
// vendor says may hold keys, amounts or names.
var (
	// Nothing was written, by our own decision.
	ErrFence   = errors.New("vendor: the time to write the request had passed")
	ErrStopped = errors.New("vendor: the request was given up before it was written")

	// Nothing was written because there is no connection.
	ErrResolve = errors.New("vendor: the vendor's host name could not be resolved")
	ErrRefused = errors.New("vendor: the vendor refused the connection")
	ErrTLS     = errors.New("vendor: no secure connection could be agreed")
	ErrConnect = errors.New("vendor: no connection to the vendor")

	// Something may have arrived.
	ErrTimeout   = errors.New("vendor: no whole answer in time")
	ErrGivenUp   = errors.New("vendor: the request was given up while its answer was awaited")
	ErrBroken    = errors.New("vendor: the connection broke before a whole answer")
	ErrMalformed = errors.New("vendor: the answer is not HTTP")
	ErrTooLong   = errors.New("vendor: the answer is longer than is read")
)

// unsent reports whether the vendor certainly saw nothing of the request.
func (x Exchange) unsent() bool { return x.Sent == NothingSent && x.Status == 0 }

// withheld reports whether we ourselves kept the request back.
func (x Exchange) withheld() bool {
	return x.unsent() && (errors.Is(x.Err, ErrFence) || errors.Is(x.Err, ErrStopped))
}
