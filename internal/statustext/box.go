package statustext

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/words"
)

// Box draws a frame around lines, which may hold strangers' words.
func Box(w io.Writer, lines []string) {
	width := 0
	for i := range lines {
		lines[i] = words.Escape(lines[i])
		width = max(width, utf8.RuneCountInString(lines[i]))
	}
	rule := strings.Repeat("─", width+2)
	fmt.Fprintf(w, "┌%s┐\n", rule)
	for _, l := range lines {
		fmt.Fprintf(w, "│ %s%s │\n", l, strings.Repeat(" ", width-utf8.RuneCountInString(l)))
	}
	fmt.Fprintf(w, "└%s┘\n", rule)
}
