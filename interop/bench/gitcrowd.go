package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// crowd has very many clients clone one repository at once.
func (x *ground) crowd(ctx context.Context) error {
	n := x.scaled(1000, 20)
	x.say("%d clones at once", n)
	p, err := x.place(ctx, x.medium)
	if err != nil {
		return err
	}
	if err := x.g.calm(ctx); err != nil {
		return err
	}
	one, _, bytes, err := x.together(ctx, []string{p.url}, x.medium.main)
	if err != nil {
		return err
	}
	// Another one with the same, as a pack that was asked for may be kept.
	if p, err = x.place(ctx, x.medium); err != nil {
		return err
	}
	if err := x.g.calm(ctx); err != nil {
		return err
	}
	urls := make([]string, n)
	for i := range urls {
		urls[i] = p.url
	}
	all, processes, _, err := x.together(ctx, urls, x.medium.main)
	if err != nil {
		return err
	}
	share := each(all.cpu, n)
	what := fmt.Sprintf("%d clones of one repository at once", n)
	x.report.add(atMost(line{what: what + ": CPU of the server, each", measured: span(share), against: "one clone: " + span(one.cpu), ratio: share.Seconds() / one.cpu.Seconds()}, 0.05))
	x.report.add(line{what: what + ": processes of git", measured: fmt.Sprint(processes), target: "1", met: processes == 1})
	x.report.add(line{what: what + ": wall", measured: span(all.wall), against: "one clone: " + span(one.wall), ratio: all.wall.Seconds() / one.wall.Seconds()})
	x.report.note("A client that drops the bytes makes these clones, %s each, of the medium repository; it shares the machine.", size(bytes))
	return nil
}

// manyRepositories measures the memory of clones of many repositories at once.
func (x *ground) manyRepositories(ctx context.Context) error {
	n, commits := x.scaled(50, 4), x.scaled(1000, 100)
	m, err := x.makeRepository(ctx, "one-of-many", recipe{commits: commits})
	if err != nil {
		return err
	}
	x.say("clones of %d repositories at once", n)
	var urls []string
	for range n {
		p, err := x.place(ctx, m)
		if err != nil {
			return err
		}
		urls = append(urls, p.url)
	}
	if err := x.g.calm(ctx); err != nil {
		return err
	}
	before := x.g.size("VmRSS")
	most := x.g.watchMemory(ctx)
	_, processes, _, err := x.together(ctx, urls, m.main)
	peak := most()
	if err != nil {
		return err
	}
	bound := int64(slots()*100+200) * 1e6
	x.report.add(line{what: fmt.Sprintf("clones of %d repositories (%d commits) at once: peak memory of graspd and its %d processes of git", n, commits, processes),
		measured: size(peak), against: "graspd before: " + size(before), ratio: float64(peak) / float64(before),
		target: fmt.Sprintf("≤ %s (%d slots)", size(bound), slots()), met: peak <= bound})
	return nil
}

// together fetches everything of all URLs at once: what that took graspd, how many processes of git, and the bytes of one answer.
func (x *ground) together(ctx context.Context, urls []string, want gitwire.ObjectID) (took cost, processes int, bytes int64, err error) {
	const started = "graspd_git_processes_ended_total"
	was, err := x.g.sum(ctx, started, `kind="fetch"`)
	if err != nil {
		return took, 0, 0, err
	}
	before, begun := x.g.tree(), time.Now()
	errs, sizes := make([]error, len(urls)), make([]int64, len(urls))
	var all sync.WaitGroup
	for i, url := range urls {
		all.Go(func() { sizes[i], errs[i] = fetch(ctx, url, want) })
	}
	all.Wait()
	took.wall = time.Since(begun)
	if err := errors.Join(append(errs[:min(3, len(errs))], x.g.childless(ctx))...); err != nil {
		return took, 0, 0, err
	}
	for _, err := range errs {
		if err != nil {
			return took, 0, 0, err
		}
	}
	took.cpu = x.g.tree() - before
	is, err := x.g.sum(ctx, started, `kind="fetch"`)
	return took, int(is - was), sizes[0], err
}
