package batch

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"payrollgateway/internal/vendor"
)

// maxLateBody bounds what is kept of a late answer: a longer one is kept as
// truncated, which settles nothing.
const maxLateBody = 1 << 20

// lateAnswer is an answer as it is noted on its attempt.
type lateAnswer struct {
	WrittenAt time.Time   `json:"written_at"`
	Received  time.Time   `json:"received"`
	Sent      int         `json:"sent"`
	Status    int         `json:"status"`
	Header    http.Header `json:"header,omitempty"`
	Body      []byte      `json:"body,omitempty"`
	Truncated bool        `json:"truncated,omitempty"`
	Failed    string      `json:"failed,omitempty"`
}

var errLate = errors.New("the worker saw no answer")

// lateHeaders are the headers that a judge reads.
var lateHeaders = []string{"Content-Type", "Date", "Retry-After"}

func encodeLate(x vendor.Exchange) ([]byte, error) {
	l := lateAnswer{
		WrittenAt: x.WrittenAt, Received: x.Received, Sent: int(x.Sent), Status: x.Status,
		Header: http.Header{}, Body: x.Body, Truncated: x.Truncated,
	}
	for _, name := range lateHeaders {
		if v := x.Header.Get(name); v != "" {
			l.Header.Set(name, v)
		}
	}
	if len(l.Body) > maxLateBody {
		l.Body, l.Truncated = nil, true
	}
	if x.Err != nil {
		l.Failed = "no answer"
	}
	return json.Marshal(l)
}

func decodeLate(b []byte) (vendor.Exchange, error) {
	var l lateAnswer
	if err := json.Unmarshal(b, &l); err != nil {
		return vendor.Exchange{}, err
	}
	x := vendor.Exchange{
		WrittenAt: l.WrittenAt, Received: l.Received, Sent: vendor.SentPhase(l.Sent), Status: l.Status,
		Header: l.Header, Body: l.Body, Truncated: l.Truncated,
	}
	if l.Failed != "" {
		x.Err = errLate
	}
	return x, nil
}
