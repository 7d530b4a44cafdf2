package vendor

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

func TestScrub(t *testing.T) {
	t.Parallel()
	l := ChunkLine{Key: "pl_t1_2026-01_0123456789abcdef01234567", Line: payroll.Line{
		EmployeeID: "E7", Version: 1, Amount: 183050, Currency: "USD",
		Details: payroll.Details{payroll.TextDetail("iban", "DE02 1203"), payroll.TextDetail("grade", "A1")},
	}}
	for words, want := range map[string]string{
		"":                                "",
		"period is locked":                "period is locked",
		"employee E7 is unknown":          "employee *** is unknown",
		"employee e7, E7; (E7)":           "employee ***, ***; (***)",
		"E77 and ME7 are others":          "E77 and ME7 are others",
		"code 4012: above 1830.50":        "code 4012: above ***",
		"1830.5 / 1,830.50 / 183050 USD":  "*** / *** / *** USD",
		"-1830.50, 1830.51, 11830.50":     "-***, 1830.51, 11830.50",
		"key " + l.Key + " seen":          "key *** seen",
		"key " + l.Key + ".2 seen":        "key *** seen",
		"pl_other_2026-01_00 too":         "*** too",
		"rq_0123456789abcdef is in use":   "*** is in use",
		"account DE02 1203 closed, A1":    "account *** closed, A1",
		"two\nlines\tand\x00 a NUL\u2028": "two lines and  a NUL ",
	} {
		if got := scrub(words, l); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", words, got, want)
		}
	}
}

func TestDetailsAreShort(t *testing.T) {
	t.Parallel()
	for _, words := range []string{strings.Repeat("ä", 5000), strings.Repeat("x", 1<<20), strings.Repeat("\xff", 300)} {
		if got := scrub(words, lineNo(0)); utf8.RuneCountInString(got) > maxDetail {
			t.Errorf("%d characters", utf8.RuneCountInString(got))
		}
	}
}

// The vendor's words about one line, and about a whole request, without what
// identifies a person.
func TestNoDetailShowsTheLine(t *testing.T) {
	t.Parallel()
	c := chunkOf(3)
	p := profileWith(retry.KeyLine)
	words := func(i int) string {
		l := c.Lines[i]
		return fmt.Sprintf("%s of %s: %s is wrong", l.Key, l.Line.EmployeeID, l.Line.Amount.Format("USD"))
	}
	item := p.Judge(c, reply(207, fmt.Sprintf(`{"results":[{"key":%q,"status":422,"detail":%q}]}`, c.Lines[0].Key, words(0))))
	whole := p.Judge(c, reply(400, fmt.Sprintf(`{"title":"no","error":{"a":1},"detail":%q}`, words(2))))
	lookUp := p.JudgeLookUp(c.Lines[0], reply(400, fmt.Sprintf(`{"message":%q}`, words(0))))
	for _, text := range []string{item.Lines[0].Detail, item.Detail, whole.Lines[2].Detail, whole.Detail, lookUp.Detail, lookUp.Lines[0].Detail} {
		for _, l := range c.Lines {
			for _, secret := range []string{l.Key, l.Line.EmployeeID, l.Line.Amount.Format("USD")} {
				if strings.Contains(text, secret) {
					t.Errorf("%q shows %q", text, secret)
				}
			}
		}
	}
	if item.Lines[0].Detail != "*** of ***: *** is wrong" || whole.Detail != "status 400: no" {
		t.Errorf("%q, %q", item.Lines[0].Detail, whole.Detail)
	}
}
