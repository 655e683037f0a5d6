package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/want"
)

// How much of what is here a relay has, per repository: what reconciliations tell,
// for they compare both sides anyway. An event counts once within what is asked
// together (the filters of a repository, or those of some root events), under one
// of the values that it has.

// share counts events that are here, and those of them that the relay lacks.
type share struct{ held, lacks uint64 }

func (s share) plus(o share) share { return share{s.held + o.held, s.lacks + o.lacks} }

// shares are those of one repository: of its own filters and of its root events'.
type shares struct{ own, roots share }

func (s shares) sum() share { return s.own.plus(s.roots) }

// coverage is what is known of repositories, by their ord.
type coverage struct {
	last    map[uint32]shares // as of the last full catch-up that ended
	next    map[uint32]shares // of the one under way, asked by items
	whole   map[uint32]shares // of the one under way, as a comparison of everything told last; nil = none did
	filling bool              // one is under way
	told    time.Duration     // when the log last named what the relay lacks
	before  bool              // it ever did
}

// lackInterval is the time between two lines about what a relay lacks.
const lackInterval = time.Hour

// begin forgets what the catch-up under way has found so far.
func (c *coverage) begin() { c.next, c.whole, c.filling = make(map[uint32]shares), nil, true }

// end makes what the catch-up under way has found what counts.
func (c *coverage) end() {
	for ord, y := range c.whole {
		x := c.next[ord]
		if x.own == (share{}) {
			x.own = y.own
		}
		x.roots = x.roots.plus(y.roots)
		c.next[ord] = x
	}
	c.last, c.next, c.whole, c.filling = c.next, nil, nil, false
}

// mostFormer is how many repositories that are wanted no more may be counted, for
// each that is wanted and in all.
const mostFormer = 64

// keep forgets repositories that are wanted no more, when they have become many.
func (c *coverage) keep(w *want.Want) {
	for _, m := range []map[uint32]shares{c.last, c.next, c.whole} {
		if len(m) <= 2*len(w.Repos)+mostFormer {
			continue
		}
		maps.DeleteFunc(m, func(ord uint32, _ shares) bool {
			_, wanted := slices.BinarySearchFunc(w.Repos, ord, func(r *want.RepoWant, ord uint32) int { return cmp.Compare(r.Ord, ord) })
			return !wanted
		})
	}
}

// tally is what the reconciliations of one filter told.
type tally struct {
	complete bool     // all of it was compared
	shares   []share  // by the filter's values; nil = no tag tells the repository
	counted  []uint64 // the events in them, sorted
}

func (y *tally) has(k uint64) bool {
	_, ok := slices.BinarySearch(y.counted, k)
	return ok
}

// tallyWindow takes what the comparison of one window told.
func (t *task) tallyWindow() {
	n, y := t.neg, &t.tally
	if len(n.values) != n.set.Len() {
		t.untold = true
		return
	}
	if t.group.whole {
		t.noteLacks()
		return
	}
	if len(t.filter.Tags) == 0 {
		return
	}
	if y.shares == nil {
		y.shares = make([]share, len(t.filter.Tags[0].Values))
	}
	before := *y // it may be the second comparison of the same
	for i, v := range n.values {
		if v < 0 || int(v) >= len(y.shares) {
			continue
		}
		id := n.set.At(i).ID
		k := key64(id)
		if slices.ContainsFunc(t.group.tasks, func(o *task) bool { return o != t && o.tally.has(k) }) || before.has(k) {
			continue
		}
		y.counted = append(y.counted, k)
		y.shares[v].held++
		if _, lacks := n.have[id]; lacks {
			y.shares[v].lacks++
		}
	}
	slices.Sort(y.counted)
}

// cover adds what a group told, if it was asked in full and not before.
func (p *Peer) cover(g *group) {
	if g.layer != want.LayerRepositories && g.layer != want.LayerRoots || g.whole || g.since > 0 || !p.fresh(g) {
		return
	}
	for _, t := range g.tasks {
		if !t.tally.complete {
			return
		}
	}
	in := setOf(slices.Values(g.items))
	found, owners := make(map[uint32]share), p.belonging(g.layer, &in)
	for _, t := range g.tasks {
		for i, s := range t.tally.shares {
			for _, ord := range owners[owned(t.filter.Tags[0].Name, t.filter.Tags[0].Values[i])] {
				found[ord] = found[ord].plus(s)
			}
		}
	}
	p.coverage.add(g.layer, found)
	p.recount()
}

// add takes what a group told of repositories.
func (c *coverage) add(l want.Layer, found map[uint32]share) {
	into := c.last
	if c.filling {
		into = c.next
	}
	for ord, s := range found {
		x := into[ord]
		if l == want.LayerRepositories { // a new revision is asked in place of the former one
			x.own = s
		} else {
			x.roots = x.roots.plus(s)
		}
		into[ord] = x
	}
}

// fresh says whether items of g are not confirmed yet.
func (p *Peer) fresh(g *group) bool {
	return slices.ContainsFunc(g.items, func(it want.Item) bool { return !p.confirmed.has(it) })
}

// owned is the key of a filter's value: the same for a repository's address and
// that of its state.
func owned(tag byte, value string) string {
	if tag != 'd' && strings.HasPrefix(value, "30618:") {
		value = "30617" + value[len("30617"):]
	}
	return string(tag|0x20) + value
}

// belonging returns which repositories the values of the filters for items belong to.
func (p *Peer) belonging(layer want.Layer, in *itemSet) map[string][]uint32 {
	out := make(map[string][]uint32)
	add := func(tag byte, value string, r *want.RepoWant) {
		k := owned(tag, value)
		out[k] = append(out[k], r.Ord)
	}
	for _, r := range p.want.Repos {
		if in.has(r.Item) {
			x := p.want.Repository(r.Item)
			add('d', x.D, r)
			for _, a := range x.Addresses {
				add('a', a, r)
				add('q', a, r)
			}
		}
		if layer != want.LayerRoots {
			continue
		}
		r.EachRoot(func(it want.Item) {
			if in.has(it) {
				id := p.want.Root(it).String()
				add('e', id, r)
				add('q', id, r)
			}
		})
	}
	return out
}

// tendCoverage ends a full catch-up: what it told is what counts now.
func (p *Peer) tendCoverage() {
	c := &p.coverage
	if !c.filling || !p.Settled() || p.conn.asking != "" {
		return
	}
	c.end()
	p.recount()
	worst, lacking := (*want.RepoWant)(nil), 0
	for _, r := range p.want.Repos {
		lacks := c.last[r.Ord].sum().lacks
		if lacks == 0 {
			continue
		}
		if lacking++; worst == nil || lacks > c.last[worst.Ord].sum().lacks {
			worst = r
		}
	}
	if worst == nil || !p.reconciles() || c.before && p.now.Mono < c.told+lackInterval {
		return
	}
	c.told, c.before = p.now.Mono, true
	p.report(Warn, "relay lacks events that we have", "repository", p.want.Repository(worst.Item).Addresses[0],
		"count", c.last[worst.Ord].sum().lacks, "repositories", lacking)
}

// reconciles says whether reconciliations tell what the relay has.
func (p *Peer) reconciles() bool {
	return !p.pagesOnly() && p.neg != negRefused && p.neg != negTruncates
}

// totals is what is known of all repositories that are wanted. It is kept, as they are many.
type totals struct {
	share
	lacking int // repositories of which the relay lacks any
}

// recount works the totals out, whenever what is wanted or known of it changes: that takes a walk through all of it anyway.
func (p *Peer) recount() {
	p.covers = totals{}
	for _, r := range p.want.Repos {
		s := p.coverage.last[r.Ord].sum()
		p.covers.share = p.covers.plus(s)
		if s.lacks > 0 {
			p.covers.lacking++
		}
	}
}

// covered returns how much of what is here the relay has, 0 to 1, and what it lacks; nil when that is not known.
func (p *Peer) covered() (*float64, *status.Lacks) {
	if t := p.covers; p.reconciles() && t.held > 0 {
		return new(1 - float64(t.lacks)/float64(t.held)), &status.Lacks{Events: t.lacks, Repositories: t.lacking}
	}
	return nil, nil
}
