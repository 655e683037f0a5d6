// Package bidi makes the control characters of bidirectional text (Unicode, UAX #9) visible. What a stranger writes with them
// can show words of others in another order than they have.
package bidi

import (
	"fmt"
	"strings"
)

// Escape writes each such character as text, in the way of "\u202e".
func Escape(s string) string {
	if !strings.ContainsFunc(s, isControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isControl reports marks, embeddings, overrides and isolates, and what ends them.
func isControl(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
}
