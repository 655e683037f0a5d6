package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/graspd/graspd/internal/operate/progress"
)

// isTerminal reports whether w is a terminal, where people see at once what is written and lines can be drawn again.
func isTerminal(w io.Writer) bool {
	if _, drawn := w.(*progress.Screen); drawn {
		return true
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// terminalWidth returns the number of columns; 80 where it cannot tell.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// tableWidth returns how many characters a line of a table may have; 0, for any number, where w is no terminal.
func tableWidth(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	return terminalWidth(w)
}
