package progress

import (
	"strconv"
	"strings"
	"time"
)

// eighths has the blocks for 0 to 7 eighths of a column.
var eighths = [...]string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// Bar draws how much of all is done, in that many columns. It is full only when all is done, and empty when nothing is.
func Bar(columns int, done, all int64) string {
	if all <= 0 {
		done, all = 0, 1
	}
	done = min(max(0, done), all)
	full := int(float64(done) / float64(all) * float64(columns*8))
	if done < all {
		full = min(full, columns*8-1)
	}
	if done > 0 {
		full = max(full, 1)
	}
	b := strings.Repeat("█", full/8) + eighths[full%8]
	return b + strings.Repeat("░", columns-(full+7)/8)
}

// Left estimates how long the rest takes after the time that it took so far; false while it cannot tell.
func Left(took time.Duration, done, all int64) (time.Duration, bool) {
	if took < 2*time.Second || done <= 0 || all < done {
		return 0, false
	}
	return time.Duration(float64(took) / float64(done) * float64(all-done)), true
}

// Count writes a number with a comma before every third digit from the end.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
