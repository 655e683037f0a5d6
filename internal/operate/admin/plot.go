package admin

import (
	"fmt"
	"math"
	"strings"

	"github.com/graspd/graspd/internal/status"
)

// A plot shows a day in 144 columns: a strip that tells when the relay was connected, and above the strip how many events it brought.
const (
	plotWidth   = slots / 2
	plotHeight  = 22
	stripHeight = 4
	barHeight   = plotHeight - stripHeight - 1
)

// plot has what the template draws: paths of an SVG with the box 0 0 144 22.
type plot struct {
	Up, Mixed, Down string // parts of the strip
	Bars            string
	Title           string
}

// draw makes the plot of a day. Bars are logarithmic: a full one is 1,000 events or more.
func draw(day [slots]slot) plot {
	var up, mixed, down runs
	var bars steps
	var seen, connected, brought uint64
	for i := range plotWidth {
		a, b := day[2*i], day[2*i+1]
		u, d, n := a.up+b.up, a.down+b.down, a.brought+b.brought
		seen, connected, brought = seen+uint64(u)+uint64(d), connected+uint64(u), brought+n
		switch {
		case u > 0 && d > 0:
			mixed.add(i)
		case u > 0:
			up.add(i)
		case d > 0:
			down.add(i)
		}
		h := 0
		if n > 0 {
			h = min(barHeight, max(1, int(math.Round(barHeight*math.Log10(float64(n)+1)/3))))
		}
		bars.add(i, h)
	}
	bars.add(plotWidth, 0)
	p := plot{Up: up.String(), Mixed: mixed.String(), Down: down.String(), Bars: bars.String(), Title: "nothing seen within the last day"}
	if seen > 0 {
		p.Title = fmt.Sprintf("last day: connected %s of the time seen, %d events brought", status.Percent(float64(connected)/float64(seen)), brought)
	}
	return p
}

// runs has the columns of one colour of the strip. Columns beside each other are one shape.
type runs struct{ from, to []int }

func (r *runs) add(i int) {
	if n := len(r.to); n > 0 && r.to[n-1] == i {
		r.to[n-1]++
		return
	}
	r.from, r.to = append(r.from, i), append(r.to, i+1)
}

func (r *runs) String() string {
	var b strings.Builder
	for i, from := range r.from {
		fmt.Fprintf(&b, "M%d %dh%dv%dh-%dz", from, plotHeight-stripHeight, r.to[i]-from, stripHeight, r.to[i]-from)
	}
	return b.String()
}

// steps draws bars: one shape for each group of bars without an empty column between them.
type steps struct {
	b      strings.Builder
	at     int // where the last bars of one height begin
	height int
}

// add adds the bar of column i.
func (s *steps) add(i, height int) {
	if height == s.height {
		return
	}
	if s.height == 0 {
		fmt.Fprintf(&s.b, "M%d %dv-%d", i, barHeight, height)
	} else {
		fmt.Fprintf(&s.b, "h%dv%d", i-s.at, s.height-height)
		if height == 0 {
			s.b.WriteByte('z')
		}
	}
	s.at, s.height = i, height
}

func (s *steps) String() string { return s.b.String() }
