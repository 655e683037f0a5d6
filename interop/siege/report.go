package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/interop/page"
)

// row is what came of one attack.
type row struct {
	attack
	before, under watched
	newcomers     welcome
	peak, disk    int64 // bytes: the most memory during the attack, and what the data has grown by
	got           string
	recovers      string // time until a publish is answered after the attack
	died          string // how the process ended, or nothing
	diedAfter     time.Duration
	note          string
	refusal       string    // the first that the attackers got
	tree          footprint // where repositories are hosted
	left          []string  // what was not as before afterwards
}

// report is all of them.
type report struct {
	options
	events int
	rows   []row
}

func (r row) fate() string {
	if r.died != "" {
		when := ""
		if r.diedAfter > 0 {
			when = " after " + span(r.diedAfter)
		}
		return fmt.Sprintf("**ended%s**: %s", when, r.died)
	}
	if len(r.left) > 0 {
		return "**lives, and leaves**: " + strings.Join(r.left, "; ")
	}
	return "lives; answers " + r.recovers + " after it"
}

// What honest parties may bear under an attack: that many times what they wait for without it, or that long.
const (
	mostTimes = 10
	mostWait  = 250 * time.Millisecond
)

// asked is one kind of what the honest client asks for, without the attack and under it.
type asked struct {
	what          string
	before, under sample
}

func (r row) requests() []asked {
	return []asked{
		{"publish", r.before.publish, r.under.publish}, {"query", r.before.query, r.under.query}, {"push", r.before.push, r.under.push},
		{"clone", r.before.clone, r.under.clone}, {"page", r.before.page, r.under.page},
	}
}

// misses says what honest parties bear beyond that, and what became of graspd; nothing where the bound is met. Nobody honest may be refused.
func (r row) misses() string {
	all := slices.Clone(r.left)
	if r.died != "" {
		all = append(all, "graspd ended: "+r.died)
	}
	for _, x := range r.requests() {
		if bound := max(mostTimes*x.before.took.within(0.99), mostWait); x.under.took.within(0.99) > bound {
			all = append(all, fmt.Sprintf("%s: p99 %s, may be %s", x.what, span(x.under.took.within(0.99)), span(bound)))
		}
		if x.under.failed > 0 {
			all = append(all, fmt.Sprintf("%s: %d of %d refused or lost, the first: %v", x.what, x.under.failed, len(x.under.took), x.under.why))
		}
	}
	return strings.ReplaceAll(strings.Join(all, "; "), "|", "/")
}

// line is the row for the terminal.
func (r row) line() string {
	s := fmt.Sprintf("  publish %s -> %s%s\n  query   %s -> %s%s\n  memory %s, disk %+.1f MB; newcomers: %s\n  attackers: %s\n  graspd %s\n",
		r.before.publish, r.under.publish, ratio(r.before.publish.took, r.under.publish.took),
		r.before.query, r.under.query, ratio(r.before.query.took, r.under.query.took),
		size(r.peak), float64(r.disk)/1e6, r.newcomers, r.got, r.fate())
	if r.hosts {
		s += fmt.Sprintf("  push    %s -> %s%s\n  clone   %s -> %s%s\n  page    %s -> %s%s\n  %s\n", r.before.push, r.under.push, ratio(r.before.push.took, r.under.push.took),
			r.before.clone, r.under.clone, ratio(r.before.clone.took, r.under.clone.took),
			r.before.page, r.under.page, ratio(r.before.page.took, r.under.page.took), &r.tree)
	}
	if misses := r.misses(); misses != "" {
		s += "  MISSES THE BOUND: " + misses + "\n"
	} else {
		s += "  the bound is met\n"
	}
	for _, more := range []string{r.note, r.refusal} {
		if more != "" {
			s += "  " + more + "\n"
		}
	}
	return s
}

// fewest says of how many requests a figure under attack is at least.
func (r report) fewest() string {
	var all []string
	for _, x := range []struct {
		what string
		of   func(watched) sample
	}{
		{"publishes", func(w watched) sample { return w.publish }}, {"queries", func(w watched) sample { return w.query }},
		{"pushes", func(w watched) sample { return w.push }}, {"clones", func(w watched) sample { return w.clone }}, {"pages", func(w watched) sample { return w.page }},
	} {
		least := 0
		for _, w := range r.rows {
			if n := len(x.of(w.under).took); n > 0 && (n < least || least == 0) {
				least = n
			}
		}
		if least > 0 {
			all = append(all, fmt.Sprintf("%d %s", least, x.what))
		}
	}
	return "at least " + strings.Join(all, ", ")
}

// print prints the report, and puts it into the file that holds the last one; or it prints the figures alone.
func (r report) print(w io.Writer) error {
	if r.json {
		return json.NewEncoder(w).Encode(r.figures())
	}
	text := r.markdown()
	if _, err := io.WriteString(w, text); err != nil || r.into == "" {
		return err
	}
	return page.Replace(r.into, "siege", text)
}

// figures are those of each attack and kind of request.
func (r report) figures() (all []page.Figure) {
	for _, w := range r.rows {
		for _, x := range w.requests() {
			if len(x.before.took) > 0 && len(x.under.took) > 0 {
				all = append(all, page.Figure{Attack: w.name, Request: x.what, Unanswered: x.under.failed,
					Before: x.before.took.within(0.5), Under: x.under.took.within(0.5), Slowest: x.under.took.within(0.99)})
			}
		}
	}
	return all
}

// markdown is the whole report.
func (r report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "On %s, %d cores, %s/%s, attackers and honest clients on the same machine; %d events stored before; each attack lasts %v.\n"+
		"Times are the median and the 99th percentile of an honest client that waits for each answer; in brackets how many times those without the attack.\n"+
		"Each figure is of %s.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, r.events, r.lasts, r.fewest())
	b.WriteString("| attack | what the attacker does | what bounds it |\n|---|---|---|\n")
	for _, w := range r.rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", w.name, w.does, w.bound)
	}
	b.WriteString("\n| attack | publish without | under attack | query without | under attack | memory | newcomers served | graspd |\n|---|---|---|---|---|---|---|---|\n")
	for _, w := range r.rows {
		fmt.Fprintf(&b, "| %s | %s | %s%s | %s | %s%s | %s | %s | %s |\n", w.name,
			w.before.publish, w.under.publish, ratio(w.before.publish.took, w.under.publish.took),
			w.before.query, w.under.query, ratio(w.before.query.took, w.under.query.took),
			size(w.peak), w.newcomers, strings.ReplaceAll(w.fate(), "|", "/"))
	}
	r.hosted(&b)
	fmt.Fprintf(&b, "\nThe bound: nobody honest is refused, and the 99th percentile is at most %d times that without the attack, or %s where that is more.\n\n"+
		"| attack | the bound |\n|---|---|\n", mostTimes, span(mostWait))
	for _, w := range r.rows {
		verdict := "met"
		if misses := w.misses(); misses != "" {
			verdict = "**missed**: " + misses
		}
		fmt.Fprintf(&b, "| %s | %s |\n", w.name, verdict)
	}
	b.WriteString("\n| attack | what the attacker got |\n|---|---|\n")
	for _, w := range r.rows {
		got := w.got
		if w.note != "" {
			got = w.note + "; " + got
		}
		fmt.Fprintf(&b, "| %s | %s |\n", w.name, got)
	}
	return b.String()
}

// hosted is what there is to tell of those that are about repositories.
func (r report) hosted(b *strings.Builder) {
	begun := false
	for _, w := range r.rows {
		if !w.hosts {
			continue
		}
		if !begun {
			b.WriteString("\n| attack | push without | under attack | clone without | under attack | page without | under attack | memory with all of git | processes of git | disk |\n|---|---|---|---|---|---|---|---|---|---|\n")
		}
		begun = true
		fmt.Fprintf(b, "| %s | %s | %s%s | %s | %s%s | %s | %s%s | %s | %d | %s |\n", w.name,
			w.before.push, w.under.push, ratio(w.before.push.took, w.under.push.took),
			w.before.clone, w.under.clone, ratio(w.before.clone.took, w.under.clone.took),
			w.before.page, w.under.page, ratio(w.before.page.took, w.under.page.took), size(w.tree.memory), w.tree.processes, size(w.tree.disk))
	}
}
