package main

import (
	"fmt"
	"strings"
	"time"
)

// report collects the figures.
type report struct {
	command  string
	head     []string // facts about the machine and the corpus
	left     []string // letters of the parts that are not measured yet
	sections []section
}

type section struct {
	letter, title string
	lines         []line
	notes         []string
}

// line is one figure. against and target are "" where there is none.
type line struct {
	what, measured string
	against        string // what it is compared to, with its figure
	ratio          float64
	target         string
	met            bool
}

func (r *report) begin(letter, title string) {
	r.sections = append(r.sections, section{letter: letter, title: title})
}

func (r *report) now() *section { return &r.sections[len(r.sections)-1] }

// add puts a line into the section that was begun last.
func (r *report) add(l line) { r.now().lines = append(r.now().lines, l) }

// note says how the lines of the section were measured.
func (r *report) note(format string, args ...any) {
	r.now().notes = append(r.now().notes, fmt.Sprintf(format, args...))
}

func (l line) cells() []string {
	ratio, met := "", ""
	if l.against != "" {
		ratio = figures(l.ratio)
	}
	if l.target != "" {
		met = "**no**"
		if l.met {
			met = "yes"
		}
	}
	return []string{l.what, l.measured, l.against, ratio, l.target, met}
}

// markdown is the page.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Performance\n\nThis page is generated: `%s`. Every figure stands beside another one of the same run.\n"+
		"Ten of them come first; the sections below have all, with targets, and say how each was measured. [TRIED.md](TRIED.md) says what was tried and not kept.\n\n", r.command)
	for _, h := range r.head {
		fmt.Fprintf(&b, "- %s\n", h)
	}
	if len(r.left) > 0 {
		fmt.Fprintf(&b, "- **It was ended early**: not measured were %s.\n", strings.Join(r.left, ", "))
	}
	for i := range r.sections {
		b.WriteString(r.sections[i].markdown())
	}
	return b.String()
}

// markdown is the section, with a line break before and after.
func (s *section) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## (%s) %s\n\n", s.letter, s.title)
	if len(s.lines) > 0 {
		b.WriteString("| what | measured | compared to | ratio | target | met |\n|---|---|---|---|---|---|\n")
	}
	for _, l := range s.lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(l.cells(), " | "))
	}
	for _, n := range s.notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	return b.String()
}

// figures is a number with three digits that count.
func figures(x float64) string {
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.9995:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// span is a duration with three digits that count.
func span(d time.Duration) string {
	switch {
	case d >= time.Second:
		return figures(d.Seconds()) + " s"
	case d >= time.Millisecond:
		return figures(float64(d)/1e6) + " ms"
	}
	return figures(float64(d)/1e3) + " µs"
}

// each is the share of one of n.
func each(d time.Duration, n int) time.Duration { return d / time.Duration(max(n, 1)) }

// rate is how many a second.
func rate(n int, d time.Duration) string {
	return fmt.Sprintf("%.0f events/s (%d in %s)", float64(n)/d.Seconds(), n, span(d))
}

// size is a number of bytes.
func size(n int64) string {
	switch {
	case n >= 1e6:
		return figures(float64(n)/1e6) + " MB"
	case n >= 1e3:
		return figures(float64(n)/1e3) + " kB"
	}
	return fmt.Sprint(n, " B")
}
