// Command load puts graspd under the load of many clients on loopback and
// reports its memory and latency at the start and at the end: idle connections,
// subscribers while events arrive, and publishes that nobody waits for. It stops
// by itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var p plan
	flag.StringVar(&p.binary, "graspd", "", "the binary under load")
	flag.IntVar(&p.idle, "idle", 10_000, "idle connections")
	flag.IntVar(&p.subscribers, "subscribers", 500, "subscribers")
	flag.IntVar(&p.filters, "filters", 20, "filters of each subscriber")
	flag.IntVar(&p.rate, "rate", 100, "events per second while they listen")
	flag.DurationVar(&p.lasts, "for", 10*time.Minute, "how long the events arrive")
	flag.IntVar(&p.pipelined, "pipelined", 20_000, "publishes on one connection without waiting for an answer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := p.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// plan is what is done, one part after the other, the idle connections staying all along.
type plan struct {
	binary                     string
	idle, subscribers, filters int
	rate, pipelined            int
	lasts                      time.Duration
}

func (p plan) run(ctx context.Context) error {
	g, err := start(p.binary)
	if err != nil {
		return err
	}
	defer g.stop()
	c, err := connect(ctx, g.url)
	if err != nil {
		return err
	}
	if err := c.publish(ctx, repository); err != nil {
		return err
	}
	g.report("at the start")
	if err := p.idlers(ctx, g); err != nil {
		return fmt.Errorf("idle connections: %w", err)
	}
	if err := p.pipeline(ctx, g); err != nil {
		return fmt.Errorf("pipelined publishes: %w", err)
	}
	if err := p.listeners(ctx, g); err != nil {
		return fmt.Errorf("subscribers: %w", err)
	}
	g.report("at the end")
	return g.stop()
}
