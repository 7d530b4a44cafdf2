package vendor

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	const date = "Sat, 31 Jan 2026 11:00:00 GMT" // an hour before it was received
	cases := []struct {
		name, value, date string
		want              time.Duration
		ok                bool
	}{
		{"absent", "", "", 0, false},
		{"seconds", "120", "", 2 * time.Minute, true},
		{"seconds with spaces around", " \t120 ", "", 2 * time.Minute, true},
		{"leading zeros", "007", "", 7 * time.Second, true},
		{"zero", "0", "", 0, true},
		{"eighteen hours, as a daily cap asks", "66975", "", 66975 * time.Second, true},
		{"more than can be counted", strings.Repeat("9", 400), "", longestHint, true},
		{"the edge of 64 bits", "9223372036854775808", "", longestHint, true},
		{"negative", "-3", "", 0, false},
		{"plus sign", "+3", "", 0, false},
		{"fraction", "1.5", "", 0, false},
		{"exponent", "1e3", "", 0, false},
		{"junk behind", "120junk", "", 0, false},
		{"unit", "120s", "", 0, false},
		{"two numbers", "1 2", "", 0, false},
		{"digits of another script", "١٢", "", 0, false},
		{"a year is seconds, not a date", "2026", "", 2026 * time.Second, true},
		{"RFC 1123 date", "Sat, 31 Jan 2026 12:01:30 GMT", "", 90 * time.Second, true},
		{"RFC 850 date", "Saturday, 31-Jan-26 12:01:30 GMT", "", 90 * time.Second, true},
		{"asctime date", "Sat Jan 31 12:01:30 2026", "", 90 * time.Second, true},
		{"ISO date", "2026-01-31T12:01:30Z", "", 0, false},
		{"relative to the vendor's own clock", "Sat, 31 Jan 2026 11:01:30 GMT", date, 90 * time.Second, true},
		{"an unreadable Date is no clock", "Sat, 31 Jan 2026 12:01:30 GMT", "yesterday", 90 * time.Second, true},
		{"past date", "Sat, 31 Jan 2026 10:00:00 GMT", "", 0, true},
		{"far future", "Fri, 31 Dec 9999 23:59:59 GMT", "", longestHint, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			if c.value != "" {
				h.Set("Retry-After", c.value)
			}
			if c.date != "" {
				h.Set("Date", c.date)
			}
			got, ok := RetryAfter(h, received)
			if got != c.want || ok != c.ok {
				t.Errorf("got %v, %v, want %v, %v", got, ok, c.want, c.ok)
			}
		})
	}
}

func TestOfSeveralHintsTheLongestCounts(t *testing.T) {
	t.Parallel()
	h := http.Header{"Retry-After": {"5", "nonsense", "60", "1"}}
	if got, ok := RetryAfter(h, received); got != time.Minute || !ok {
		t.Errorf("got %v, %v", got, ok)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"120", "-3", "1.5", "120junk", "Sat, 31 Jan 2026 12:01:30 GMT", "Saturday, 31-Jan-26 12:01:30 GMT", "Sat Jan 31 12:01:30 2026", "99999999999999999999"} {
		f.Add(s, "Sat, 31 Jan 2026 11:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, value, date string) {
		h := http.Header{"Retry-After": {value}, "Date": {date}}
		wait, ok := RetryAfter(h, received)
		if wait < 0 || wait > longestHint || !ok && wait != 0 {
			t.Fatalf("%q: %v, %v", value, wait, ok)
		}
		digits := strings.Trim(strings.Trim(value, " \t"), "0123456789") == "" && strings.Trim(value, " \t") != ""
		if ok && !digits && !strings.Contains(value, ":") {
			t.Fatalf("%q is neither digits nor a date", value)
		}
		if digits && !ok {
			t.Fatalf("%q: digits are a hint", value)
		}
	})
}
