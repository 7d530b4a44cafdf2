package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/store"
)

func TestOneLogEventForEachRequest(t *testing.T) {
	type seen struct {
		route, method string
		status        int
	}
	var observed []seen
	w := newWorld(t, func(c *Config) {
		c.Observe = func(route, method string, status int, _ time.Duration) {
			observed = append(observed, seen{route, method, status})
		}
	})
	w.do(samples()["getLine"].request())
	w.do(request("GET", "/v1/lines/pl_secret", "all", ""))
	w.do(request("GET", "/unheard-of/secret", "all", ""))
	w.do(request("SECRET", "/v1/batches", "", ""))
	w.do(request("GET", "/v1/batches?cursor=secret", "", ""))
	want := []seen{
		{"/v1/lines/{line_key}", "GET", 200}, {"/v1/lines/{line_key}", "GET", 404}, {"none", "GET", 404}, {"none", "other", 405}, {"/v1/batches", "GET", 401},
	}
	events := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	if len(events) != len(want) || len(observed) != len(want) {
		t.Fatalf("%d events, %d observed: %s", len(events), len(observed), w.log.String())
	}
	for i, text := range events {
		var e map[string]any
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		if got := (seen{e["route"].(string), e["method"].(string), int(e["status"].(float64))}); got != want[i] || observed[i] != want[i] {
			t.Errorf("event %d: %+v, observed %+v, want %+v", i, got, observed[i], want[i])
		}
	}
	if log := w.log.String(); strings.Contains(strings.ToLower(log), "secret") || strings.Contains(log, "pl_") || !strings.Contains(log, `"key_id":"id-read"`) {
		t.Errorf("log: %s", log)
	}
}

// panics is a Reader that throws what it was asked.
type panics struct{ *ledger }

func (panics) Line(_ context.Context, _, key string) (store.LineView, error) {
	panic("cannot read " + key)
}

func TestAPanicIsAnswered(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Reader = panics{c.Reader.(*ledger)} })
	rec := w.do(samples()["getLine"].request())
	if rec.Code != 500 || codeOf(rec) != "internal" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	log := w.log.String()
	if !strings.Contains(log, "lines.go") || !strings.Contains(log, `"type":"string"`) || strings.Contains(log, w.ledger.letter.LineKey) {
		t.Errorf("log: %s", log)
	}
}

func TestAnAbortIsNoPanic(t *testing.T) {
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("recovered %v", err)
		}
	}()
	w := newWorld(t, func(c *Config) {
		c.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	})
	w.ServeHTTP(httptest.NewRecorder(), samples()["getMetrics"].request())
}

func TestReadinessNamesItsCauses(t *testing.T) {
	w := newWorld(t)
	w.unready = []string{"starting", "the store cannot take a write"}
	rec := w.do(samples()["getReadiness"].request())
	p := problemOf(t, rec.Body.Bytes())
	if len(p.Errors) != 2 || p.Errors[0].Detail != "starting" || rec.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if p.Code != apigen.ProblemCodeStoreUnavailable {
		t.Errorf("code %s", p.Code)
	}
}

func TestHealthLooksAtTheProcessAlone(t *testing.T) {
	w := newWorld(t)
	w.ledger.err, w.unready = store.ErrUnavailable, []string{"starting"}
	w.draining.Store(true)
	if rec := w.do(samples()["getHealth"].request()); rec.Code != 200 || strings.TrimSpace(rec.Body.String()) != `{"status":"ok"}` {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
