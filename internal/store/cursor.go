package store

import (
	"encoding/base64"
	"encoding/binary"
)

// EncodeCursor spells a position in a list: the keyset of its last item, most
// significant first. Opaque to callers, the same in both backends.
func EncodeCursor(keyset ...int64) string {
	b := make([]byte, 0, 8*len(keyset))
	for _, k := range keyset {
		b = binary.BigEndian.AppendUint64(b, uint64(k))
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// DecodeCursor reads a cursor of a list whose keyset has n parts; "" is the
// start, nil. ErrBadCursor for anything that EncodeCursor did not make.
func DecodeCursor(cursor string, n int) ([]int64, error) {
	if cursor == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) != 8*n {
		return nil, ErrBadCursor
	}
	keyset := make([]int64, n)
	for i := range keyset {
		keyset[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
	}
	return keyset, nil
}
