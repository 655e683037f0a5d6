package peer

import (
	"slices"

	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
	"github.com/graspd/graspd/internal/sync/want"
)

// compared adds up what the comparison of one window told.
func (t *task) compared(w reconcile.Compared) {
	t.differ, t.here = t.differ+w.Differ, t.here+w.Set.Len()
	switch {
	case !w.Told():
		t.untold = true
	case !t.group.byItems():
		t.lacks = append(t.lacks, w.Lacking()...)
	case len(t.filter.Tags) > 0:
		t.tally.Add(w.Window, len(t.filter.Tags[0].Values), t.group.tallies)
	}
}

// tallies yields those of the filters that are asked together.
func (g *group) tallies(yield func(*coverage.Tally) bool) {
	for _, t := range g.tasks {
		if !yield(&t.tally) {
			return
		}
	}
}

// told returns what the comparisons told of the filters of a group; nil where they count already, or for no repository.
func (g *group) told(confirmed func(want.Item) bool) (told []coverage.Filter) {
	again := !slices.ContainsFunc(g.Items, func(it want.Item) bool { return !confirmed(it) })
	if g.Layer != want.LayerRepositories && g.Layer != want.LayerRoots || !g.byItems() || g.Since.Counted() || again {
		return nil
	}
	for _, t := range g.tasks {
		f := coverage.Filter{Tally: &t.tally}
		if len(t.filter.Tags) > 0 {
			f.Tag, f.Values = t.filter.Tags[0].Name, t.filter.Tags[0].Values
		}
		told = append(told, f)
	}
	return told
}

// tendCoverage ends a full catch-up: what it told is what counts now.
func (p *Peer) tendCoverage() {
	c := &p.coverage
	if !c.Filling() || !p.AllConfirmed() {
		return
	}
	c.End(p.want)
	if !p.comparing.tells() {
		return
	}
	if r := c.Tell(p.want, p.now.Mono); r != nil {
		_, lacking := c.Total()
		p.report(LevelWarn, "the relay lacks events that are here", "repository", p.want.Repository(r.Item).Addresses[0],
			"count", c.Of(r.Ord).Lacks, "repositories", lacking)
	}
}
