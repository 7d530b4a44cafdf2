package sandbox

import (
	"regexp"
	"strings"
)

// Slot is what a vendor of the kind "replace" holds one amount for. The tenant
// comes from the line key, the only place where the standard body names it.
type Slot struct {
	Tenant, PayPeriod, EmployeeID, LineRef string
}

// Payment is one version of a slot, and the identity by which "paid twice" is
// counted: whatever key it travelled under.
type Payment struct {
	Slot
	Version int64
}

var keyTail = regexp.MustCompile(`_[0-9a-f]{24}(\.[0-9]+)?$`)

// tenantOf reads the tenant of a key pl_{tenant}_{period}_{24 hex}[.generation].
// Tenants and periods may both hold underscores, so the period must be known.
// A key of another form has the tenant "".
func tenantOf(key, period string) string {
	tail := keyTail.FindStringIndex(key)
	if tail == nil {
		return ""
	}
	head, isLineKey := strings.CutPrefix(key[:tail[0]], "pl_")
	tenant, ofPeriod := strings.CutSuffix(head, "_"+period)
	if !isLineKey || !ofPeriod {
		return ""
	}
	return tenant
}

// withoutGeneration strips the ".2" of a later key generation: the line is the
// same one.
func withoutGeneration(key string) string {
	if m := keyTail.FindStringSubmatchIndex(key); m != nil && m[2] >= 0 {
		return key[:m[2]]
	}
	return key
}
