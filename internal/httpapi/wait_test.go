package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"payrollgateway/internal/store"
)

// poll calls getBatch with these headers and reports how long it took.
func poll(w *world, prefer, known string) (*httptest.ResponseRecorder, time.Duration) {
	r := samples()["getBatch"].request()
	if prefer != "" {
		r.Header.Set("Prefer", prefer)
	}
	if known != "" {
		r.Header.Set("If-None-Match", known)
	}
	begun := time.Now()
	rec := w.do(r)
	return rec, time.Since(begun)
}

func TestFollowingABatch(t *testing.T) {
	// The batch changes with its 11th read, two seconds after the first.
	changes := func(w *world) {
		w.ledger.change = func(n int64, t *store.Token) {
			if n == 11 {
				t.Version = 418
			}
		}
	}
	comesToRest := func(s store.BatchState) func(*world) {
		return func(w *world) {
			w.ledger.change = func(n int64, t *store.Token) {
				if n == 6 {
					t.State, t.Version = s, 500
				}
			}
		}
	}
	for _, c := range []struct {
		name, prefer, known string
		world               func(*world)
		status              int
		applied             string
		took                time.Duration
	}{
		{name: "as it is", status: 200},
		{name: "known", known: `W/"417"`, status: 304},
		{name: "known, as a strong tag", known: `"417"`, status: 304},
		{name: "any", known: `*`, status: 304},
		{name: "older", known: `W/"41", W/"4170"`, status: 200},
		{name: "waits for news", prefer: "wait=30", known: `W/"417"`, world: changes, status: 200, applied: "wait=30", took: 2 * time.Second},
		{name: "no news", prefer: "wait=5", known: `W/"417"`, status: 304, applied: "wait=5", took: 5 * time.Second},
		{name: "news already", prefer: "wait=30", known: `W/"416"`, status: 200, applied: "wait=30"},
		{name: "no longer than a minute", prefer: "wait=86400", known: `W/"417"`, status: 304, applied: "wait=60", took: time.Minute},
		{name: "waits for rest", prefer: "wait=30", world: comesToRest(store.Completed), status: 200, applied: "wait=30", took: time.Second},
		{name: "suspended is rest", prefer: "wait=30", world: comesToRest(store.Suspended), status: 200, applied: "wait=30", took: time.Second},
		{name: "cancelled is rest", prefer: "wait=30", world: comesToRest(store.CancelledBatch), status: 200, applied: "wait=30", took: time.Second},
		{name: "waiting is no rest", prefer: "wait=3", world: comesToRest(store.Waiting), status: 200, applied: "wait=3", took: 3 * time.Second},
		{name: "no rest in time", prefer: "wait=2", world: changes, status: 200, applied: "wait=2", took: 2 * time.Second},
		{name: "at rest already", prefer: "wait=30", world: func(w *world) { w.ledger.token.State = store.Completed }, status: 200, applied: "wait=30"},
		{name: "not a number", prefer: "wait=soon", known: `W/"417"`, status: 304},
		{name: "less than nothing", prefer: "wait=-1", known: `W/"417"`, status: 304},
		{name: "more than a number", prefer: "wait=99999999999999999999", known: `W/"417"`, status: 304},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			synctest.Test(t, func(t *testing.T) {
				if c.world != nil {
					c.world(w)
				}
				rec, took := poll(w, c.prefer, c.known)
				if rec.Code != c.status || took != c.took || rec.Header().Get("Preference-Applied") != c.applied {
					t.Errorf("%d after %v, applied %q", rec.Code, took, rec.Header().Get("Preference-Applied"))
				}
				if want := etag(w.ledger.token.Version); rec.Header().Get("ETag") != want {
					t.Errorf("tag %s, want %s", rec.Header().Get("ETag"), want)
				}
			})
		})
	}
}

func TestAStopEndsWaits(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		w.ledger.change = func(n int64, _ *store.Token) {
			if n == 3 {
				w.draining.Store(true)
			}
		}
		rec, took := poll(w, "wait=60", "")
		if rec.Code != 200 || took > time.Second || rec.Header().Get("Preference-Applied") != "" {
			t.Errorf("%d after %v, applied %q", rec.Code, took, rec.Header().Get("Preference-Applied"))
		}
	})
}

func TestTooManyWaitersAreAnsweredAtOnce(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Waiters = 1 })
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			poll(w, "wait=10", "")
		}()
		synctest.Wait()
		rec, took := poll(w, "wait=10", "")
		if rec.Code != 200 || took != 0 || rec.Header().Get("Preference-Applied") != "" {
			t.Errorf("%d after %v, applied %q", rec.Code, took, rec.Header().Get("Preference-Applied"))
		}
		<-done
	})
}

func TestAWaitEndsWithItsRequest(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		r := samples()["getBatch"].request().WithContext(ctx)
		r.Header.Set("Prefer", "wait=60")
		begun := time.Now()
		if rec := w.do(r); rec.Code == http.StatusOK || time.Since(begun) != time.Second {
			t.Errorf("%d after %v", rec.Code, time.Since(begun))
		}
	})
}

func TestPreferences(t *testing.T) {
	for header, want := range map[string]string{
		"":                                  "",
		"handling=strict":                   "strict",
		"Handling = Strict":                 "strict",
		`respond-async, handling="strict"`:  "strict",
		"handling=lenient, handling=strict": "lenient",
		"handling=strict; because=\"a,b\"":  "strict",
		"handling=sloppy":                   "",
		"xhandling=strict":                  "",
		"handling":                          "",
	} {
		if got := handlingPreferred(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// hangs is a Reader whose store does not answer.
type hangs struct{ *ledger }

func (hangs) Line(ctx context.Context, _, _ string) (store.LineView, error) {
	<-ctx.Done()
	return store.LineView{}, ctx.Err()
}

func TestNoCallWaitsForAStoreForEver(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Reader = hangs{c.Reader.(*ledger)} })
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		rec := w.do(samples()["getLine"].request())
		if took := time.Since(begun); codeOf(rec) != "store_unavailable" || took != longestCall {
			t.Errorf("%d %s after %v", rec.Code, rec.Body, took)
		}
	})
}
