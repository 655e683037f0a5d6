package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"graspd/internal/grasp"
	"graspd/internal/logs"
	"graspd/internal/policy"
	"graspd/internal/progress"
)

// demoCommand shows, on this machine alone, how an empty relay becomes
// complete from three others, and stays so.
func demoCommand(ctx context.Context, args []string, std stdio, env lookup) error {
	var once, stay, verbose bool
	rows := []setting{
		boolean("once", "false", "end when everything was shown, on a terminal too", &once),
		boolean("stay", "false", "go on until Ctrl-C, also where the output is no terminal", &stay),
		boolean("verbose", "false", "print the log of your relay", &verbose),
	}
	rest, problems, err := parse("demo", rows, args, std, env)
	if err != nil {
		return err
	}
	for _, a := range rest {
		problems = append(problems, fmt.Sprintf("demo takes no argument %q", a))
	}
	if once && stay {
		problems = append(problems, "--once and --stay contradict each other")
	}
	if len(problems) > 0 {
		return &usageError{problems}
	}
	dir, err := os.MkdirTemp("", "graspd-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	d := &demo{dir: dir, screen: screenOf(std.out, false), stay: stay || !once && isTerminal(std.out), log: slog.New(slog.DiscardHandler)}
	d.out = above(d.screen, std.out)
	if verbose {
		to := std.err
		if isTerminal(to) {
			to = above(d.screen, to)
		}
		d.log = logs.New(to, logs.Config{Terminal: isTerminal(to)})
	}
	err = d.run(ctx)
	d.screen.Clear()
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	fmt.Fprintln(std.out, "All relays have stopped; their data is removed.")
	return nil
}

// demo is the show: yours fills from the others.
type demo struct {
	dir    string
	out    io.Writer
	screen *progress.Screen // nil where nobody watches: then it is quicker, and lines stand for the bars
	stay   bool             // until Ctrl-C
	log    *slog.Logger

	others  []*neighbour
	address listeners // of yours, before it is built
	yours   *node
	total   int // events that yours is to have
	written int // events that people wrote since
}

// run runs the relays, and the show until it is over or ctx ends, which is no error.
func (d *demo) run(ctx context.Context) error {
	if err := d.meet(ctx); err != nil {
		return errors.Join(err, d.address.close(), d.closeOthers())
	}
	// The relays outlive the show, which reads their stores.
	nodes, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, failed := errgroup.WithContext(nodes)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(failed, cancel)()
	for _, n := range d.others {
		g.Go(func() error { return n.run(failed, nil) })
	}
	g.Go(func() error {
		defer stop()
		err := d.prepare(ctx)
		if err == nil {
			g.Go(func() error { return d.yours.run(failed, nil) })
			err = d.play(ctx)
		} else if d.yours == nil {
			err = errors.Join(err, d.address.close())
		}
		if ctx.Err() != nil && failed.Err() == nil {
			return nil
		}
		return err
	})
	return g.Wait()
}

// meet gives every relay its address, and builds all but yours.
func (d *demo) meet(ctx context.Context) (err error) {
	if d.address, err = listen(Config{Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0"}); err != nil {
		return err
	}
	rates := []int{0, 0, 0}
	if d.screen != nil {
		rates = []int{400_000, 300_000, 250_000} // so that there is something to see
	}
	for i, name := range []string{"north", "south", "flaky"} {
		n, err := d.neighbour(ctx, name, rates[i])
		if err != nil {
			return err
		}
		d.others = append(d.others, n)
	}
	// The first connection breaks while it fetches, the second does not come about, the third breaks later.
	d.others[2].weather.expect(fate{after: 40_000}, fate{status: "503 Service Unavailable"}, fate{after: 120_000})
	return nil
}

// prepare fills the others, then builds yours, which knows but the first of them.
func (d *demo) prepare(ctx context.Context) error {
	fmt.Fprintln(d.out, "Making some git repositories with issues, patches and comments ...")
	if err := d.fill(ctx); err != nil {
		return err
	}
	c, err := demoConfig(filepath.Join(d.dir, "yours"), "--sync-batch-window", "500ms", "--sync-base-backoff", "500ms")
	if err != nil {
		return err
	}
	c.Name = "your relay"
	service, err := grasp.ParseService(d.address.public.Addr().String())
	if err != nil {
		return err
	}
	d.yours, err = build(ctx, c, d.address, service, policy.Lists{}, []grasp.RelayURL{d.others[0].service.RelayURL()}, d.log)
	return err
}

func (d *demo) closeOthers() (err error) {
	for _, n := range d.others {
		err = errors.Join(err, n.close())
	}
	return err
}

// demoConfig is the default configuration but for what a small show needs.
func demoConfig(data string, more ...string) (Config, error) {
	var c Config
	rows := append(append(c.policySettings(), c.dataSettings()...), c.serveSettings()...)
	args := append([]string{"--data", data, "--store-cache", "8MiB", "--disk-floor", "64MiB", "--sync-allow-private"}, more...)
	_, problems, err := parse("demo", rows, args, stdio{}, func(string) (string, bool) { return "", false })
	if len(problems) > 0 {
		return c, &usageError{problems}
	}
	return c, err
}
