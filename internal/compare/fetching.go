package compare

import (
	"slices"

	"github.com/graspd/graspd/internal/nostr"
)

// fetching is what a comparison still has to get by id. What does not arrive
// is asked once more, then the filter is paged once; what is missing even then
// is undelivered and holds nothing up.
type fetching struct {
	need    []nostr.ID            // not asked yet
	unread  bool                  // and not looked up here
	late    []nostr.ID            // asked once, not arrived
	missing map[nostr.ID]struct{} // asked twice, not arrived
	round   round
	chunk   int // ids per request, if it must be less than usual
}

// round is how often what is needed was asked for.
type round uint8

const (
	first  round = iota
	second       // what is late is asked for again
	paged        // the filter is paged
)

// Needs are the ids that are to be asked for.
func (n *fetching) Needs() []nostr.ID { return n.need }

// lack notes an id that is needed.
func (n *fetching) lack(id nostr.ID) { n.need, n.unread = append(n.need, id), true }

// Batch is the ids of one request. A relay may show an event in several windows, or twice in one: it is asked for once.
type Batch struct {
	of    *Comparison
	ids   []nostr.ID
	lacks map[nostr.ID]struct{} // of ids, what did not arrive yet
}

// Ask takes the next ids to ask for, at most so many.
func (n *Comparison) Ask(most int) *Batch {
	k := min(len(n.need), most)
	if n.chunk > 0 {
		k = min(k, n.chunk)
	}
	b := &Batch{of: n, ids: n.need[:0:0], lacks: make(map[nostr.ID]struct{}, k)}
	for _, id := range n.need[:k] {
		if _, dup := b.lacks[id]; !dup {
			b.lacks[id] = struct{}{}
			b.ids = append(b.ids, id)
		}
	}
	n.need = n.need[k:]
	return b
}

// IDs are the ids that are asked for.
func (b *Batch) IDs() []nostr.ID { return b.ids }

// Lacks are those of them that did not arrive yet. The map is not to be changed.
func (b *Batch) Lacks() map[nostr.ID]struct{} { return b.lacks }

// Of says whether it is of that comparison.
func (b *Batch) Of(n *Comparison) bool { return b.of == n }

// Came takes an event that is here now.
func (b *Batch) Came(id nostr.ID) { delete(b.lacks, id) }

// Shown takes the time of an event that comes.
func (b *Batch) Shown(x Dated) { b.of.edge.date(x.ID, x.At) }

// Answered sorts out what did not arrive of one request. In the second round
// some arriving and some not means that the relay gives fewer at once, so the
// rest is asked in smaller portions; each brings something, or is given up.
func (b *Batch) Answered() {
	n := b.of
	got := len(b.ids) - len(b.lacks)
	if got == len(b.ids) {
		return
	}
	for _, id := range b.ids {
		if _, gone := b.lacks[id]; !gone {
			continue
		}
		switch {
		case n.round == first:
			n.late = append(n.late, id)
		case got > 0:
			n.need = append(n.need, id)
		default:
			if n.missing == nil {
				n.missing = make(map[nostr.ID]struct{})
			}
			n.missing[id] = struct{}{}
		}
	}
	if got > 0 && got <= len(b.ids)/2 {
		n.chunk = got
	}
}

// PutBack returns the ids of a request that was not answered to those needed.
func (b *Batch) PutBack() {
	for _, id := range b.ids {
		if _, gone := b.lacks[id]; gone {
			b.of.need = append(b.of.need, id)
		}
	}
}

// LookedUp takes what is unknown here of the needed ids, and the times of the others. What is in others is put off, where it is not nil.
func (n *Comparison) LookedUp(unknown []nostr.ID, known []Dated, others func() map[nostr.ID]struct{}) {
	n.need, n.unread = unknown, false
	for _, x := range known {
		n.edge.date(x.ID, x.At)
	}
	if n.round == first && others != nil {
		n.leave(others())
	}
}

// leave puts off what others ask for, as it matches several filters, and leaves
// out what was asked for in an earlier window.
func (n *fetching) leave(others map[nostr.ID]struct{}) {
	asked := make(map[nostr.ID]struct{}, len(n.late))
	for _, id := range n.late {
		asked[id] = struct{}{}
	}
	n.need = slices.DeleteFunc(n.need, func(id nostr.ID) bool {
		_, late := asked[id]
		_, missing := n.missing[id]
		_, dup := others[id]
		if dup && !late && !missing {
			n.late = append(n.late, id)
		}
		return late || missing || dup
	})
}

// waitsBehind says whether others ask for what is still needed.
func (n *fetching) waitsBehind(others func() map[nostr.ID]struct{}) bool {
	if n.round > first || len(n.late) == 0 {
		return false
	}
	asked := others()
	return slices.ContainsFunc(n.late, func(id nostr.ID) bool { _, ok := asked[id]; return ok })
}

// secondRound begins to ask again for what did not arrive, if there is such.
func (n *fetching) secondRound() bool {
	if n.round > first || len(n.late) == 0 {
		return false
	}
	n.round, n.need, n.unread, n.late = second, n.late, true, nil
	return true
}

// lastRound says that what is missing is to be looked for by paging, but for
// what was looked for in vain not long ago.
func (n *fetching) lastRound(t Terms) bool {
	if n.round == paged || t.Withheld.all(n.missing, t.Now) {
		return false
	}
	n.round = paged
	return true
}

// Arrived takes an event that is here now, whatever brought it.
func (n *fetching) Arrived(id nostr.ID) { delete(n.missing, id) }

// Has says whether an event came that was to be got by id.
func (n *fetching) Has(id nostr.ID) bool {
	_, missing := n.missing[id]
	return !missing && !slices.Contains(n.late, id) && !slices.Contains(n.need, id)
}

// Missing are the ids that were asked for in vain.
func (n *fetching) Missing() map[nostr.ID]struct{} { return n.missing }

// Paged says whether the whole filter was paged for these.
func (n *fetching) Paged() bool { return n.round == paged }
