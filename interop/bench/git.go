package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// ground is what the figures of (j) are measured on.
type ground struct {
	*world
	g       *process
	backend *backend
	small   *made
	medium  *made
	places  int // so far
}

// repositories is (j): what hosting git data takes, beside git itself.
func (w *world) repositories(ctx context.Context) error {
	w.report.note("git's own server is `git http-backend`, which Go's net/http/cgi starts for each request, on the same objects; the bench does not count what that server in the bench itself takes. CPU is that of processes and of those that they started.")
	x := &ground{world: w}
	var err error
	if x.backend, err = w.newBackend(ctx); err != nil {
		return err
	}
	if x.small, err = w.makeRepository(ctx, "small", recipe{commits: 100, later: pushesEach}); err != nil {
		return err
	}
	if x.medium, err = w.makeRepository(ctx, "medium", recipe{commits: w.scaled(10_000, 120)}); err != nil {
		return err
	}
	data := w.path("hosting")
	if err := x.open(ctx, data, "--git-cache", "0"); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{x.refs, x.clones, x.large, x.manyRepositories, x.pushes} {
		if err := part(ctx); err != nil {
			return errors.Join(err, x.g.stop())
		}
	}
	if err := x.g.stop(); err != nil {
		return err
	}
	if err := x.open(ctx, w.path("sharing")); err != nil {
		return err
	}
	if err := errors.Join(x.crowd(ctx), x.g.stop()); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{x.waiting, x.completing, x.hoard} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	w.report.note("`make crash` kills graspd while people push.")
	return nil
}

// open starts graspd with hosting.
func (x *ground) open(ctx context.Context, data string, args ...string) (err error) {
	x.g, err = x.graspd(ctx, data, append([]string{"--git", "--sync=false"}, args...)...)
	return err
}

// place is a new repository at graspd with what was made.
func (x *ground) place(ctx context.Context, m *made) (*place, error) {
	c, err := connect(ctx, x.g.url) // one that was idle for long would have been closed
	if err != nil {
		return nil, err
	}
	defer c.CloseNow()
	x.places++
	p, err := newPlace(ctx, x.g, c, x.places, fmt.Sprint("repository-", x.places))
	if err != nil {
		return nil, err
	}
	return p, p.fill(ctx, c, m)
}

// scaled is how many of something there are in a trial with fewer events.
func (w *world) scaled(n, least int) int { return max(least, min(n, n*w.options.events/fullSize)) }

// slots is how many packs graspd makes at once.
func slots() int { return 2 * runtime.NumCPU() }

// atMost is a line whose ratio has a bound.
func atMost(l line, bound float64) line {
	l.target, l.met = "≤ "+figures(bound), l.ratio <= bound
	return l
}
