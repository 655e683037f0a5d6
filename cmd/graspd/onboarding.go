package main

import (
	"context"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/node"
)

// warnNothingHosted looks every hostedCheck whether a repository is kept here. It warns as soon as the first catch-up is over, and then
// every hostedWarnAgain.
const (
	hostedCheck     = 5 * time.Second
	hostedWarnAgain = time.Hour
)

// warnNothingHosted logs that no repository is kept here, and what came instead, until a repository is kept or ctx ends.
func warnNothingHosted(ctx context.Context, n *node.Node) {
	t := time.NewTicker(hostedCheck)
	defer t.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		found := n.Nothing()
		if found == nil {
			return
		}
		if !n.Readiness().Ready {
			continue
		}
		if now := time.Now(); now.Sub(last) >= hostedWarnAgain {
			last = now
			n.Log().Warn("no repository is kept here", "announcements", found.Announcements, "relays", found.From, "listed", found.Listed(), "mend", strings.Join(found.Remedies(), "; "))
		}
	}
}
