package statustext

import "slices"

// between is how many spaces stand between two columns of a table. leastName is how narrow a column may become at first, and leastCell how
// narrow where that does not make enough room.
const (
	between   = 2
	leastName = 12
	leastCell = 8
)

// leftFirst names the columns of the table of relays that fit leaves out where there is no room, in this order.
var leftFirst = []string{"UPTIME", "EVENTS", "COVERAGE", "WHY", "GAPS", "ROOTS", "NEXT ATTEMPT"}

// fit makes the table of relays narrower, so that a line has at most width characters; a width of 0 allows any number. It leaves out columns
// of leftFirst, whose titles it returns, and then shortens the first column, but to no less than leastName. The first row has the titles.
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

// shortened leaves out the middle of a text that has more than most characters.
func shortened(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	end := (most - 1) / 2
	return string(r[:most-1-end]) + "…" + string(r[len(r)-end:])
}
