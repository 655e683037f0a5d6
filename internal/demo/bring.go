package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// pushed has a maintainer push a commit of the shown project to the first of the others that hosts it, and prints when yours, to which nobody
// has pushed, serves the commit.
func (d *show) pushed(ctx context.Context) error {
	p := d.shown()
	to, err := d.hosting(p)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "\nA maintainer pushes a commit to %s:\n", to.name)
	if err := p.commit(ctx, d.bench); err != nil {
		return err
	}
	begun := time.Now()
	if err := p.push(ctx, d.bench, to.Node); err != nil {
		return err
	}
	for _, e := range p.states[len(p.states)-1:] {
		to.holds = append(to.holds, e.ID)
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := d.awaitTip(patient, p); err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "  git clone %s\n  has it after %s, with what was signed for it\n", p.url(d.yours), brief(time.Since(begun)))
	return nil
}

// hosting returns the first of the others that hosts a project.
func (d *show) hosting(p *project) (*neighbour, error) {
	for _, n := range d.others {
		if slices.Contains(p.relays, string(n.Service().RelayURL())) {
			return n, nil
		}
	}
	return nil, fmt.Errorf("nobody hosts %q", p.address.D)
}

// awaitTip waits until yours serves the newest commit of a project.
func (d *show) awaitTip(ctx context.Context, p *project) error {
	for {
		r, _, err := d.yours.Host.Find(p.address)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.Refs.List, func(x gitwire.Ref) bool { return x.Name == branch && x.ID.String() == p.history.tip() }) {
			return nil
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return fmt.Errorf("%q was pushed elsewhere and has not come: %w", p.address.D, context.Cause(ctx))
		}
	}
}

// hosted returns how many projects yours serves as they were pushed to others.
func (d *show) hosted() (n int, err error) {
	for _, p := range d.projects {
		r, _, err := d.yours.Host.Find(p.address)
		if err != nil {
			return n, err
		}
		if slices.ContainsFunc(r.Refs.List, func(x gitwire.Ref) bool { return x.Name == branch && x.ID.String() == p.history.tip() }) {
			n++
		}
	}
	return n, nil
}

// shown returns the project that the demo tells onlookers to clone: the one with most events.
func (d *show) shown() *project { return d.projects[0] }

// clone clones the shown project from yours, as onlookers may.
func (d *show) clone(ctx context.Context) error {
	p := d.shown()
	took, err := d.bench.clone(ctx, p.url(d.yours), p.history, filepath.Join(d.dir, "clone"))
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "git clone %s\n  brings the %d commits that were pushed, after %s\n", p.url(d.yours), len(p.history), brief(took))
	return nil
}

// clone clones a repository, fails where the clone is not what was pushed, and returns how long it took.
func (b bench) clone(ctx context.Context, url string, pushed history, into string) (took time.Duration, err error) {
	begun := time.Now()
	if _, err := b.git(ctx, nil, "clone", "--quiet", url, into); err != nil {
		return 0, err
	}
	took = time.Since(begun)
	listed, err := bench(into).git(ctx, nil, "rev-list", "--reverse", "--all")
	if err != nil {
		return 0, err
	}
	at, err := bench(into).git(ctx, nil, "rev-parse", "HEAD", branch, tag)
	if err != nil {
		return 0, err
	}
	if got := strings.Fields(listed); !slices.Equal(got, pushed) {
		return 0, fmt.Errorf("the clone has %d other commits than the %d that were pushed", len(got), len(pushed))
	}
	if got := strings.Fields(at); !slices.Equal(got, []string{pushed.tip(), pushed.tip(), pushed[0]}) {
		return 0, fmt.Errorf("the refs of the clone are %s", strings.Join(got, ", "))
	}
	return took, nil
}
