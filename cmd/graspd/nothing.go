package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/words"
)

// While nothing is carried the log is looked at so often, and says so at once when the first catch-up is through, and then hourly.
const (
	nothingLook  = 5 * time.Second
	nothingAgain = time.Hour
)

// sayNothingCarried tells the log that nothing is carried and what came instead, until something is or ctx ends.
func sayNothingCarried(ctx context.Context, n *node.Node) {
	t := time.NewTicker(nothingLook)
	defer t.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		told := n.Nothing()
		if told == nil {
			return
		}
		if n.Engine != nil {
			if ready, _ := n.Engine.Ready(ctx); !ready {
				continue
			}
		}
		if now := time.Now(); now.Sub(last) >= nothingAgain {
			last = now
			n.Log().Warn("nothing is carried", "announcements", told.Announcements, "relays", told.From, "listed", told.Listed(), "advice", strings.Join(told.Remedies(), "; "))
		}
	}
}

// box draws a frame around lines, which may hold strangers' words.
func box(w io.Writer, lines []string) {
	width := 0
	for i := range lines {
		lines[i] = words.Escape(lines[i])
		width = max(width, utf8.RuneCountInString(lines[i]))
	}
	rule := strings.Repeat("─", width+2)
	fmt.Fprintf(w, "┌%s┐\n", rule)
	for _, l := range lines {
		fmt.Fprintf(w, "│ %s%s │\n", l, strings.Repeat(" ", width-utf8.RuneCountInString(l)))
	}
	fmt.Fprintf(w, "└%s┘\n", rule)
}
