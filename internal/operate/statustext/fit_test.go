package statustext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTablesFitTheTerminal: whatever the width, no line is longer while the names have room, nothing is left out that fits, and all is
// told that is.
func TestTablesFitTheTerminal(t *testing.T) {
	table := [][]string{
		{"RELAY", "PHASE", "HEALTH", "REPOSITORIES", "ROOTS", "EVENTS", "GAPS", "UPTIME", "COVERAGE", "NEXT ATTEMPT", "WHY"},
		{"wss://relay.example.org *", "live", "healthy", "120/120", "2500/2500", "7415", "0", "99.9%", "100.0%", "-", "mailbox of 3 people"},
		{"wss://ärger.example.org", "waiting", "dead (61)", "0/1", "0/0", "0", "0", "-", "-", "in 1 h 23 min", ""},
	}
	whole := 0
	for width := 200; width >= 70; width-- {
		narrow, left := fit(table, width)
		if len(narrow[0])+len(left) != len(table[0]) {
			t.Fatalf("%d: %q and %q", width, narrow[0], left)
		}
		total := -2
		for i := range narrow[0] {
			most := 0
			for _, row := range narrow {
				most = max(most, utf8.RuneCountInString(row[i]))
			}
			total += most + 2
		}
		if len(left) == 0 && total > whole {
			whole = total
		}
		if total > width {
			t.Errorf("%d: a line has %d: %q", width, total, narrow)
		}
		if (len(left) > 0) != (width < whole) {
			t.Errorf("%d: left out: %q", width, left)
		}
	}
	if same, left := fit(table, 0); len(left) > 0 || len(same[1]) != len(table[1]) {
		t.Errorf("%q %q", same, left)
	}
	narrow, left := fit(table, 20)
	if got := narrow[1][0]; got != "wss://…org *" || strings.Join(left, " ") != strings.Join(leftFirst, " ") {
		t.Errorf("%q %q", got, left)
	}
}
