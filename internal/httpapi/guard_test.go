package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"payrollgateway/internal/httpapi/apigen"
)

// TestScopes calls every operation with every key: the document says who may.
func TestScopes(t *testing.T) {
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	for _, o := range d.operations {
		for name, key := range worldKeys {
			may := o.keyless()
			for _, s := range o.scopes {
				may = may || slices.Contains(key.Scopes, s) && (s == apigen.ScopeAdmin) == (key.Tenant == "")
			}
			call := samples()[o.id]
			call.key = name
			if rec := w.do(call.request()); may == (rec.Code == http.StatusForbidden) || rec.Code == http.StatusUnauthorized {
				t.Errorf("%s with the key %q: %d", o.id, name, rec.Code)
			}
		}
	}
}

// TestOtherTenantsObjectsAreNotFound calls every operation that names an object
// with a key of another tenant.
func TestOtherTenantsObjectsAreNotFound(t *testing.T) {
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range d.operations {
		if !strings.Contains(o.pattern, "{") || slices.Contains(o.scopes, apigen.ScopeAdmin) {
			continue // vendors are everybody's
		}
		call := samples()[o.id]
		call.key = "rival"
		rec := newWorld(t).do(call.request())
		if rec.Code != http.StatusNotFound || codeOf(rec) != "not_found" {
			t.Errorf("%s: %d %s", o.id, rec.Code, rec.Body)
		}
	}
}

func TestOtherTenantsListsAreEmpty(t *testing.T) {
	for _, id := range []string{"listBatches", "findLines", "listDeadLetters"} {
		call := samples()[id]
		call.key = "rival"
		if rec := newWorld(t).do(call.request()); rec.Code != 200 || strings.TrimSpace(rec.Body.String()) != `{"items":[]}` {
			t.Errorf("%s: %d %s", id, rec.Code, rec.Body)
		}
	}
}

func TestKeysThatAreNone(t *testing.T) {
	for name, headers := range map[string][]string{
		"none":         {},
		"empty":        {""},
		"scheme alone": {"Bearer"},
		"no key":       {"Bearer "},
		"other scheme": {"Basic key-all"},
		"unknown":      {"Bearer key-unheard-of"},
		"a prefix":     {"Bearer key-al"},
		"two":          {"Bearer key-all", "Bearer key-all"},
		"two spaces":   {"Bearer  key-all"},
		"endless":      {"Bearer " + strings.Repeat("k", 1<<16)},
	} {
		r := request("GET", "/v1/batches", "", "")
		r.Header["Authorization"] = headers
		rec := newWorld(t).do(r)
		if rec.Code != 401 || !strings.HasPrefix(rec.Header().Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: %d %v", name, rec.Code, rec.Header())
		}
	}
}

func TestTheSchemeHasNoCase(t *testing.T) {
	r := request("GET", "/v1/batches", "", "")
	r.Header.Set("Authorization", "bearer key-all")
	if rec := newWorld(t).do(r); rec.Code != 200 {
		t.Errorf("%d", rec.Code)
	}
}

func TestKeysCanBeReplaced(t *testing.T) {
	ring := &KeyRing{}
	if _, ok := ring.Lookup([32]byte{}); ok {
		t.Error("an empty ring has a key")
	}
	keys := []Key{{ID: "a", SHA256: [32]byte{1}}, {ID: "b", SHA256: [32]byte{2}}}
	ring.Replace(keys)
	keys[0].ID = "changed"
	if k, ok := ring.Lookup([32]byte{1}); !ok || k.ID != "a" {
		t.Errorf("%+v %v", k, ok)
	}
	ring.Replace(nil)
	if _, ok := ring.Lookup([32]byte{1}); ok {
		t.Error("a key outlived its replacement")
	}
}

func TestWhatTheDocumentDoesNotHave(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		method, path string
		status       int
		code, allow  string
	}{
		{"GET", "/", 404, "not_found", ""},
		{"GET", "/v1/unheard-of", 404, "not_found", ""},
		{"GET", "/v1/batches/", 404, "not_found", ""},
		{"DELETE", "/v1/batches", 405, "method_not_allowed", "GET, POST"},
		{"PUT", "/v1/vendors/sandbox/release", 405, "method_not_allowed", "POST"},
		{"POST", "/healthz", 405, "method_not_allowed", "GET"},
		{"BREW", "/v1/batches", 405, "method_not_allowed", "GET, POST"},
	} {
		rec := w.do(request(c.method, c.path, "all", ""))
		if rec.Code != c.status || codeOf(rec) != c.code || rec.Header().Get("Allow") != c.allow {
			t.Errorf("%s %s: %d %s %q", c.method, c.path, rec.Code, codeOf(rec), rec.Header().Get("Allow"))
		}
	}
}

func TestEveryAnswerHasItsSecurityHeaders(t *testing.T) {
	w := newWorld(t)
	for id, s := range samples() {
		h := w.do(s.request()).Header()
		for _, name := range []string{"Cache-Control", "Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options", "Cross-Origin-Resource-Policy"} {
			if h.Get(name) == "" {
				t.Errorf("%s lacks %s: %v", id, name, slices.Sorted(maps.Keys(h)))
			}
		}
	}
}
