package plan

import (
	"slices"

	"graspd/internal/nostr"
)

// mostNeeded is how many needed ids of one window are kept; with more it is paged.
const mostNeeded = 250_000

// fetching is what a reconciliation still has to get by id. What does not arrive
// is asked once more, then the filter is paged once; what is missing even then
// is undelivered and holds nothing up.
type fetching struct {
	need    []nostr.ID            // not asked yet
	late    []nostr.ID            // asked once, not arrived
	missing map[nostr.ID]struct{} // asked twice, not arrived
	round   int                   // 0; 1 when the late ones are asked again; 2 when paging
	chunk   int                   // ids per request, if it must be less than usual
	oldest  int64                 // of what was fetched in this window; 0 = nothing
}

// fetch asks for the next needed ids.
func (p *Peer) fetch(t *task) {
	n := t.neg
	k := min(len(n.need), p.conn.limits.ids)
	if n.chunk > 0 {
		k = min(k, n.chunk)
	}
	ids := n.need[:k:k]
	n.need = n.need[k:]
	f := nostr.Filter{IDs: ids, Limit: new(len(ids))}
	if p.kinds.mode != kindsNone { // the filter's own, where it has some
		f.Kinds = p.kinds.mode.with(t.filter).Kinds
	}
	r := p.request(t, asksIDs, f)
	r.kindless = true
	r.ids, r.want = ids, make(map[nostr.ID]struct{}, len(ids))
	for _, id := range ids {
		r.want[id] = struct{}{}
	}
}

// fetched notes the time of an event that came by id.
func (n *fetching) fetched(at int64) {
	if n.oldest == 0 || at < n.oldest {
		n.oldest = max(at, 1)
	}
}

// waitsFor says whether the relay showed an event that did not arrive yet, so
// that its time is not known.
func (n *fetching) waitsFor(id nostr.ID) bool {
	_, missing := n.missing[id]
	return missing || slices.Contains(n.late, id)
}

// chunkDone sorts out what did not arrive of one request. In the second round
// some arriving and some not means that the relay gives fewer at once, so the
// rest is asked in smaller portions; each brings something, or is given up.
func (n *fetching) chunkDone(r *request) {
	got := len(r.ids) - len(r.want)
	if got == len(r.ids) {
		return
	}
	for _, id := range r.ids {
		if _, gone := r.want[id]; !gone {
			continue
		}
		switch {
		case n.round == 0:
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
	if got > 0 && got <= len(r.ids)/2 {
		n.chunk = got
	}
}

// putBack returns the ids of a fetch that was not answered to those needed.
func (n *fetching) putBack(r *request) {
	for _, id := range r.ids {
		if _, gone := r.want[id]; gone {
			n.need = append(n.need, id)
		}
	}
}

// secondRound begins to ask again for what did not arrive, if there is such.
func (n *fetching) secondRound() bool {
	if n.round > 0 || len(n.late) == 0 {
		return false
	}
	n.round, n.need, n.late = 1, n.late, nil
	return true
}

// lastRound says that what is missing is to be looked for by paging.
func (n *fetching) lastRound() bool {
	if n.round != 1 || len(n.missing) == 0 {
		return false
	}
	n.round = 2
	return true
}

// learn takes what one message of a reconciliation told.
func (n *reconciliation) learn(have, need [][32]byte) {
	if n.have == nil {
		n.have = make(map[[32]byte]struct{}, len(have))
	}
	for _, id := range have {
		n.have[id] = struct{}{}
	}
	for _, id := range need {
		n.need = append(n.need, nostr.ID(id))
	}
	n.shown += len(need)
}
