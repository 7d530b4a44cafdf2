package vendor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

const topSecret = "s3cr3t-t0ken"

// printed is everything that can be made of a value by accident.
func printed(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb+"\n", v)
	}
	for _, h := range []slog.Handler{slog.NewJSONHandler(&b, nil), slog.NewTextHandler(&b, nil)} {
		if err := h.Handle(context.Background(), record4log(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}

func record4log(v any) slog.Record {
	r := slog.NewRecord(time.Time{}, slog.LevelError, "x", 0)
	r.AddAttrs(slog.Any("value", v))
	return r
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	secrets := knownSecrets{"${env:TOKEN}": topSecret, "${env:USER}": topSecret + "-user", "${file:/pw}": topSecret + "-pw"}
	p, err := Parse("acme.yaml", []byte(minimal+`auth:
  - {type: basic, username: "${env:USER}", password: "${file:/pw}"}
  - {type: header, name: X-Key, value: "${env:TOKEN}"}
`), secrets)
	if err != nil {
		t.Fatal(err)
	}
	type holder struct {
		Shown  Secret
		hidden Secret
		Deep   map[string]*Secret
	}
	s := NewSecret(topSecret)
	r, _ := p.Render(chunkOf(1))
	for name, v := range map[string]any{
		"secret": s, "pointer": &s, "list": []Secret{s}, "holder": holder{s, s, map[string]*Secret{"a": &s}},
		"profile": *p, "pointer to profile": p, "request": r,
	} {
		text := printed(t, v)
		for _, form := range []string{topSecret, fmt.Sprintf("%x", topSecret), fmt.Sprintf("%X", topSecret)} {
			if strings.Contains(text, form) {
				t.Errorf("%s shows the secret:\n%s", name, text)
			}
		}
	}
	if s.Reveal() != topSecret || (Secret{}).Reveal() != "" {
		t.Error("the secret is lost")
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"${file:/run/secrets/acme}": {"file", "/run/secrets/acme"}, "${env:ACME}": {"env", "ACME"}, "${file:C:\\x}": {"file", "C:\\x"},
		"": {}, "secret": {}, "${}": {}, "${env:}": {}, "${vault:x}": {}, "${env:X": {}, "$env:X}": {}, "x${env:X}": {}, "${env}": {},
	} {
		source, name, ok := Reference(text)
		if (source != want[0]) || name != want[1] || ok != (want[0] != "") {
			t.Errorf("%q: %q %q %v", text, source, name, ok)
		}
	}
}

func TestCredentialsOnTheWire(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) { v.say(whole("200 OK", "{}")) })
	secrets := knownSecrets{"${env:TOKEN}": topSecret + "\n", "${env:KEY}": "k"}
	for want, auth := range map[string]Auth{
		"Bearer " + topSecret: {Type: AuthBearer, Token: "${env:TOKEN}"},
		"Basic azo=":          {Type: AuthBasic, Username: "${env:KEY}"},                // "k:"
		"Basic dTpr":          {Type: AuthBasic, Username: "u", Password: "${env:KEY}"}, // "u:k"
	} {
		p := s.profile(func(p *Profile) {
			p.Auth = []Auth{auth, {Type: AuthHeader, Name: "x-extra", Value: "${env:KEY}"}}
			p.secrets = secrets.Resolve
		})
		c := clientOf(t, p)
		submit(t, c, chunkOf(1))
		ask(t, c, "pl_x")
		for _, r := range s.requests[len(s.requests)-2:] {
			if got := r.Header.Get("Authorization"); got != want || r.Header.Get("X-Extra") != "k" {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

// changing is a source whose secrets may change.
type changing struct {
	text string
	err  error
}

func (c *changing) Resolve(string) (Secret, error) { return NewSecret(c.text), c.err }

func TestCredentialsAreReadAgain(t *testing.T) {
	t.Parallel()
	s := newRawVendor(t, func(v *visitor) { v.say(whole("200 OK", "{}")) })
	source := &changing{text: "one"}
	p := s.profile(func(p *Profile) { p.Auth = []Auth{{Type: AuthBearer, Token: "${env:T}"}}; p.secrets = source.Resolve })
	c := clientOf(t, p)
	refresh := func(refused int, want bool) {
		t.Helper()
		if changed, err := c.RefreshCredentials(context.Background(), refused); changed != want || err != nil {
			t.Errorf("changed %v, %v; want %v", changed, err, want)
		}
	}
	refresh(1, false)
	source.text = "two"
	refresh(1, true)
	refresh(1, true) // another request that went out with the first one
	refresh(2, false)
	source.text = ""
	if _, err := c.RefreshCredentials(context.Background(), 2); !errors.Is(err, errCredential) {
		t.Errorf("an empty secret: %v", err)
	}
	source.text, source.err = "three", errors.New("permission denied")
	if _, err := c.RefreshCredentials(context.Background(), 2); !errors.Is(err, errCredential) {
		t.Errorf("an unreadable secret: %v", err)
	}
	if x := submit(t, c, chunkOf(1)); x.Credential != 2 {
		t.Errorf("sent with credential %d", x.Credential)
	}
	if got := s.requests[0].Header.Get("Authorization"); got != "Bearer two" {
		t.Errorf("the last good one is not in use: %q", got)
	}
	if _, err := NewClient(p, ClientOptions{Now: time.Now}); err == nil {
		t.Error("a client without its credential")
	}
}
