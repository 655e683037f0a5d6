package main

import (
	"context"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/node"
)

// sayNothingCarried looks every nothingLook whether a repository is kept here. It warns as soon as the first catch-up is over, and then
// every nothingAgain.
const (
	nothingLook  = 5 * time.Second
	nothingAgain = time.Hour
)

// sayNothingCarried logs that no repository is kept here, and what came instead, until a repository is kept or ctx ends.
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
			n.Log().Warn("no repository is kept here", "announcements", told.Announcements, "relays", told.From, "listed", told.Listed(), "mend", strings.Join(told.Remedies(), "; "))
		}
	}
}
