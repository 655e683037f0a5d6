package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// row is how graspd stood at one moment.
type row struct {
	when         string
	memory, most float64 // resident, in MB: now, and the most so far
	took         string
}

// report notes how graspd stands, and what the clients have seen of it, and shows it at once.
func (g *process) report(when, format string, args ...any) {
	r := row{when, g.status("VmRSS"), g.status("VmHWM"), fmt.Sprintf(format, args...)}
	g.rows = append(g.rows, r)
	fmt.Fprintf(os.Stderr, "%-28s %6.1f MB, at most %6.1f MB  %s\n", r.when, r.memory, r.most, r.took)
}

// markdown is the whole report. Its memory is judged once the subscribers have listened for a while.
func (p plan) markdown(g *process) string {
	var b strings.Builder
	fmt.Fprintf(&b, "On %s, %d cores, %s/%s, clients on the same machine:\n%d idle connections all along; %d publishes pipelined on one connection; "+
		"then %d subscribers with %d filters each while %d events a second arrive for %v.\n\n",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		p.idle, p.pipelined, p.subscribers, p.filters, p.rate, p.lasts)
	b.WriteString("| when | memory | at most so far | |\n|---|---|---|---|\n")
	for _, r := range g.rows {
		fmt.Fprintf(&b, "| %s | %.0f MB | %.0f MB | %s |\n", r.when, r.memory, r.most, r.took)
	}
	if settled, ended := g.settled, g.ended; settled > 0 {
		fmt.Fprintf(&b, "\nMemory from a fifth of the subscribers' time to its end: %+.0f MB, %+.0f %%.\n", ended-settled, (ended-settled)/settled*100)
	}
	return b.String()
}
