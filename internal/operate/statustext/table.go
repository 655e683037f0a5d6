package statustext

import (
	"io"
	"strings"
	"unicode/utf8"
)

// table has rows of cells for people to read on a terminal. The first row has the titles.
type table [][]string

// Table prints rows, the first of which has the titles. Table makes the columns named by shrink narrower, as far as they go, so that no
// line has more than width characters; a width of 0 allows any number. The cells must hold nothing that a terminal obeys.
func Table(w io.Writer, rows [][]string, width int, shrink ...int) error {
	return table(rows).print(w, width, shrink...)
}

// Fits reports whether Table prints such rows in lines of at most width characters without making a column narrower.
func Fits(rows [][]string, width int) bool {
	total := -between
	for _, n := range table(rows).widths() {
		total += n + between
	}
	return width <= 0 || total <= width
}

// print prints the rows as Table does. Figures stand at the right of their column, texts at the left.
func (t table) print(w io.Writer, width int, shrink ...int) error {
	widths := t.widths()
	total := -between
	for _, n := range widths {
		total += n + between
	}
	if width > 0 {
		for _, least := range []int{leastName, leastCell} {
			total -= narrow(widths, shrink, total-width, least)
		}
	}
	var b strings.Builder
	for _, row := range t {
		line := ""
		for i, cell := range row {
			cell = shortened(cell, widths[i])
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.figures(i) {
				line += pad + cell
			} else {
				line += cell + pad
			}
			line += strings.Repeat(" ", between)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// narrow takes up to most characters off the columns named by shrink, always off the widest, and leaves each at least the least. It returns
// how many it took.
func narrow(widths, shrink []int, most, least int) int {
	for taken := range max(0, most) {
		widest := -1
		for _, i := range shrink {
			if widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return taken
		}
		widths[widest]--
	}
	return max(0, most)
}

// widths returns how many characters each column needs.
func (t table) widths() []int {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// figures reports whether a column has only numbers, apart from dashes.
func (t table) figures(i int) bool {
	some := false
	for _, row := range t[1:] {
		if row[i] == "-" {
			continue
		}
		if some = row[i] != "" && strings.Trim(row[i], "0123456789/.%") == ""; !some {
			return false
		}
	}
	return some
}
