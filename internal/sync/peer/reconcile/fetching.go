package reconcile

import (
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// fetching is what a comparison still has to get by id. The caller requests an
// event that did not arrive once more, and then pages the filter once. An event
// that is missing even then is undelivered, and the comparison ends without it.
type fetching struct {
	need    []nostr.ID            // not requested yet
	unread  bool                  // need was not looked up in the store yet
	late    []nostr.ID            // requested once, or by others, and not arrived
	missing map[nostr.ID]struct{} // requested twice, and not arrived
	round   round
	chunk   int      // ids per request, where the relay gives fewer than usual; else 0
	paid    int      // such small requests of which all arrived
	vain    int      // and of which not all did: the relay withholds the others
	nothing int      // requests in a row of which nothing arrived
	batches []*Batch // requested, and not decided in full
}

// mostInVain is how many requests in a row bring nothing, until graspd looks for the rest in pages alone.
const mostInVain = 5

// round is how far the comparison has come with the events that it needs.
type round uint8

const (
	first  round = iota
	second       // the late events are requested again
	paged        // the whole filter is paged for the missing ones
)

// Needs returns how many ids are to be looked up or requested.
func (n *fetching) Needs() int { return len(n.need) }

// Fetching reports whether an event is to be requested, or was and is not decided.
func (n *fetching) Fetching() bool { return len(n.need)+len(n.batches) > 0 }

// AddAwaited adds the ids that are requested now or next.
func (n *fetching) AddAwaited(to map[nostr.ID]struct{}) {
	for _, id := range n.need {
		to[id] = struct{}{}
	}
	for _, b := range n.batches {
		maps.Copy(to, b.lacks)
	}
}

// lack notes an id that the relay has and that is not here.
func (n *fetching) lack(id nostr.ID) { n.need, n.unread = append(n.need, id), true }

// Batch is the ids of one request, each once: a relay may show an event in several windows, or twice in one.
type Batch struct {
	of    *Comparison
	ids   []nostr.ID
	lacks map[nostr.ID]struct{} // those of ids that did not arrive yet
	small bool                  // they are a small portion
}

// ask returns the next ids to request, at most as many as most says.
func (n *Comparison) ask(most int) *Batch {
	k := min(len(n.need), most)
	if n.chunk > 0 {
		k = min(k, n.chunk)
	}
	b := &Batch{of: n, small: n.chunk > 0, ids: n.need[:0:0], lacks: make(map[nostr.ID]struct{}, k)}
	for _, id := range n.need[:k] {
		if _, dup := b.lacks[id]; !dup {
			b.lacks[id] = struct{}{}
			b.ids = append(b.ids, id)
		}
	}
	n.need, n.batches = n.need[k:], append(n.batches, b)
	return b
}

// IDs returns the requested ids.
func (b *Batch) IDs() []nostr.ID { return b.ids }

// Lacks returns the requested ids that did not arrive yet. The caller does not change the map.
func (b *Batch) Lacks() map[nostr.ID]struct{} { return b.lacks }

// end takes out a batch that is over.
func (n *fetching) end(b *Batch) {
	n.batches = slices.DeleteFunc(n.batches, func(x *Batch) bool { return x == b })
}

// Came records that the event of an id is here now.
func (b *Batch) Came(id nostr.ID) { delete(b.lacks, id) }

// Answered records that the request is answered and all that came is decided. Where some events
// of a request in the second round arrived and some did not, the relay gives fewer at once: the
// rest is requested in smaller portions, as long as that pays. A portion of which nothing arrives is missing.
func (b *Batch) Answered() {
	n := b.of
	n.end(b)
	got := len(b.ids) - len(b.lacks)
	n.count(b, got)
	if got == len(b.ids) {
		return
	}
	less := got > 0 && (n.vain <= n.paid || n.round == paged)
	for _, id := range b.ids {
		if _, gone := b.lacks[id]; !gone {
			continue
		}
		switch {
		case n.round == first:
			n.late = append(n.late, id)
		case less:
			n.need = append(n.need, id)
		default:
			n.miss(id)
		}
	}
	if less && got <= len(b.ids)/2 {
		n.chunk = got
	}
	if n.nothing >= mostInVain && n.round != paged {
		for _, id := range n.need {
			n.miss(id)
		}
		n.need = nil
	}
}

// count notes how many events of a request arrived. Where small portions do not bring all, the relay shows what it does not give, and is
// asked in large portions again.
func (n *fetching) count(b *Batch, got int) {
	if n.nothing++; got > 0 {
		n.nothing = 0
	}
	switch {
	case !b.small:
	case got == len(b.ids):
		n.paid++
	default:
		if n.vain++; n.vain > n.paid && n.round != paged {
			n.chunk = 0
		}
	}
}

// miss notes that an event was requested in vain.
func (n *fetching) miss(id nostr.ID) {
	if n.missing == nil {
		n.missing = make(map[nostr.ID]struct{})
	}
	n.missing[id] = struct{}{}
}

// PutBack records that the relay did not answer the request: what did not arrive is needed as before.
func (b *Batch) PutBack() {
	b.of.end(b)
	for _, id := range b.ids {
		if _, gone := b.lacks[id]; gone {
			b.of.need = append(b.of.need, id)
		}
	}
}

// LookedUp takes which of the needed ids are unknown here, and the events of the other ids. In the first round, the ids that others returns are put
// off, if others is not nil.
func (n *Comparison) LookedUp(unknown []nostr.ID, known []nostr.Stamp, others func() map[nostr.ID]struct{}) {
	n.need, n.unread = unknown, false
	for _, x := range known {
		n.oldest.date(x.ID, x.CreatedAt)
	}
	if n.round == first && others != nil {
		n.skip(others())
	}
}

// skip puts off the ids that other comparisons request, as their events match several filters, and leaves
// out the ids that were requested in an earlier window.
func (n *fetching) skip(others map[nostr.ID]struct{}) {
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

// waitsBehind reports whether other comparisons request an event that this one still lacks.
func (n *fetching) waitsBehind(others func() map[nostr.ID]struct{}) bool {
	if n.round > first || len(n.late) == 0 {
		return false
	}
	asked := others()
	return slices.ContainsFunc(n.late, func(id nostr.ID) bool { _, ok := asked[id]; return ok })
}

// secondRound begins the second round, and reports whether there is an event for it.
func (n *fetching) secondRound() bool {
	if n.round > first || len(n.late) == 0 {
		return false
	}
	n.round, n.need, n.unread, n.late = second, n.late, true, nil
	return true
}

// lastRound begins the last round, and reports whether there is an event for it: one that is missing, and that
// pages did not bring a short while ago.
func (n *fetching) lastRound(facts Facts) bool {
	if n.round == paged || facts.Withheld.all(n.missing, facts.Now) {
		return false
	}
	n.round = paged
	return true
}

// Arrived records that an event is here now, by whatever request.
func (n *fetching) Arrived(id nostr.ID) { delete(n.missing, id) }

// Has reports whether the event of an id came that the comparison was to get.
func (n *fetching) Has(id nostr.ID) bool {
	_, missing := n.missing[id]
	return !missing && !slices.Contains(n.late, id) && !slices.Contains(n.need, id)
}

// Missing returns the ids that were requested in vain. The caller does not change the map.
func (n *fetching) Missing() map[nostr.ID]struct{} { return n.missing }

// Paged reports whether the whole filter was paged for missing events.
func (n *fetching) Paged() bool { return n.round == paged }
