package nostr

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// appendString appends s as a JSON string with the escapes of NIP-01 and no others: the seven it names, and \u00xx in
// lower case for the rest of the control bytes below 0x20, as all implementations write them.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for {
		i := plainEnd(s, 0)
		dst = append(dst, s[:i]...)
		if i == len(s) {
			return append(dst, '"')
		}
		dst = appendEscape(dst, s[i])
		s = s[i+1:]
	}
}

func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
}

// appendText appends a text of our own as appendString does. Such a text may quote anything, so invalid UTF-8 becomes
// U+FFFD: a text frame must not carry it.
func appendText(dst []byte, s string) []byte {
	return appendString(dst, strings.ToValidUTF8(s, "\uFFFD"))
}

// unescape resolves the escapes of t, the text between two quotes. The result is never longer than t, so that one piece of memory is enough.
func (c *scanner) unescape(t string) (string, error) {
	var b strings.Builder
	b.Grow(len(t))
	for {
		i := strings.IndexByte(t, '\\')
		if i < 0 {
			b.WriteString(t)
			return b.String(), nil
		}
		r, n := escape(t[i:])
		if n == 0 {
			if r == utf8.RuneError {
				return "", c.fail("half a surrogate pair (\\ud800 to \\udfff), which is no character, in the string that ends")
			}
			return "", c.fail("invalid escape in the string that ends")
		}
		b.WriteString(t[:i])
		b.WriteRune(r)
		t = t[i+n:]
	}
}

// escape reads the escape at the start of t. It returns the rune and the length of the escape in bytes. The length is 0 for an invalid
// escape; then the rune is utf8.RuneError if the escape is half a surrogate pair.
func escape(t string) (r rune, n int) {
	switch t[1] {
	case '"', '\\', '/':
		return rune(t[1]), 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	}
	r, ok := hexEscape(t)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	low, _ := hexEscape(t[6:])
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return utf8.RuneError, 0
	}
	return r, 12
}

// hexEscape reads \uXXXX at the start of t.
func hexEscape(t string) (rune, bool) {
	if len(t) < 6 || t[0] != '\\' || t[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, b := range []byte(t[2:6]) {
		if 'A' <= b && b <= 'F' {
			b += 'a' - 'A'
		}
		d := hexDigit(b)
		if d > 15 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}
