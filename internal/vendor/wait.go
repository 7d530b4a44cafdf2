package vendor

import (
	"net/http"
	"strings"
	"time"
)

// longestHint is what a longer hint is taken for: far beyond what the gate waits.
const longestHint = 366 * 24 * time.Hour

// RetryAfter reads the wait that an answer asks for: seconds of digits only, or
// any of the three forms of an HTTP date, counted from the answer's own Date or,
// without a readable one, from when it was received. A date that has passed is
// a wait of 0. Anything else ("-3", "1.5", "120junk") is no hint: ok is false.
// Of several headers the longest wait counts.
func RetryAfter(h http.Header, received time.Time) (wait time.Duration, ok bool) {
	for _, text := range h.Values("Retry-After") {
		if w, readable := parseWait(text, h, received); readable {
			wait, ok = max(wait, w), true
		}
	}
	return wait, ok
}

func parseWait(text string, h http.Header, received time.Time) (time.Duration, bool) {
	text = strings.Trim(text, " \t")
	if seconds, ok := parseSeconds(text); ok {
		return seconds, true
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	from := received
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		from = date
	}
	return min(max(until.Sub(from), 0), longestHint), true
}

// parseSeconds reads digits of any length; what is too long to count is longestHint.
func parseSeconds(text string) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	wait := time.Duration(0)
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return 0, false
		}
		wait = min(10*wait+time.Duration(c-'0')*time.Second, longestHint)
	}
	return wait, true
}
