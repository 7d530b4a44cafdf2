package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"payrollgateway/internal/payroll"
)

// micros is a time as it is stored: microseconds since 1970, 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// stored is a time as it is read back.
func stored(t time.Time) time.Time { return fromMicros(micros(t)) }

// at scans a time.
type at struct{ t *time.Time }

func (a at) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("a time is stored as %T", src)
	}
	*a.t = fromMicros(n)
	return nil
}

// fixed scans a blob of a fixed length: a digest, a hash, an id.
type fixed struct{ into []byte }

var errLength = errors.New("a blob of another length is stored")

func (f fixed) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok || len(b) != len(f.into) {
		return errLength
	}
	copy(f.into, b)
	return nil
}

// ordinals scans the packed ordinals of an attempt.
type ordinals struct{ into *[]int32 }

func (o ordinals) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok || len(b)%4 != 0 {
		return errLength
	}
	list := make([]int32, len(b)/4)
	for i := range list {
		list[i] = int32(binary.BigEndian.Uint32(b[4*i:]))
	}
	*o.into = list
	return nil
}

func packed(list []int32) []byte {
	b := make([]byte, 0, 4*len(list))
	for _, o := range list {
		b = binary.BigEndian.AppendUint32(b, uint32(o))
	}
	return b
}

// jsonList spells numbers for json_each.
func jsonList(list []int32) string {
	b := append(make([]byte, 0, 8*len(list)+2), '[')
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return string(append(b, ']'))
}

// flag is a boolean as it is stored.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ref scans a reference to an item.
func ref(r *payroll.LineRef) []any { return []any{&r.Batch, &r.Ordinal} }
