package admin

import (
	"fmt"
	"math"
	"strings"
)

// A plot is a day in 144 columns: a strip that tells when the relay was
// connected, and above it how many events it brought.
const (
	plotWidth   = slots / 2
	plotHeight  = 22
	stripHeight = 4
	barHeight   = plotHeight - stripHeight - 1
)

// plot is what the template draws: paths of an SVG with the box 0 0 144 22.
type plot struct {
	Up, Mixed, Down string // parts of the strip
	Bars            string
	Title           string
}

// draw makes the plot of a day. Bars are logarithmic: a full one is 1,000 events or more.
func draw(day [slots]slot) plot {
	var up, mixed, down, bars strings.Builder
	var seen, connected, brought uint64
	for i := range plotWidth {
		a, b := day[2*i], day[2*i+1]
		u, d, n := a.up+b.up, a.down+b.down, a.brought+b.brought
		seen, connected, brought = seen+uint64(u)+uint64(d), connected+uint64(u), brought+n
		switch {
		case u > 0 && d > 0:
			column(&mixed, i, plotHeight-stripHeight, stripHeight)
		case u > 0:
			column(&up, i, plotHeight-stripHeight, stripHeight)
		case d > 0:
			column(&down, i, plotHeight-stripHeight, stripHeight)
		}
		if n > 0 {
			h := min(barHeight, max(1, int(math.Round(barHeight*math.Log10(float64(n)+1)/3))))
			column(&bars, i, barHeight-h, h)
		}
	}
	p := plot{Up: up.String(), Mixed: mixed.String(), Down: down.String(), Bars: bars.String(), Title: "nothing seen within the last day"}
	if seen > 0 {
		p.Title = fmt.Sprintf("last day: connected %.1f %% of the time seen, %d events brought", 100*float64(connected)/float64(seen), brought)
	}
	return p
}

// column adds a bar of width 1.
func column(b *strings.Builder, x, y, h int) { fmt.Fprintf(b, "M%d %dh1v%dh-1z", x, y, h) }
