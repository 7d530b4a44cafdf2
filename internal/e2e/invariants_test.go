package e2e

import (
	"time"

	"payrollgateway/internal/sandbox"
)

// checkRequests judges what the vendor read: one key and one payload per line
// over all attempts (I4), no request without an attempt (I5), no window over
// the limit (I6).
func (w *world) checkRequests(requests []sandbox.Request) {
	w.Helper()
	payloads := map[string]string{}
	for _, r := range requests {
		for _, l := range r.Lines {
			if old, seen := payloads[l.Key]; seen && l.PayloadSHA256 != "" && old != l.PayloadSHA256 {
				w.Errorf("I4: a line went out with two payloads under one key")
			}
			if l.PayloadSHA256 != "" {
				payloads[l.Key] = l.PayloadSHA256
			}
		}
	}
	if attempts := w.attempts(); len(requests) > attempts {
		w.Errorf("I5: the vendor read %d requests, %d attempts are recorded", len(requests), attempts)
	}
	w.checkWindows(requests)
}

// attempts is how many requests were ever recorded.
func (w *world) attempts() int {
	w.Helper()
	n := 0
	for _, t := range w.batches() {
		token, err := w.store.Batch(w.Context(), tenant, t.Batch.Key())
		w.must(err)
		n += int(token.NextAttempt) - 1
	}
	return n
}

func (w *world) checkWindows(requests []sandbox.Request) {
	w.Helper()
	for _, rate := range w.profile.Rate {
		for i := rate.Requests; i < len(requests); i++ {
			if span := requests[i].Time.Sub(requests[i-rate.Requests].Time); span < rate.Per {
				w.Errorf("I6: %d requests within %s", rate.Requests+1, span.Round(time.Microsecond))
				return
			}
		}
	}
}
