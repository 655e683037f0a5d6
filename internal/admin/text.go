package admin

import (
	"fmt"
	"strconv"
	"time"

	"github.com/graspd/graspd/internal/status"
)

// number writes a number with a thin space between thousands.
func number(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u2009" + s[i:]
	}
	return s
}

// size writes a number of bytes in the unit that fits.
func size(n uint64) string { return status.Bytes(n).String() }

// percent writes a ratio; what is not all of it is never rounded up to 100 %.
func percent(r float64) string {
	if r >= 1 {
		return "100 %"
	}
	return fmt.Sprintf("%.1f %%", min(99.9, 100*r))
}

// wait says how long it is until something happens.
func wait(d time.Duration) string {
	switch {
	case d <= 0:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("in %d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("in %d min", int(d.Minutes()))
	}
	return fmt.Sprintf("in %.1f h", d.Hours())
}
