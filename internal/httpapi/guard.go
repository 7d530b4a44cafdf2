package httpapi

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"
	"time"

	"payrollgateway/internal/httpapi/apigen"
)

// longestCall bounds every call but an upload: the longest wait, and then what a
// store may take.
const longestCall = maxWait + 30*time.Second

// guard stands before every operation: it finds out who calls and whether they
// may, and holds the request against the document. Nothing behind it runs for a
// request that is not acceptable.
func (s *server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := s.document.find(r)
		if o == nil {
			s.fail(w, r, Refuse(apigen.ProblemCodeNotFound))
			return
		}
		key, refusal := s.authenticate(r, o)
		if refusal != nil {
			s.fail(w, r, refusal)
			return
		}
		noteOf(r.Context()).keyID = key.ID
		joinRepeated(r.Header, "Prefer", "If-None-Match")
		if err := s.check(w, r, o); err != nil {
			s.fail(w, r, err)
			return
		}
		ctx := context.WithValue(r.Context(), callerKey{}, key)
		if !o.streams {
			limited, cancel := context.WithTimeout(ctx, longestCall)
			defer cancel()
			ctx = limited
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func (s *server) authenticate(r *http.Request, o *operation) (Key, *Refusal) {
	if o.keyless() {
		return Key{}, nil
	}
	text, ok := bearer(r.Header.Values("Authorization"))
	if !ok {
		return Key{}, Refuse(apigen.ProblemCodeUnauthorized)
	}
	key, ok := s.Keys.Lookup(sha256.Sum256([]byte(text)))
	if !ok {
		return Key{}, Refuse(apigen.ProblemCodeUnauthorized)
	}
	if !key.allows(o) {
		refusal := Refuse(apigen.ProblemCodeForbidden)
		refusal.RequiredScopes = o.scopes
		return key, refusal
	}
	return key, nil
}

type callerKey struct{}

// caller is whose key an operation was called with; the zero Key where it needs
// none.
func caller(ctx context.Context) Key {
	key, _ := ctx.Value(callerKey{}).(Key)
	return key
}

// joinRepeated makes one header of several, which list headers may be sent as.
func joinRepeated(h http.Header, names ...string) {
	for _, name := range names {
		if values := h.Values(name); len(values) > 1 {
			h.Set(name, strings.Join(values, ", "))
		}
	}
}
