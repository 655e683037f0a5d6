package main

import (
	"context"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/node"
)

// While no repository is kept here the log is looked at so often, and says so at once when the first catch-up is through, and then hourly.
const (
	nothingLook  = 5 * time.Second
	nothingAgain = time.Hour
)

// sayNothingCarried tells the log that no repository is kept here and what came instead, until something is or ctx ends.
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
			n.Log().Warn("no repository is kept here", "announcements", told.Announcements, "relays", told.From, "listed", told.Listed(), "advice", strings.Join(told.Remedies(), "; "))
		}
	}
}
