// Package words cuts and escapes what strangers wrote, so that it fits into one line of a log, of a terminal or of a message,
// and neither obeys nor grows. Its functions are pure. Read Cut for texts that are kept, and Printable for those that are shown.
package words

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxText is how much of what a stranger wrote goes into an error or a line of the log. Bytes.
const MaxText = 200

// Cut returns the beginning of a text that is longer than most bytes, whole characters without the memory of the rest, and
// reports whether it had to.
func Cut(s string, most int) (string, bool) {
	if len(s) <= most {
		return s, false
	}
	n := most
	for n > max(0, most-utf8.UTFMax) && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n]), true
}

// Escape escapes what is not printable in one line: control characters, invalid UTF-8, marks of direction.
func Escape(s string) string { return escapeUpTo(s, math.MaxInt) }

// Printable escapes a text and cuts the result at MaxText bytes, not within an escape.
func Printable(s string) string { return escapeUpTo(s, MaxText) }

func escapeUpTo(s string, most int) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		c := s[:n]
		if r == utf8.RuneError && n == 1 || !strconv.IsPrint(r) {
			c = strconv.Quote(c)
			c = c[1 : len(c)-1]
		}
		if b.Len()+len(c) > most {
			break
		}
		b.WriteString(c)
		s = s[n:]
	}
	return b.String()
}

// Columns leaves out what is not printable, and cuts the rest at most characters.
func Columns(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	if r := []rune(s); len(r) > max(0, most) {
		return string(r[:max(0, most)])
	}
	return s
}

// Line is the first line of a text, cut at most bytes, with a sign where there was more.
func Line(s string, most int) string {
	s, _, more := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD")), "\n")
	s, cut := Cut(s, most)
	if more || cut {
		s = strings.TrimSpace(s) + "…"
	}
	return s
}
