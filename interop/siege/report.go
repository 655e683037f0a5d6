package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"
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

// line is the row for the terminal.
func (r row) line() string {
	s := fmt.Sprintf("  publish %s -> %s%s\n  query   %s -> %s%s\n  memory %s, disk %+.1f MB; newcomers: %s\n  attackers: %s\n  graspd %s\n",
		r.before.publish, r.under.publish, ratio(r.before.publish.took, r.under.publish.took),
		r.before.query, r.under.query, ratio(r.before.query.took, r.under.query.took),
		size(r.peak), float64(r.disk)/1e6, r.newcomers, r.got, r.fate())
	if r.hosts {
		s += fmt.Sprintf("  push    %s -> %s%s\n  clone   %s -> %s%s\n  %s\n", r.before.push, r.under.push, ratio(r.before.push.took, r.under.push.took),
			r.before.clone, r.under.clone, ratio(r.before.clone.took, r.under.clone.took), &r.tree)
	}
	for _, more := range []string{r.note, r.refusal} {
		if more != "" {
			s += "  " + more + "\n"
		}
	}
	return s
}

// markdown is the whole report.
func (r report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "On %s, %d cores, %s/%s, attackers and honest clients on the same machine; %d events stored before; each attack lasts %v.\n"+
		"Times are the median and the 99th percentile of an honest client that waits for each answer; in brackets how many times those without the attack.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, r.events, r.lasts)
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
			b.WriteString("\n| attack | push without | under attack | clone without | under attack | memory with all of git | processes of git | disk |\n|---|---|---|---|---|---|---|---|\n")
		}
		begun = true
		fmt.Fprintf(b, "| %s | %s | %s%s | %s | %s%s | %s | %d | %s |\n", w.name,
			w.before.push, w.under.push, ratio(w.before.push.took, w.under.push.took),
			w.before.clone, w.under.clone, ratio(w.before.clone.took, w.under.clone.took), size(w.tree.memory), w.tree.processes, size(w.tree.disk))
	}
}
