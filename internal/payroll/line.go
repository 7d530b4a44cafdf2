package payroll

import "time"

// LineRef names an item: its batch and its ordinal in it, from 1.
type LineRef struct {
	Batch   int64
	Ordinal int32
}

// IsZero reports whether the reference names nothing.
func (r LineRef) IsZero() bool { return r == LineRef{} }

// Line is one accepted payment as it was submitted: written once, never changed.
type Line struct {
	Ordinal    int32 // place in its batch, from 1
	Key        Digest
	Hash       Hash
	AnyVersion Digest // shared by all versions of the payment
	EmployeeID string
	Version    int32
	Ref        string // line_ref; "" = none
	Amount     Minor
	Currency   string
	Details    Details
	Metadata   []byte // JSON object kept for people; nil = none; never on the wire
}

// Natural returns the line's natural key within a tenant's pay period.
func (l Line) Natural(tenant, payPeriod string) Natural {
	return Natural{Tenant: tenant, PayPeriod: payPeriod, Employee: l.EmployeeID, Version: l.Version, Ref: l.Ref}
}

// Reject is a row that became a dead letter at intake: an item without a line.
type Reject struct {
	Ordinal    int32
	EmployeeID string // "" where the row does not say
	Amount     Minor  // counted in the batch's totals where Currency is set
	Currency   string // "" where the amount could not be read
	Key        Digest // zero where the row has no readable key
	Reason     Reason
	Detail     string // names the field and the remedy, never the value
	Digest     Hash   // of the row: what "the same content" compares
	Payload    []byte // the row's bytes, at most MaxPayload
	PayloadCut bool   // the row was longer
}

// MaxPayload is how many bytes of a rejected row are kept.
const MaxPayload = 64 << 10

// RowDigest is what "the same content" compares for a readable row: its key
// and its request hash.
func RowDigest(k Digest, h Hash) Hash {
	var b [len(k) + len(h)]byte
	copy(b[:], k[:])
	copy(b[len(k):], h[:])
	return HashBytes(b[:])
}

// Batch is the envelope of one submission: written once.
type Batch struct {
	ID          int64 // the store's own; 0 until stored
	Tenant      string
	Vendor      string
	PayPeriod   string
	Group       string    // run_attempt_group
	Currency    string    // default of its lines
	PayDate     string    // ISO date or ""
	CutoffAt    time.Time // zero = none
	ContentHash Hash
	Total       int32 // items, rejected rows included
	CreatedBy   string
	CreatedAt   time.Time
}

// Key returns the batch's public id.
func (b Batch) Key() string { return BatchKey(b.Tenant, b.PayPeriod, b.Group) }

// Unit is what one worker owns at a time: a tenant's pay period at one vendor.
type Unit struct {
	Tenant    string
	PayPeriod string
	Vendor    string
}
