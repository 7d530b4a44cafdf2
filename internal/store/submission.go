package store

import (
	"iter"
	"time"

	"payrollgateway/internal/payroll"
)

// Submission is a whole, decoded pay run on its way into the ledger.
type Submission struct {
	Batch payroll.Batch // ID is 0
	// Rows yields every item in ordinal order; it may be iterated again. An
	// error ends it and nothing is stored.
	// No two rows with a Line share a key: intake refuses all rows that do.
	Rows func() iter.Seq2[Row, error]
	// Strict: rows that would be dead letters refuse the whole submission.
	Strict      bool
	Corrections payroll.Corrections // of the vendor
	Now         time.Time
}

// Row is an item: a line, or a row that cannot be one.
type Row struct {
	Line   *payroll.Line
	Death  *payroll.Death  // with Line: accepted as a line but dead at once (statutory_cap_breach)
	Reject *payroll.Reject // instead of Line
}

// Digest is what "the same content" compares of this item.
func (r Row) Digest() payroll.Hash {
	if r.Reject != nil {
		return r.Reject.Digest
	}
	return payroll.RowDigest(r.Line.Key, r.Line.Hash)
}

// Receipt is what became of a submission.
type Receipt struct {
	BatchID  int64
	Replayed bool // the same content was stored before; nothing changed
	// Duplicates is how many rows were refused because the ledger holds their
	// key with another payload or at another vendor: an alert.
	Duplicates int
	Blocked    int // lines that wait behind an older version: an alert
}
