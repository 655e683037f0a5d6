package statustext

import "slices"

// between is how many spaces are between two columns of a table, leastName how short the first may become, and leastCell how short others
// may where there is no room for names either.
const (
	between   = 2
	leastName = 12
	leastCell = 8
)

// leftFirst are the columns of the table of relays that are left out where there is no room, in this order.
var leftFirst = []string{"UPTIME", "EVENTS", "COVERAGE", "WHY", "GAPS", "ROOTS", "NEXT ATTEMPT"}

// fit makes a table, whose first row are titles, so narrow that a line has at most width characters, and says which columns were left out
// for that. What is still too wide then is cut in the first column. 0 is any width.
func fit(rows table, width int) (narrow table, left []string) {
	if width <= 0 {
		return rows, nil
	}
	widths := rows.widths()
	keep := make([]bool, len(widths))
	total := -between
	for i, w := range widths {
		keep[i], total = true, total+w+between
	}
	for _, title := range leftFirst {
		if i := slices.Index(rows[0], title); i >= 0 && total > width {
			keep[i], total, left = false, total-widths[i]-between, append(left, title)
		}
	}
	name := max(leastName, widths[0]-max(0, total-width))
	for _, row := range rows {
		var cells []string
		for i, cell := range row {
			switch {
			case i == 0:
				cells = append(cells, shortened(cell, name))
			case keep[i]:
				cells = append(cells, cell)
			}
		}
		narrow = append(narrow, cells)
	}
	return narrow, left
}

// shortened leaves out the middle of a text that has more characters than fit.
func shortened(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	end := (most - 1) / 2
	return string(r[:most-1-end]) + "…" + string(r[len(r)-end:])
}
