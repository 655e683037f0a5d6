package statustext

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/base/safetext"
)

// sides is how many characters of a line the frame of a box takes. leastBox is how many are left for words at least.
const (
	sides    = 4
	leastBox = 20
)

// Box draws a frame around lines, which may hold strangers' words, and wraps the lines so that none has more than width characters; a width
// of 0 allows any number. A longer word stays whole, so that people can copy it.
func Box(w io.Writer, lines []string, width int) {
	var inside []string
	for _, l := range lines {
		l = safetext.Escape(l)
		if width > 0 {
			inside = append(inside, wrapped(l, max(leastBox, width-sides))...)
		} else {
			inside = append(inside, l)
		}
	}
	widest := 0
	for _, l := range inside {
		widest = max(widest, utf8.RuneCountInString(l))
	}
	rule := strings.Repeat("─", widest+2)
	fmt.Fprintf(w, "┌%s┐\n", rule)
	for _, l := range inside {
		fmt.Fprintf(w, "│ %s%s │\n", l, strings.Repeat(" ", widest-utf8.RuneCountInString(l)))
	}
	fmt.Fprintf(w, "└%s┘\n", rule)
}

// Wrap breaks a line between words, so that none has more than width characters; a width of 0 allows any number. Words that are longer
// stay whole. The line must hold nothing that a terminal obeys.
func Wrap(line string, width int) []string {
	if width <= 0 {
		return []string{line}
	}
	return wrapped(line, max(leastBox, width))
}

// wrapped breaks a line between words into lines of at most width characters. Later lines are indented by two more than the first.
func wrapped(line string, width int) []string {
	if utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var out []string
	now, blank := indent, true
	for _, word := range strings.Fields(line) {
		switch {
		case blank:
			now += word
		case utf8.RuneCountInString(now)+1+utf8.RuneCountInString(word) <= width:
			now += " " + word
		default:
			out = append(out, now)
			now = indent + "  " + word
		}
		blank = false
	}
	return append(out, now)
}
