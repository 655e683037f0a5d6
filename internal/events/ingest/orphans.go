package ingest

import (
	"container/list"
	"slices"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	orphanShare   = 8   // the most of a pool for one party, or label: one part in so many
	deletionShare = 4   // the pool of deletions and vanish requests: one part in so many of the buffer, so that other orphans cannot push them out
	tagOverhead   = 64  // about what a tag or a key costs in memory beside its bytes
	eventOverhead = 512 // about what an event costs in memory beside its bytes
)

// orphan is a genuine event that was refused only because another event, which names it or which it names, is not here yet.
type orphan struct {
	event   *nostr.Event
	from    store.Source
	by      policy.Bearer
	label   string
	address string // from its item
	cost    int
	keys    []key

	pool    *pool
	inPool  *list.Element
	inShare *list.Element
	times   int  // how often the writer has failed over what follows from the orphan, or the disk has
	due     bool // the orphan is in promotion.again
	leaving bool // the open batch has decided otherwise: the orphan leaves the buffer with the commit
}

// orphans is the buffer of orphans, in memory only. It is bounded, and the oldest orphans go first. Each party, or label, has its own share.
// The writer owns it.
type orphans struct {
	byID      map[nostr.ID]*orphan
	byKey     map[key][]*orphan
	deletions *pool // kinds 5 and 62
	others    *pool
	hash      hasher
	dropped   func(nostr.ID) // remove calls it for each orphan that leaves the buffer
}

// pool is a part of the buffer with its own bounds.
type pool struct {
	events, bytes int // bounds
	all           list.List
	cost          int
	shares        map[string]*share
}

// share holds the orphans of one party, or label, in a pool.
type share struct {
	all  list.List
	cost int
}

func newOrphans(l Limits, dropped func(nostr.ID)) *orphans {
	o := &orphans{
		byID: make(map[nostr.ID]*orphan), byKey: make(map[key][]*orphan), hash: newHasher(), dropped: dropped,
		deletions: &pool{events: l.OrphanEvents / deletionShare, bytes: l.OrphanBytes / deletionShare},
	}
	o.others = &pool{events: l.OrphanEvents - o.deletions.events, bytes: l.OrphanBytes - o.deletions.bytes}
	o.deletions.shares, o.others.shares = make(map[string]*share), make(map[string]*share)
	return o
}

// add keeps the item's event, and drops the oldest orphans to make room. It keeps nothing and returns nil where the event is in the buffer
// already, or larger than a share may be.
func (o *orphans) add(it *item) *orphan {
	e, label := it.event, it.label
	if o.has(e.ID) {
		return nil
	}
	keys := o.hash.waitsFor(e)
	cost := eventOverhead + e.Size() + tagOverhead*(len(e.Tags)+len(keys))
	p := o.others
	if e.Kind == nostr.KindDeletion || e.Kind == nostr.KindVanish {
		p = o.deletions
	}
	if !o.makeRoom(p, label, cost) {
		return nil
	}
	x := &orphan{event: e, from: it.from, by: it.by, label: label, address: it.address, cost: cost, keys: keys, pool: p}
	s := p.shares[label]
	if s == nil {
		s = &share{}
		p.shares[label] = s
	}
	x.inPool, x.inShare = p.all.PushBack(x), s.all.PushBack(x)
	p.cost += cost
	s.cost += cost
	o.byID[e.ID] = x
	for _, k := range keys {
		o.byKey[k] = append(o.byKey[k], x)
	}
	return x
}

// makeRoom drops the oldest orphans of the label's share until the share has room, then the oldest of the pool. It returns false where cost
// alone is more than a share may have.
func (o *orphans) makeRoom(p *pool, label string, cost int) bool {
	events, bytes := max(1, p.events/orphanShare), p.bytes/orphanShare
	if cost > bytes {
		return false
	}
	for s := p.shares[label]; s != nil && (s.all.Len() >= events || s.cost+cost > bytes); s = p.shares[label] {
		o.remove(s.all.Front().Value.(*orphan))
	}
	for p.all.Len() >= p.events || p.cost+cost > p.bytes {
		o.remove(p.all.Front().Value.(*orphan))
	}
	return true
}

// remove drops x from the buffer, unless it is gone already.
func (o *orphans) remove(x *orphan) {
	if o.byID[x.event.ID] != x {
		return
	}
	delete(o.byID, x.event.ID)
	p, s := x.pool, x.pool.shares[x.label]
	p.all.Remove(x.inPool)
	s.all.Remove(x.inShare)
	p.cost -= x.cost
	s.cost -= x.cost
	if s.all.Len() == 0 {
		delete(p.shares, x.label)
	}
	for _, k := range x.keys {
		rest := slices.DeleteFunc(o.byKey[k], func(y *orphan) bool { return y == x })
		if len(rest) == 0 {
			delete(o.byKey, k)
		} else {
			o.byKey[k] = rest
		}
	}
	o.dropped(x.event.ID)
}

func (o *orphans) has(id nostr.ID) bool { return o.byID[id] != nil }

// concerned returns the orphans whose wait may end when e is accepted, each once; of those with the same key the oldest comes first.
func (o *orphans) concerned(e *nostr.Event) []*orphan {
	if len(o.byID) == 0 {
		return nil
	}
	var list []*orphan
	seen := make(map[*orphan]bool)
	for _, k := range o.hash.ends(e) {
		for _, x := range o.byKey[k] {
			if !seen[x] {
				seen[x] = true
				list = append(list, x)
			}
		}
	}
	return list
}

// size returns the number of orphans in the buffer, and their cost in bytes of memory.
func (o *orphans) size() (events, bytes int) { return len(o.byID), o.deletions.cost + o.others.cost }

// each calls do with all orphans, the oldest of each pool first.
func (o *orphans) each(do func(*orphan)) {
	for _, p := range []*pool{o.deletions, o.others} {
		for x := p.all.Front(); x != nil; x = x.Next() {
			do(x.Value.(*orphan))
		}
	}
}
