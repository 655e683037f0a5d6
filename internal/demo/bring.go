package demo

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// bring has the maintainers push everything to yours.
func (d *show) bring(ctx context.Context, begun time.Time) error {
	fmt.Fprintln(d.Out, "Who maintains a repository pushes it to your relay too, which fetches what the others have about it:")
	commits := 0
	for i, p := range d.projects {
		if err := p.push(ctx, d.bench, d.yours); err != nil {
			return err
		}
		commits += len(p.history)
		now, err := d.look(ctx)
		if err != nil {
			return err
		}
		d.Screen.Draw(append(now.bars(), "", fmt.Sprintf("  %d of %d repositories pushed to your relay", i+1, len(d.projects)))...)
	}
	fmt.Fprintf(d.Out, "  %d repositories with %d commits pushed to your relay: served, after %.1f s\n", len(d.projects), commits, time.Since(begun).Seconds())
	return nil
}

// shown is the project that onlookers are told to clone: the one with most events.
func (d *show) shown() *project { return d.projects[0] }

// clone clones a repository from yours, as onlookers are told to while the demo goes on.
func (d *show) clone(ctx context.Context) error {
	p := d.shown()
	took, err := d.bench.clone(ctx, p.url(d.yours), p.history, filepath.Join(d.dir, "clone"))
	if err != nil {
		return err
	}
	fmt.Fprintf(d.Out, "git clone %s\n  brings the %d commits that were pushed, after %s\n", p.url(d.yours), len(p.history), brief(took))
	return nil
}

// clone clones a repository and compares what comes with what was pushed.
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
