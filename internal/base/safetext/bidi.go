package safetext

import (
	"fmt"
	"strings"
)

// EscapeBidi escapes the control characters of bidirectional text (Unicode, UAX #9) alone, in the way of "\u202e". What a stranger writes
// with them can show words of others in another order than they have. Use it for whole pages and for texts of many lines.
func EscapeBidi(s string) string {
	if !strings.ContainsFunc(s, isBidiControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isBidiControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isBidiControl reports marks, embeddings, overrides and isolates, and what ends them.
func isBidiControl(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}
