package payroll

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Digest is the part of a line key that identifies the payment: the first 12
// bytes of SHA-256 over the canonical object of its natural key. Within one
// tenant's pay period it stands for the whole key.
type Digest [12]byte

// Natural is a payment's natural key: who is paid, when, for what, in which
// version. Two lines with the same Natural are the same payment.
type Natural struct {
	Tenant    string
	PayPeriod string
	Employee  string
	Version   int32
	Ref       string // line_ref; "" = none
}

// canonical renders the natural key as JSON with sorted names and no spaces.
// Only '"' and '\' need escaping: every field is printable ASCII.
func (n Natural) canonical(withVersion bool) []byte {
	b := make([]byte, 0, 160)
	b = append(b, `{"emp":`...)
	b = appendQuoted(b, n.Employee)
	if n.Ref != "" {
		b = append(b, `,"l":`...)
		b = appendQuoted(b, n.Ref)
	}
	b = append(b, `,"pp":`...)
	b = appendQuoted(b, n.PayPeriod)
	b = append(b, `,"t":`...)
	b = appendQuoted(b, n.Tenant)
	if withVersion {
		b = append(b, `,"v":`...)
		b = strconv.AppendInt(b, int64(n.Version), 10)
	}
	return append(b, '}')
}

// Canonical returns the text whose SHA-256 makes the line key, for docs and tests.
func (n Natural) Canonical() string { return string(n.canonical(true)) }

// Digest returns the identifying part of the line key.
func (n Natural) Digest() Digest { return digest(n.canonical(true)) }

// AnyVersion returns the digest that all versions of this payment share.
func (n Natural) AnyVersion() Digest { return digest(n.canonical(false)) }

// Key returns the line key: pl_{tenant}_{pay_period}_{24 hex}.
func (n Natural) Key() string { return LineKey(n.Tenant, n.PayPeriod, n.Digest()) }

func digest(b []byte) Digest {
	sum := sha256.Sum256(b)
	return Digest(sum[:12])
}

// LineKey spells a line's key from its tenant, period and digest.
func LineKey(tenant, payPeriod string, d Digest) string {
	return "pl_" + tenant + "_" + payPeriod + "_" + hex.EncodeToString(d[:])
}

// WireKey is the key a vendor sees: the line key itself, and from the second
// key generation on "{key}.{generation}".
func WireKey(lineKey string, generation int) string {
	if generation <= 1 {
		return lineKey
	}
	return lineKey + "." + strconv.Itoa(generation)
}

// ParseLineKey takes a tenant's line key apart. It is unambiguous because the
// tenant is known: what lies between tenant and digest is the pay period.
func ParseLineKey(tenant, key string) (payPeriod string, d Digest, ok bool) {
	rest, found := strings.CutPrefix(key, "pl_"+tenant+"_")
	cut := len(rest) - 25
	if !found || cut < 1 || rest[cut] != '_' {
		return "", Digest{}, false
	}
	text := rest[cut+1:]
	if _, err := hex.Decode(d[:], []byte(text)); err != nil || strings.ToLower(text) != text {
		return "", Digest{}, false
	}
	return rest[:cut], d, ValidIdentifier(rest[:cut])
}

// BatchKey returns a batch's public id: batch_{pay_period}_{first 20 hex of
// SHA-256 over "{tenant}:{pay_period}:{run_attempt_group}"}.
func BatchKey(tenant, payPeriod, group string) string {
	sum := sha256.Sum256([]byte(tenant + ":" + payPeriod + ":" + group))
	return "batch_" + payPeriod + "_" + hex.EncodeToString(sum[:10])
}

// RequestKey returns the idempotency key of a whole request: rq_ + 32 hex of
// SHA-256 over its lines' wire keys in order, joined by newlines.
func RequestKey(wireKeys []string) string {
	sum := sha256.Sum256([]byte(strings.Join(wireKeys, "\n")))
	return "rq_" + hex.EncodeToString(sum[:16])
}
