package vendor

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Secret is a text that must not be seen: a token, a password. Every way of
// printing it gives "[redacted]"; only Reveal gives the text.
type Secret struct {
	text *string // behind a pointer: a printer that looks into structs sees an address
}

const redacted = "[redacted]"

// NewSecret keeps a text secret.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text, for the one place that puts it on the wire.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

func (s Secret) String() string { return redacted }

// Format covers every verb, %#v and %d among them.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue keeps the text out of structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON keeps the text out of JSON.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText keeps the text out of every other encoding.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Secrets finds what a reference in a profile stands for. Its errors name the
// reference and the reason, never a text that was found.
type Secrets interface {
	Resolve(ref string) (Secret, error)
}

// Reference takes "${file:/path}" or "${env:NAME}" apart; ok is false for every
// other text.
func Reference(ref string) (source, name string, ok bool) {
	inner, found := strings.CutPrefix(ref, "${")
	inner, closed := strings.CutSuffix(inner, "}")
	source, name, split := strings.Cut(inner, ":")
	ok = found && closed && split && name != "" && (source == "file" || source == "env")
	if !ok {
		return "", "", false
	}
	return source, name, true
}

// secretFault is a secret that cannot be used, in words that may be shown.
type secretFault string

func (f secretFault) Error() string { return string(f) }

// reveal resolves a reference to a text that fits into a header. The line end
// that editors put behind a file's only line is not part of it.
func reveal(resolve func(string) (Secret, error), ref string) (string, error) {
	if resolve == nil {
		return "", secretFault("cannot be read: no source of secrets is configured")
	}
	s, err := resolve(ref)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	text := strings.TrimRight(s.Reveal(), "\r\n")
	switch {
	case text == "":
		return "", secretFault("is empty: the vendor would be called without a credential")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", secretFault("has a control character or more than one line: it does not fit into a header")
	}
	return text, nil
}
