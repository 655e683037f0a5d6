// Package safetext cuts and escapes what strangers wrote, so that it fits into one line of a log, a terminal or a message, is short,
// and cannot control what shows it. Its functions are pure. Use Cut for texts to keep, and Printable for texts to show.
package safetext

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxText is how many bytes of a stranger's text go into an error or a line of the log.
const MaxText = 200

// Cut returns the beginning of a text, at most most bytes of whole characters, and reports whether it has cut anything. A text
// that was cut does not keep the rest in memory.
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

// Escape escapes all that is not printable in one line: control characters, invalid UTF-8, marks of direction.
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

// Columns leaves out characters that are not printable, and cuts the rest after most characters.
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

// Line returns the first line of a text, at most most bytes of it, with … behind it where there was more.
func Line(s string, most int) string {
	s, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	s, cut := Cut(s, most)
	s, longer := Cut(strings.ToValidUTF8(s, "\uFFFD"), most) // only of what is left, as s may be long
	if more || cut || longer {
		s = strings.TrimSpace(s) + "…"
	}
	return s
}
