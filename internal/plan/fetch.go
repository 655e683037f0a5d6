package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/demands"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/want"
)

// mostNeeded is how many ids one reconciliation waits for, over all windows;
// with more the rest is paged.
const mostNeeded = 250_000

// fetching is what a reconciliation still has to get by id. What does not arrive
// is asked once more, then the filter is paged once; what is missing even then
// is undelivered and holds nothing up.
type fetching struct {
	need    []nostr.ID            // not asked yet
	unread  bool                  // and not looked up here
	late    []nostr.ID            // asked once, not arrived
	missing map[nostr.ID]struct{} // asked twice, not arrived
	round   int                   // 0; 1 when the late ones are asked again; 2 when paging
	chunk   int                   // ids per request, if it must be less than usual

	settling []*request // answered, and not decided yet
}

// fetch asks for the next needed ids.
func (c *catchup) fetch(t *task) {
	n := t.neg
	k := min(len(n.need), c.limits.IDs())
	if n.chunk > 0 {
		k = min(k, n.chunk)
	}
	ids, want := n.need[:0:0], make(map[nostr.ID]struct{}, k)
	for _, id := range n.need[:k] { // a relay may show the same event in several windows, or twice in one
		if _, dup := want[id]; !dup {
			want[id] = struct{}{}
			ids = append(ids, id)
		}
	}
	n.need = n.need[k:]
	f := nostr.Filter{IDs: ids, Limit: new(len(ids))}
	if mode := c.demands.mannerOf(t, t.filter).Mode; mode != demands.NoKinds { // the filter's own, where it has some
		f.Kinds = mode.With(t.filter).Kinds
	}
	r := c.request(t, asksIDs, f)
	r.Kindless = t.group.byItems()
	r.neg, r.ids, r.want = n, ids, want
}

// waitsFor says whether the relay showed an event that did not arrive yet, so
// that its time is not known.
func (n *fetching) waitsFor(id nostr.ID) bool {
	_, missing := n.missing[id]
	return missing || slices.Contains(n.late, id)
}

// cameOf says whether an event came that was to be got by id.
func (n *fetching) cameOf(id nostr.ID) bool { return !n.waitsFor(id) && !slices.Contains(n.need, id) }

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

// elsewhere returns what other tasks ask for by id just now, or will next.
func (c *catchup) elsewhere(t *task) map[nostr.ID]struct{} {
	asked := make(map[nostr.ID]struct{})
	if t.group.Layer == want.LayerReferences { // it makes way for others
		return asked
	}
	for _, o := range c.running {
		if o == t || o.neg == nil {
			continue
		}
		for _, id := range o.neg.need {
			asked[id] = struct{}{}
		}
		if o.req != nil {
			maps.Copy(asked, o.req.want)
		}
		for _, r := range o.neg.settling {
			maps.Copy(asked, r.want)
		}
	}
	return asked
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

// waitBehind has a task wait for others that ask for what it still needs. It
// reports whether there are such.
func (c *catchup) waitBehind(t *task) bool {
	n := t.neg
	if n.round > 0 || len(n.late) == 0 {
		return false
	}
	others := c.elsewhere(t)
	if !slices.ContainsFunc(n.late, func(id nostr.ID) bool { _, ok := others[id]; return ok }) {
		return false
	}
	t.behind = true
	c.putOff(t, c.now.Mono+silence)
	return true
}

// letGo has tasks go on that wait for another one, which has ended a request by id.
func (c *catchup) letGo(now time.Duration) {
	for _, t := range c.later {
		if t.behind {
			t.behind, t.after = false, now
		}
	}
}

// secondRound begins to ask again for what did not arrive, if there is such.
func (n *fetching) secondRound() bool {
	if n.round > 0 || len(n.late) == 0 {
		return false
	}
	n.round, n.need, n.unread, n.late = 1, n.late, true, nil
	return true
}

// lastRound says that what is missing is to be looked for by paging, but for
// what was looked for in vain not long ago.
func (c *catchup) lastRound(t *task) bool {
	n, known := t.neg, c.comparing.withheld
	if t.group.course != nil {
		known = t.group.course.missing()
	}
	if n.round == 2 || known.all(n.missing, c.now.Mono) {
		return false
	}
	n.round = 2
	return true
}

// lack notes an id that is needed.
func (n *fetching) lack(id nostr.ID) { n.need, n.unread = append(n.need, id), true }

// lookedUp takes what is unknown here of the needed ids.
func (n *fetching) lookedUp(unknown []nostr.ID) { n.need, n.unread = unknown, false }

// giveUp asks for nothing by id any more.
func (n *fetching) giveUp() { n.need = nil }

// anew begins with the first round.
func (n *fetching) anew() { n.round = 0 }
