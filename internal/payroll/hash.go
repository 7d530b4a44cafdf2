package payroll

import (
	"crypto/sha256"
	"strconv"
)

// Hash is the SHA-256 of a line's canonical business payload. Same key and
// same hash: the same payment. Same key, other hash: a bug at the caller.
type Hash [32]byte

// RequestHash hashes what is to be paid: currency, amount in minor units and
// details by their text, so that 1830 and "1830", JSON and CSV, agree. Vendor,
// batch, times and metadata are not part of it. The details must have passed
// Check, which sorts them.
func RequestHash(currency string, amount Minor, details Details) Hash {
	b := make([]byte, 0, 512)
	b = append(b, `{"amount":`...)
	b = strconv.AppendInt(b, int64(amount), 10)
	b = append(b, `,"currency":`...)
	b = appendQuoted(b, currency)
	b = append(b, `,"details":{`...)
	for i, m := range details {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, m.Name)
		b = append(b, ':')
		b = appendQuoted(b, m.Text)
	}
	b = append(b, "}}"...)
	return sha256.Sum256(b)
}

// HashBytes is the SHA-256 of b, for rows that cannot be read.
func HashBytes(b []byte) Hash { return sha256.Sum256(b) }
