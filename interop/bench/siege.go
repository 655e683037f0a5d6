package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/interop/page"
)

// besieged are the attacks of (k): one for each thing that strangers contend for. All attacks take half an hour.
var besieged = []string{
	"pings",        // frames
	"many-haves",   // parsing of what git sends
	"many-values",  // parsing of messages
	"deletions",    // the writer
	"searches",     // reading
	"relay-events", // what other relays send
	"crawlers",     // packs that are made
	"delta-bombs",  // packs that are taken in
	"many-refs",    // states, and pushes under them
	"code-pages",   // pages
}

const (
	mostWorse = 4.0 / 3 // of what the page has
	tries     = 3       // of an attack whose figures are worse than that: what else the machine does passes, and a fault of graspd does not
)

// siege is (k): how long honest clients wait beside attackers, against the same without them, and against the page of before.
func (w *world) siege(ctx context.Context) error {
	var was map[string][]string
	if w.options.events == fullSize { // the page is of no trial
		was = rowsOf(w.before, "k")
	}
	attacks, lasts := besieged[:w.scaled(len(besieged), 2)], time.Duration(w.scaled(20, 1))*time.Second
	all, err := w.besiege(ctx, attacks, lasts)
	for try := 1; err == nil && try < tries; try++ {
		again := attacksOf(worse(all, was))
		if len(again) == 0 {
			break
		}
		w.say("once more: %s", strings.Join(again, ", "))
		var more []page.Figure
		if more, err = w.besiege(ctx, again, lasts); err == nil {
			all = better(all, more)
		}
	}
	if err != nil {
		return err
	}
	for _, f := range all {
		w.report.add(underAttack(f, was))
	}
	for _, f := range worse(all, was) {
		w.worse = append(w.worse, fmt.Sprintf("%s: %s, %s times %s; the page has %s", rowName(f), shown(f), figures(f.Ratio()), span(f.Before), was[rowName(f)][3]))
	}
	w.report.note("Medians of an honest client that waits for each answer; attackers, honest client and graspd share the processors. For each thing that strangers contend for there is one attack here. "+
		"`make siege` makes all of them, in half an hour, and [LOADS.md](LOADS.md) has what came of them. Each lasts %v. The target is a third more than the ratio that this page had before, or than 1 where that is more; "+
		"an attack that misses it is made %d times, and the best counts. `make bench` fails where that misses it too, and leaves the row as it was: where that is meant, take the row out first.", lasts, tries)
	return nil
}

// besiege makes attacks on graspds of their own.
func (w *world) besiege(ctx context.Context, attacks []string, lasts time.Duration) (all []page.Figure, err error) {
	binary := w.path("siege")
	if _, err := os.Stat(binary); err != nil {
		if out, err := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(w.root, "interop"), "-o", binary, "./siege").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the siege: %w\n%s", err, out)
		}
	}
	c := exec.CommandContext(ctx, binary, "-json", "-graspd", w.binary, "-only", strings.Join(attacks, ","), "-for", lasts.String(), "-events", fmt.Sprint(w.scaled(20_000, leastSize)))
	c.Stderr = w.w
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("the siege: %w", err)
	}
	return all, json.Unmarshal(out, &all)
}

// rowName is the first cell of a figure's row.
func rowName(f page.Figure) string { return f.Request + " beside `" + f.Attack + "`" }

// shown is what the client waited for under the attack.
func shown(f page.Figure) string {
	s := fmt.Sprintf("%s, 99 of 100 within %s", span(f.Under), span(f.Slowest))
	if f.Unanswered > 0 {
		s += fmt.Sprintf(", %d without an answer", f.Unanswered)
	}
	return s
}

// bound is the highest ratio that a row may have; false where the page had none.
func bound(f page.Figure, was map[string][]string) (float64, bool) {
	cells := was[rowName(f)]
	if cells == nil {
		return 0, false
	}
	ratio, err := strconv.ParseFloat(cells[3], 64)
	return mostWorse * max(ratio, 1), err == nil
}

// worse are the figures that are more than a third worse than on the page, or of a client that was refused where nobody was.
func worse(all []page.Figure, was map[string][]string) (found []page.Figure) {
	for _, f := range all {
		most, known := bound(f, was)
		if known && (f.Ratio() > most || f.Unanswered > 0 && !strings.Contains(was[rowName(f)][1], "without an answer")) {
			found = append(found, f)
		}
	}
	return found
}

// attacksOf are the attacks of figures, each once.
func attacksOf(all []page.Figure) (names []string) {
	for _, f := range all {
		if !slices.Contains(names, f.Attack) {
			names = append(names, f.Attack)
		}
	}
	return names
}

// better has the better one of two figures for each row; all answered is better than not, and then the lower ratio is.
func better(all, more []page.Figure) []page.Figure {
	out := slices.Clone(all)
	for i, f := range out {
		for _, m := range more {
			if rowName(m) == rowName(f) && (m.Unanswered < f.Unanswered || m.Unanswered == f.Unanswered && m.Ratio() < f.Ratio()) {
				out[i] = m
			}
		}
	}
	return out
}

// underAttack is the row of a figure. One that is worse than it may be stays as the page had it, so that the next run measures against that too.
func underAttack(f page.Figure, was map[string][]string) line {
	if len(worse([]page.Figure{f}, was)) > 0 {
		return lineOf(was[rowName(f)])
	}
	l := line{what: rowName(f), measured: shown(f), against: "without: " + span(f.Before), ratio: f.Ratio()}
	if most, known := bound(f, was); known {
		l = atMost(l, most)
	}
	return l
}

// lineOf is a row of a page.
func lineOf(cells []string) line {
	ratio, _ := strconv.ParseFloat(cells[3], 64) // it was read before
	return line{what: cells[0], measured: cells[1], against: cells[2], ratio: ratio, target: cells[4], met: cells[5] == "yes"}
}

// rowsOf are the rows of a page's section by their first cells.
func rowsOf(text, letter string) map[string][]string {
	rows := map[string][]string{}
	_, sections := parted(text)
	for _, s := range sections {
		if letterOf(s) != letter {
			continue
		}
		for l := range strings.Lines(s) {
			if cells := cellsOf(l); cells != nil {
				rows[cells[0]] = cells
			}
		}
	}
	return rows
}

// pageBefore is the page in the source, as it was when the run began; "" where there is none.
func pageBefore(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, "docs", "PERFORMANCE.md"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}
