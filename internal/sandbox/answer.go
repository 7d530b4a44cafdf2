package sandbox

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// answer is a whole HTTP answer, ready to be written or spoilt.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func jsonAnswer(status int, body []byte) answer {
	return answer{status, http.Header{"Content-Type": {"application/json"}}, body}
}

func marshalled(status int, value any) answer {
	body, _ := json.Marshal(value) // our own plain structs
	return jsonAnswer(status, append(body, '\n'))
}

// itemsAnswer is the standard answer.
func itemsAnswer(results []Result) answer {
	status := http.StatusMultiStatus
	if allDone(results) {
		status = http.StatusOK
	}
	return marshalled(status, struct {
		Results []Result `json:"results"`
	}{results})
}

// problem is the sandbox's error body.
func problem(status int, code, detail string) answer {
	return marshalled(status, struct {
		Error  string `json:"error"`
		Detail string `json:"detail,omitempty"`
	}{code, detail})
}

// withHint adds a Retry-After in whole seconds, at least one.
func (a answer) withHint(d time.Duration) answer {
	a.header.Set("Retry-After", strconv.Itoa(wholeSeconds(d)))
	return a
}

func wholeSeconds(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}

// write sends the answer as it should be.
func (a answer) write(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a caller that hung up is its own fault
}
