package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// tally counts what people of one kind met.
type tally struct {
	mu      sync.Mutex
	counts  map[string]int
	waits   []time.Duration // for what went well
	silence time.Duration   // the longest time in which nothing did
	well    time.Time       // when something last did
}

// newTally begins to count.
func newTally() *tally { return &tally{counts: map[string]int{}, well: time.Now()} }

// good counts something that went well, for which somebody waited.
func (c *tally) good(what string, waited time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
	c.waits = append(c.waits, waited)
	c.silence = max(c.silence, time.Since(c.well))
	c.well = time.Now()
}

// add counts anything else.
func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
}

func (c *tally) count(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[what]
}

// row is a line of a table.
func (c *tally) row(who string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.waits)
	keys := slices.SortedFunc(maps.Keys(c.counts), func(a, b string) int { return cmp.Or(c.counts[b]-c.counts[a], strings.Compare(a, b)) })
	var met []string
	for _, k := range keys {
		met = append(met, fmt.Sprintf("%d %s", c.counts[k], k))
	}
	at := func(percent int) string {
		if len(c.waits) == 0 {
			return "–"
		}
		return c.waits[(len(c.waits)-1)*percent/100].Round(100 * time.Microsecond).String()
	}
	return strings.Join([]string{who, at(50), at(99), at(100), c.silence.Round(time.Millisecond).String(), strings.Join(met, ", ")}, "\t")
}

// table makes a table of such lines.
func table(rows ...string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "who\twait p50\tp99\tlongest\tnothing for\tmet")
	for _, r := range rows {
		fmt.Fprintln(w, r)
	}
	w.Flush() // to memory
	return b.String()
}
