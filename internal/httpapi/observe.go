package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5"

	"payrollgateway/internal/httpapi/apigen"
)

// note is what a request's log event gathers on the way.
type note struct{ keyID string }

type noteKey struct{}

func noteOf(ctx context.Context) *note {
	if n, ok := ctx.Value(noteKey{}).(*note); ok {
		return n
	}
	return &note{}
}

// routePattern is the route of a request as the document spells it, known once
// it was routed. Never use the path in its place: it carries keys.
func routePattern(r *http.Request) string {
	if route := chi.RouteContext(r.Context()); route != nil {
		return route.RoutePattern()
	}
	return ""
}

// observe writes the one log event of a request, answers a panic, and gives
// every answer its security headers and its deadline.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		n := &note{}
		rec := &recorder{ResponseWriter: w, send: s.Send}
		r = r.WithContext(context.WithValue(r.Context(), noteKey{}, n))
		if r.ContentLength != 0 {
			rec.arriving = &arrival{ReadCloser: r.Body, conn: http.NewResponseController(w), silence: s.Silence}
			r.Body = rec.arriving
		}
		secure(rec.Header())
		s.answer(rec, r, next)
		s.finished(r, rec, n, time.Since(begun))
	})
}

func (s *server) answer(rec *recorder, r *http.Request, next http.Handler) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way
			panic(p)
		}
		// What was thrown may hold values; its type and the place do not.
		s.Log.Error("a handler panicked", "route", routePattern(r), "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
		if rec.status == 0 {
			Refuse(apigen.ProblemCodeInternal).write(rec)
		}
	}()
	next.ServeHTTP(rec, r)
}

func (s *server) finished(r *http.Request, rec *recorder, n *note, took time.Duration) {
	route, status := routePattern(r), rec.statusCode()
	if route == "" || route == "/*" {
		route = "none"
	}
	level := slog.LevelInfo
	if o := s.document.find(r); o != nil && o.keyless() {
		level = slog.LevelDebug
	}
	s.Log.Log(r.Context(), level, "request", "route", route, "method", methodName(r.Method), "status", status, "took_ms", took.Milliseconds(),
		"key_id", n.keyID, "bytes", rec.bytes)
	s.Observe(route, methodName(r.Method), status, took)
}

// methodName keeps invented methods out of logs and labels.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return method
	default:
		return "other"
	}
}

// secure sets the headers that every answer has. The page of documentation
// allows itself its own style.
func secure(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}
