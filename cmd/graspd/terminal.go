package main

import (
	"fmt"
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

// readByOthers returns the problem with an output that is a file which others can read, where a secret key would be in it. A pipe has none
// that graspd could see.
func readByOthers(w io.Writer, what, example string) []string {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o044 == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the output is a file that others can read (mode %04o), and %s has the relay's secret key: (umask 077; %s); where the file is there already, chmod 600 it first", info.Mode().Perm(), what, example)}
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
