package payroll

import (
	"fmt"
	"strings"
)

// MaxLineVersion is the largest line version: what a signed 32-bit integer holds.
const MaxLineVersion = 1<<31 - 1

// ValidIdentifier reports whether s may be a tenant, a pay_period_id, a
// run_attempt_group or a line_ref: 1 to 64 of letters, digits, dot, underscore
// and hyphen. The set is this small so that every language hashes the same bytes.
func ValidIdentifier(s string) bool {
	for i := range len(s) {
		if !identifierByte[s[i]] {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 64
}

// identifierByte is a table: millions of names are checked at intake.
var identifierByte = func() (table [256]bool) {
	for i := range table {
		table[i] = strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", byte(i)) >= 0
	}
	return table
}()

// ValidEmployeeID reports whether s may be an employee_id: 1 to 64 printable
// ASCII characters without a space at either end. It is kept byte for byte:
// "007" is not "7".
func ValidEmployeeID(s string) bool {
	if len(s) == 0 || len(s) > 64 || s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// Fault is one thing wrong with one field of a caller's input. It names the
// field and the remedy and never carries the value.
type Fault struct {
	Field  string // as the caller spells it: "gross_pay", "details.title"
	Remedy string // what would be accepted
}

func (f Fault) Error() string { return fmt.Sprintf("%s: %s", f.Field, f.Remedy) }

const identifierRemedy = "must be 1 to 64 characters of A-Z a-z 0-9 . _ -"

// CheckIdentifier returns a Fault naming field unless s is a valid identifier.
func CheckIdentifier(field, s string) error {
	if ValidIdentifier(s) {
		return nil
	}
	return Fault{Field: field, Remedy: identifierRemedy}
}
