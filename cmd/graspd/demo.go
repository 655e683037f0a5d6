package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"graspd/internal/grasp"
	"graspd/internal/policy"
)

// Sizes and times of the demo.
const (
	demoRelays   = 3
	demoPoll     = 250 * time.Millisecond
	demoPatience = 2 * time.Minute // then something is wrong
)

// demoCommand runs three relays on this machine. Two hold different
// repositories, the third is empty; each fills itself from the others.
func demoCommand(ctx context.Context, args []string, std stdio, env lookup) error {
	var once, verbose bool
	rows := []setting{
		boolean("once", "false", "end when everything was shown", &once),
		boolean("verbose", "false", "print the relays' logs", &verbose),
	}
	rest, problems, err := parse("demo", rows, args, std, env)
	if err != nil {
		return err
	}
	for _, a := range rest {
		problems = append(problems, fmt.Sprintf("demo takes no argument %q", a))
	}
	if len(problems) > 0 {
		return &usageError{problems}
	}
	dir, err := os.MkdirTemp("", "graspd-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	log := slog.New(slog.DiscardHandler)
	if verbose {
		log = slog.New(slog.NewTextHandler(std.err, nil))
	}
	err = runDemo(ctx, dir, std.out, log, once)
	return errors.Join(err, os.RemoveAll(dir))
}

func runDemo(ctx context.Context, dir string, out io.Writer, log *slog.Logger, once bool) error {
	nodes, err := demoNodes(dir, log)
	if err != nil {
		return err
	}
	s := &demoStage{nodes: nodes, out: out, tty: isTerminal(out)}
	// The relays outlive the stage, which reads their stores.
	nodesCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, gctx := errgroup.WithContext(nodesCtx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(gctx, cancel)()
	for _, n := range nodes {
		g.Go(func() error { return n.run(gctx, nil) })
	}
	g.Go(func() error {
		defer stop()
		err := s.play(ctx)
		if err == nil && !once {
			fmt.Fprintln(out, "\nThe relays go on running; Ctrl-C ends them.")
			<-ctx.Done()
		}
		if ctx.Err() != nil {
			return nil
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	fmt.Fprintln(out, "All relays have stopped; their data is removed.")
	return nil
}

// demoNodes builds three relays on free ports. The third knows nothing but the
// URL of the first.
func demoNodes(dir string, log *slog.Logger) (nodes []*node, err error) {
	defer func() {
		if err != nil {
			for _, n := range nodes {
				err = errors.Join(err, n.close())
			}
		}
	}()
	for i := range demoRelays {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nodes, fmt.Errorf("demo: %w", err)
		}
		service, err := grasp.ParseService(l.Addr().String())
		if err != nil {
			return nodes, errors.Join(err, l.Close())
		}
		c, err := demoConfig(filepath.Join(dir, fmt.Sprintf("relay%d", i+1)))
		if err != nil {
			return nodes, errors.Join(err, l.Close())
		}
		c.Name = fmt.Sprintf("demo relay %d", i+1)
		var bootstrap []grasp.RelayURL
		if i == demoRelays-1 {
			bootstrap = []grasp.RelayURL{nodes[0].service.RelayURL()}
		}
		n, err := build(c, listeners{public: l}, service, policy.Lists{}, bootstrap, log.With("node", c.Name))
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// demoConfig is the default configuration but for what a small show needs.
func demoConfig(data string) (Config, error) {
	var c Config
	rows := append(append(c.policySettings(), c.dataSettings()...), c.serveSettings()...)
	args := []string{"--data", data, "--store-cache", "8MiB", "--disk-floor", "64MiB", "--sync-allow-private", "--sync-batch-window", "500ms"}
	_, problems, err := parse("demo", rows, args, stdio{}, func(string) (string, bool) { return "", false })
	if len(problems) > 0 {
		return c, &usageError{problems}
	}
	return c, err
}
