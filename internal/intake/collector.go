package intake

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"iter"
	"slices"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// collector judges rows as they come, spools them, and keeps what must be known
// about all of them together: how many, how much, which keys, which content.
type collector struct {
	terms      terms
	lines      int // limit
	spool      spool
	record     []byte // reused
	count      int
	sums       sums
	unreadable int // rows without a readable amount
	keys       []keyed
	twins      []uint64  // a bit per ordinal, once rows share a key
	content    hash.Hash // of the rows' digests, in order
}

// keyed is a row's key and ordinal: 16 bytes a row.
type keyed struct {
	high    uint64
	low     uint32
	ordinal int32
}

func newCollector(spoolDir string, l Limits) *collector {
	return &collector{lines: l.Lines, spool: spool{dir: spoolDir, max: l.Memory}, content: sha256.New()}
}

// add takes the next row.
func (c *collector) add(d *draft) error {
	if c.count >= c.lines {
		return errTooManyLines(c.lines)
	}
	c.count++
	row := d.row(&c.terms, int32(c.count))
	if !c.tally(row) {
		return refuseRow(InvalidEnvelope, c.count, "the batch's amounts do not fit 64 bits from this row on: post it as several runs")
	}
	digest := row.Digest()
	c.content.Write(digest[:])
	c.record = appendRow(c.record[:0], row)
	return c.spool.append(c.record)
}

func errTooManyLines(limit int) error {
	return refuse(BodyTooLarge, fmt.Sprintf("a batch takes %d lines: post it as several runs", limit))
}

// tally counts a row's money and key.
func (c *collector) tally(row store.Row) bool {
	if row.Line != nil {
		c.remember(row.Line.Key)
		return c.sums.add(row.Line.Currency, row.Line.Amount)
	}
	c.remember(row.Reject.Key)
	if row.Reject.Currency == "" {
		c.unreadable++
		return true
	}
	return c.sums.add(row.Reject.Currency, row.Reject.Amount)
}

func (c *collector) remember(key payroll.Digest) {
	if key == (payroll.Digest{}) {
		return
	}
	c.keys = append(c.keys, keyed{
		high: binary.BigEndian.Uint64(key[:8]), low: binary.BigEndian.Uint32(key[8:]), ordinal: int32(c.count),
	})
}

// seal ends the adding: the rows that share a key are found.
func (c *collector) seal() error {
	slices.SortFunc(c.keys, func(a, b keyed) int {
		if order := cmp.Compare(a.high, b.high); order != 0 {
			return order
		}
		return cmp.Compare(a.low, b.low)
	})
	for i := 1; i < len(c.keys); i++ {
		if a, b := c.keys[i-1], c.keys[i]; a.high == b.high && a.low == b.low {
			c.markTwin(a.ordinal)
			c.markTwin(b.ordinal)
		}
	}
	c.keys = nil
	return c.spool.seal()
}

func (c *collector) markTwin(ordinal int32) {
	if c.twins == nil {
		c.twins = make([]uint64, c.count/64+1)
	}
	c.twins[ordinal/64] |= 1 << (ordinal % 64)
}

func (c *collector) isTwin(ordinal int32) bool {
	return c.twins != nil && c.twins[ordinal/64]&(1<<(ordinal%64)) != 0
}

// rows yields every row. The collector must be sealed.
func (c *collector) rows() iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		var ordinal int32
		for record, err := range c.spool.records() {
			ordinal++
			var row store.Row
			if err == nil {
				row, err = c.row(record, ordinal)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
		if int(ordinal) != c.count {
			yield(store.Row{}, fmt.Errorf("%d rows of %d: %w", ordinal, c.count, errSpool))
		}
	}
}

func (c *collector) row(record []byte, ordinal int32) (store.Row, error) {
	row, err := readRow(record, ordinal)
	if err == nil && row.Line != nil && c.isTwin(ordinal) {
		return refuseTwin(row), nil
	}
	return row, err
}

// refuseTwin makes a reject of a good line that shares its key with another row
// of the body. Which of them is the payment cannot be known: a file with a row
// for each earnings code would have one of them paid as the whole.
func refuseTwin(row store.Row) store.Row {
	l := row.Line
	payload, cut := store.Payload(*l)
	return store.Row{Reject: &payroll.Reject{
		Ordinal: l.Ordinal, EmployeeID: l.EmployeeID, Amount: l.Amount, Currency: l.Currency, Key: l.Key,
		Reason: payroll.DuplicateNaturalKey,
		Detail: "another row of this body is the same payment: send one row for it, or tell them apart by line_ref",
		Digest: row.Digest(), Payload: payload, PayloadCut: cut,
	}}
}

// contentHash is what "the same content" compares: vendor, pay date, cut-off as
// an instant, and the rows in order. Not format, encoding, metadata or control
// totals; and not the batch key, which is compared first.
func (c *collector) contentHash(b payroll.Batch) payroll.Hash {
	cutoff := ""
	if !b.CutoffAt.IsZero() {
		cutoff = b.CutoffAt.UTC().Format("2006-01-02T15:04:05.999999999")
	}
	content := make([]byte, 0, 256)
	for _, text := range []string{b.Vendor, b.PayDate, cutoff} {
		content = append(append(content, text...), '\n') // none of them has a newline
	}
	content = binary.BigEndian.AppendUint64(content, uint64(c.count))
	return payroll.HashBytes(c.content.Sum(content))
}
