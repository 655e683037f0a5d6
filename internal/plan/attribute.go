package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/want"
)

// What a relay lacks of everything is told per repository by looking at those
// events: they are few, or it would not be asked as a whole.

// noteLacks takes what the comparison of one window told.
func (t *task) noteLacks() {
	n := t.neg
	if len(n.have) == 0 {
		return
	}
	for i, v := range n.values {
		if v < 0 {
			continue
		}
		id := n.set.At(i).ID
		if _, lacks := n.have[id]; lacks {
			t.lacks = append(t.lacks, id)
		}
	}
}

// coverWhole takes what a comparison of everything told.
func (p *Peer) coverWhole(t *task) {
	lacks := t.lacks
	switch {
	case t.untold:
		p.coverage.keepLast()
		return
	case len(lacks) == 0:
		p.coverage.lack(nil)
		p.recount()
		return
	}
	p.conn.asking = p.newSub("w")
	p.effect(Attribute{Sub: p.conn.asking, IDs: lacks})
}

// attributed takes what the events name that the relay lacks.
func (p *Peer) attributed(in Attributed) {
	w := p.conn
	if w.asking == "" || in.Sub != w.asking {
		return
	}
	w.asking = ""
	if in.Failed {
		p.coverage.keepLast()
		return
	}
	owners, lacks := p.belonging(want.LayerRoots, &p.wanted.itemSet), make(map[uint32]shares)
	for _, names := range in.Names {
		for _, root := range []bool{false, true} {
			// Once, under the first name that counts, as in what is asked together.
			i := slices.IndexFunc(names, func(key string) bool { return isRootKey(key) == root && len(owners[key]) > 0 })
			if i < 0 {
				continue
			}
			for _, ord := range owners[names[i]] {
				x := lacks[ord]
				if root {
					x.roots.lacks++
				} else {
					x.own.lacks++
				}
				lacks[ord] = x
			}
		}
	}
	p.coverage.lack(lacks)
	p.recount()
}

// lack notes what the relay lacks now. How much of each repository is here is as
// it was when the relay was last asked by items.
func (c *coverage) lack(lacks map[uint32]shares) {
	now := make(map[uint32]shares, len(c.last))
	for ord, x := range c.last {
		now[ord] = shares{own: share{held: x.own.held}, roots: share{held: x.roots.held}}
	}
	for ord, x := range lacks {
		was, known := now[ord]
		if !known { // it was never asked by items
			continue
		}
		was.own.lacks, was.roots.lacks = x.own.lacks, x.roots.lacks
		was.own.held, was.roots.held = max(was.own.held, x.own.lacks), max(was.roots.held, x.roots.lacks)
		now[ord] = was
	}
	if !c.filling {
		c.last = now
		return
	}
	c.whole = now
}

// keepLast leaves it at what was known before.
func (c *coverage) keepLast() {
	if c.filling {
		c.whole = maps.Clone(c.last)
	}
}

// NamesOf returns what may make an event belong to repositories, as belonging has it.
func NamesOf(e *nostr.Event) []string {
	var out []string
	for _, t := range e.Tags {
		switch name := t.Name(); name {
		case "a", "A", "q", "e", "E":
			out = append(out, owned(name[0], t.Value()))
		case "d":
			if slices.Contains(announcing(), e.Kind) {
				out = append(out, owned('d', t.Value()))
			}
		}
	}
	return out
}

// isRootKey tells the id of a root event from what names a repository.
func isRootKey(key string) bool {
	return key[0] == 'e' || key[0] == 'q' && !strings.Contains(key, ":")
}
