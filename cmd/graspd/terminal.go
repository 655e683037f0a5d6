package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/graspd/graspd/internal/progress"
)

// isTerminal says whether people see at once what is written, and lines may be drawn again.
func isTerminal(w io.Writer) bool {
	if _, drawn := w.(*progress.Screen); drawn {
		return true
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// terminalWidth is the number of columns; 80 where nobody knows.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// tableWidth is how many characters a line of a table may have: any number, which is 0, where no people read it.
func tableWidth(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	return terminalWidth(w)
}
