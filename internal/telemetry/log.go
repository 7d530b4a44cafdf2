package telemetry

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// NewLogger returns a logger of JSON lines that redacts. Level info and above.
func NewLogger(w io.Writer) *slog.Logger {
	return slog.New(Redact(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo})))
}

// Redact wraps a handler so that attributes which name a person, an amount or
// a secret lose their value, and line keys, bearer tokens and credentials in
// addresses are masked wherever they stand in a text. It is the second net: the
// first is that nobody logs them.
func Redact(h slog.Handler) slog.Handler { return redactor{h} }

type redactor struct{ slog.Handler }

const redacted = "[redacted]"

// forbidden are attribute names whose values are never written.
var forbidden = map[string]bool{
	"employee_id": true, "employee": true, "name": true, "display_name": true, "line_key": true, "key": true, "api_key": true,
	"amount": true, "gross_pay": true, "authorization": true, "password": true, "secret": true, "token": true, "payload": true, "body": true,
}

var (
	lineKey     = regexp.MustCompile(`pl_[A-Za-z0-9._-]+_[0-9a-f]{24}(\.\d+)?`)
	bearer      = regexp.MustCompile(`(?i)(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`)
	credentials = regexp.MustCompile(`://[^/\s:@]+:[^/\s@]+@`)
)

// Mask masks line keys and credentials inside a text.
func Mask(s string) string {
	s = lineKey.ReplaceAllString(s, redacted)
	s = bearer.ReplaceAllString(s, "$1 "+redacted)
	return credentials.ReplaceAllString(s, "://"+redacted+"@")
}

func (r redactor) Handle(ctx context.Context, rec slog.Record) error {
	clean := slog.NewRecord(rec.Time, rec.Level, Mask(rec.Message), rec.PC)
	rec.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(cleanAttr(a))
		return true
	})
	return r.Handler.Handle(ctx, clean)
}

func (r redactor) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = cleanAttr(a)
	}
	return redactor{r.Handler.WithAttrs(clean)}
}

func (r redactor) WithGroup(name string) slog.Handler { return redactor{r.Handler.WithGroup(name)} }

func cleanAttr(a slog.Attr) slog.Attr {
	if forbidden[strings.ToLower(a.Key)] {
		return slog.String(a.Key, redacted)
	}
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.String(a.Key, Mask(v.String()))
	case slog.KindGroup:
		group := v.Group()
		clean := make([]slog.Attr, len(group))
		for i, m := range group {
			clean[i] = cleanAttr(m)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(clean...)}
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return slog.String(a.Key, Mask(err.Error()))
		}
	default: // numbers, times and booleans say nothing that needs masking
	}
	return slog.Attr{Key: a.Key, Value: v}
}
