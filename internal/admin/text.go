package admin

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// number writes a number with a thin space between thousands.
func number(n uint64) string {
	s := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteRune('\u2009')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// size writes a number of bytes in the unit that fits.
func size(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

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
