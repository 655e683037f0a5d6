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

	"github.com/graspd/graspd/interop/page"
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
	flag.StringVar(&p.into, "into", "", "file that holds the report of the last time, which is replaced")
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
	binary, into               string
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
	if err := p.probe(ctx, g, c, "at the start"); err != nil {
		return err
	}
	idle, err := p.idlers(ctx, g)
	if err != nil {
		return fmt.Errorf("idle connections: %w", err)
	}
	if err := p.probe(ctx, g, c, "beside these"); err != nil {
		return err
	}
	if err := p.pipeline(ctx, g); err != nil {
		return fmt.Errorf("pipelined publishes: %w", err)
	}
	if err := p.listeners(ctx, g); err != nil {
		return fmt.Errorf("subscribers: %w", err)
	}
	if c, err = connect(ctx, g.url); err != nil { // the first one read nothing for long, and was closed for it
		return err
	}
	if err := p.probe(ctx, g, c, "at the end"); err != nil {
		return err
	}
	if lost := idle.Load(); lost > 0 {
		return fmt.Errorf("%d of the idle connections are gone", lost)
	}
	report := p.markdown(g)
	fmt.Print(report)
	if p.into != "" {
		if err := page.Replace(p.into, "load", report); err != nil {
			return err
		}
	}
	return g.stop()
}
