package payroll

const hexDigits = "0123456789abcdef"

// QuoteJSON spells s as a JSON string: quotes, backslashes and control
// characters escaped, everything else as it is. s must be UTF-8. Stored hashes
// stand on this spelling, so it is written out here and not left to a library.
func QuoteJSON(s string) string { return string(appendQuoted(make([]byte, 0, len(s)+2), s)) }

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		b = appendEscaped(b, s[i])
	}
	return append(b, '"')
}

func appendEscaped(b []byte, c byte) []byte {
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case c >= 0x20:
		return append(b, c)
	}
	switch c {
	case '\b':
		return append(b, `\b`...)
	case '\t':
		return append(b, `\t`...)
	case '\n':
		return append(b, `\n`...)
	case '\f':
		return append(b, `\f`...)
	case '\r':
		return append(b, `\r`...)
	default:
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
	}
}
