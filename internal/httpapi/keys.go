package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"sync/atomic"

	"payrollgateway/internal/httpapi/apigen"
)

// Key is an API key as it is kept: its hash, never the key.
type Key struct {
	ID     string // names it in logs and records
	Tenant string // "" for administrators, who have none
	Scopes []apigen.Scope
	SHA256 [sha256.Size]byte // of the whole key
}

// KeyStore finds a key by its hash, in a time that says nothing about hashes
// that it does not hold.
type KeyStore interface {
	Lookup(sha256 [sha256.Size]byte) (Key, bool)
}

// KeyRing is a KeyStore in memory whose keys can be replaced while it is used.
// The zero value holds none.
type KeyRing struct{ keys atomic.Pointer[[]Key] }

// Replace puts other keys in the place of those that the ring holds.
func (k *KeyRing) Replace(keys []Key) {
	own := append([]Key(nil), keys...)
	k.keys.Store(&own)
}

// Lookup implements KeyStore. It looks at every key, whichever matches.
func (k *KeyRing) Lookup(sum [sha256.Size]byte) (found Key, ok bool) {
	keys := k.keys.Load()
	if keys == nil {
		return Key{}, false
	}
	for _, key := range *keys {
		if subtle.ConstantTimeCompare(key.SHA256[:], sum[:]) == 1 {
			found, ok = key, true
		}
	}
	return found, ok
}

// maxKey bounds the Authorization header that is hashed.
const maxKey = 512

// bearer takes the key out of an Authorization header.
func bearer(headers []string) (key string, ok bool) {
	if len(headers) != 1 || len(headers[0]) > maxKey {
		return "", false
	}
	scheme, key, _ := strings.Cut(headers[0], " ")
	return key, strings.EqualFold(scheme, "Bearer") && key != ""
}

// allows reports whether the key may call the operation: one of its scopes is
// enough. `admin` counts only with a key that has no tenant, and the others only
// with one that has.
func (k Key) allows(o *operation) bool {
	for _, needed := range o.scopes {
		if (needed == apigen.ScopeAdmin) != (k.Tenant == "") {
			continue
		}
		for _, has := range k.Scopes {
			if has == needed {
				return true
			}
		}
	}
	return false
}
