package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// ballast is what each commit of a large repository adds beside its text: with it 85,000 commits take 300 MB.
const ballast = 3000

// large measures the clone of a large repository when graspd has seen to its pack, beside git's pack-objects with a bitmap.
func (x *ground) large(ctx context.Context) error {
	commits := x.scaled(85_000, 120)
	m, err := x.makeRepository(ctx, "large", recipe{commits: commits, ballast: ballast})
	if err != nil {
		return err
	}
	p, err := x.place(ctx, m)
	if err != nil {
		return err
	}
	x.say("clones of a large repository")
	for range 2 { // from the second one on graspd finds it worth it
		if _, err := fetch(ctx, p.url, m.main); err != nil {
			return err
		}
	}
	bitmap, err := x.combined(ctx)
	if err != nil {
		return err
	}
	if _, _, err := git(ctx, m.dir, nil, "repack", "-a", "-d", "-b", "-q"); err != nil {
		return err
	}
	var ours, others []time.Duration
	var bytes int64
	for range x.scaled(5, 2) { // in turns
		before := x.g.tree()
		if bytes, err = fetch(ctx, p.url, m.main); err != nil {
			return err
		}
		if err := x.g.childless(ctx); err != nil {
			return err
		}
		ours = append(ours, x.g.tree()-before)
		cpu, err := m.packTo(ctx, io.Discard, m.main, zeroID)
		if err != nil {
			return err
		}
		others = append(others, cpu)
	}
	a, b := median(ours), median(others)
	x.report.add(atMost(line{what: fmt.Sprintf("clone of a large repository (%d commits, %s), CPU of the server", commits, size(bytes)), measured: span(a),
		against: "`git pack-objects` with a bitmap: " + span(b), ratio: a.Seconds() / b.Seconds()}, 1.5))
	if !bitmap {
		x.report.note("In a trial the large repository is too small for graspd to give it a bitmap.")
	}
	return nil
}

// combined waits until graspd has seen to the packs of a repository, and reports whether it has: it does not for a small one.
func (x *ground) combined(ctx context.Context) (bool, error) {
	for range 120 {
		n, err := x.g.metric(ctx, "graspd_git_combined_total")
		if err != nil || n > 0 {
			return n > 0, err
		}
		if x.options.events < fullSize {
			return false, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return false, fmt.Errorf("graspd does not see to the pack of a repository that was cloned twice")
}

func median(all []time.Duration) time.Duration {
	s := slices.Sorted(slices.Values(all))
	return s[len(s)/2]
}
