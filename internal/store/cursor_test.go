package store

import (
	"errors"
	"reflect"
	"testing"
)

func TestCursorsReadBack(t *testing.T) {
	for _, keyset := range [][]int64{{1}, {-1, 0}, {1 << 62, -1 << 63, 7}} {
		got, err := DecodeCursor(EncodeCursor(keyset...), len(keyset))
		if err != nil || !reflect.DeepEqual(got, keyset) {
			t.Errorf("%v came back as %v, %v", keyset, got, err)
		}
	}
	if got, err := DecodeCursor("", 2); got != nil || err != nil {
		t.Errorf("the start: %v, %v", got, err)
	}
}

func TestForeignCursorsAreRefused(t *testing.T) {
	for _, c := range []string{"x", "AAAAAAAAAAA=", EncodeCursor(1, 2), "AAAAAAAAAA!", "AAAAAAAAAAB"} {
		if _, err := DecodeCursor(c, 1); !errors.Is(err, ErrBadCursor) {
			t.Errorf("%q: %v", c, err)
		}
	}
}
