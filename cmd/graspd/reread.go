package main

import (
	"context"
	"os"

	"github.com/graspd/graspd/internal/node"
)

// rereadOn rereads the lists at each signal until ctx ends. If anything is wrong with one of them, all stay as they are.
func rereadOn(ctx context.Context, c *Config, n *node.Node, signals <-chan os.Signal) {
	log := n.Log()
	for {
		select {
		case <-signals:
			l, problems := c.lists()
			for _, p := range problems {
				log.Error("list not reread", "problem", p)
			}
			if len(problems) > 0 {
				log.Error("the lists stay as they were")
				continue
			}
			n.SetLists(ctx, l)
		case <-ctx.Done():
			return
		}
	}
}
