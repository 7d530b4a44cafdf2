package vendor

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"payrollgateway/internal/payroll"
)

const (
	maxDetail = 200     // characters of a vendor's words that are kept
	maxWords  = 4 << 10 // bytes of them that are looked at
	hidden    = "***"
)

var (
	keyText    = regexp.MustCompile(`\b(pl|rq)_[A-Za-z0-9._-]+`)
	numberText = regexp.MustCompile(`[0-9][0-9,]*(\.[0-9]+)?`)
)

// scrub makes a vendor's words fit to be kept: one line of at most 200
// characters, without any line key, and without the employee ids, amounts and
// details of the given lines.
func scrub(words string, lines ...ChunkLine) string {
	if words == "" {
		return ""
	}
	words = keyText.ReplaceAllString(oneLine(cut(words, maxWords)), hidden)
	for i := range lines {
		words = scrubLine(words, &lines[i].Line)
	}
	return shorten(words)
}

func scrubLine(words string, l *payroll.Line) string {
	words = hide(words, l.EmployeeID)
	for _, d := range l.Details {
		if len(d.Text) > 2 {
			words = hide(words, d.Text)
		}
	}
	return numberText.ReplaceAllStringFunc(words, func(number string) string {
		if isAmount(number, l) {
			return hidden
		}
		return number
	})
}

// isAmount: the number is the line's amount, in major or in minor units,
// however it is grouped.
func isAmount(number string, l *payroll.Line) bool {
	number = strings.ReplaceAll(number, ",", "")
	amount := max(l.Amount, -l.Amount)
	if m, err := payroll.ParseAmount("", number, l.Currency); err == nil && m == amount {
		return true
	}
	return number == strconv.FormatInt(int64(amount), 10)
}

// hide replaces every occurrence of a text that stands alone, whatever its case.
func hide(words, text string) string {
	if text == "" || len(text) > len(words) {
		return words
	}
	var b strings.Builder
	rest := words
	for i := 0; i+len(text) <= len(rest); {
		end := i + len(text)
		if strings.EqualFold(rest[i:end], text) && alone(rest, i, end) {
			b.WriteString(rest[:i] + hidden)
			rest, i = rest[end:], 0
			continue
		}
		i++
	}
	return b.String() + rest
}

// alone: no letter or digit continues the text to either side.
func alone(s string, start, end int) bool {
	return (start == 0 || !wordByte(s[start-1]) || !wordByte(s[start])) &&
		(end == len(s) || !wordByte(s[end]) || !wordByte(s[end-1]))
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// shorten cuts a text to 200 characters of one line.
func shorten(s string) string {
	s = oneLine(s)
	n := 0
	for i := range s {
		if n == maxDetail {
			return s[:i]
		}
		n++
	}
	return s
}

// cut bounds a text in bytes without splitting a character.
func cut(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}
