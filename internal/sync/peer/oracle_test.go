package peer_test

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// check asserts after every step what must hold at all times, and now and then
// what takes longer to look at.
func (w *world) check(books bool) {
	now := w.mono
	if at, ok := w.peer.Wake(); ok && at <= now {
		w.fail("wants to be woken at %v, which is over", at)
	}
	told := w.relay.told.MaxSubscriptions
	if told <= 0 {
		told = 19
	}
	if w.open > told {
		w.fail("%d REQs open, the relay allows %d", w.open, told)
	}
	if !books {
		return
	}
	if err := w.peer.Check(); err != nil {
		w.fail("%v", err)
	}
	w.confirmations()
}

// confirmations checks what is newly confirmed: all that the relay had of it
// when it was connected to is here.
func (w *world) confirmations() {
	want, connected := w.peer.Current()
	if !connected {
		return
	}
	for _, it := range wanttest.Items(want) {
		is := w.peer.Holds(it)
		if is && !w.confirmed[it] {
			w.complete(want, it)
		}
		w.confirmed[it] = is
	}
}

func (w *world) complete(want *peer.Want, it peer.Item) {
	if w.unproven() || w.peer.Unproven(it) {
		return
	}
	filters := w.answered(peer.Asks(want, it))
	for _, e := range w.relay.events {
		if w.store[e.ID] == nil && w.relay.born[e.ID] < w.opened && !w.excused[e.ID] && !w.relay.withheld[e.ID] && matchesAny(filters, e) {
			w.fail("item %d is confirmed without event %v, kind %d, created %d, published at %v", it, e.ID, e.Kind, e.CreatedAt, w.relay.born[e.ID])
		}
	}
}

// onlyOnce checks that a stored request asks for nothing that another one which
// is open asks for as well.
func (w *world) onlyOnce(sub string, f nostr.Filter) {
	for other, a := range w.subs {
		if other == sub || a.over || a.Class == peer.Live || isTrial(sub) || isTrial(other) { // a trial reads nothing
			continue
		}
		if what := w.overlap(f, a.Filters[0]); what != "" {
			w.fail("%s and %s both ask for %s", sub, other, what)
		}
	}
}

func (w *world) overlap(f, g nostr.Filter) string {
	ids := map[nostr.ID]bool{}
	for _, id := range f.IDs {
		ids[id] = true
	}
	for _, id := range g.IDs {
		if ids[id] && !w.announces(id) {
			return "id " + id.String()
		}
	}
	if len(f.Tags) == 0 || len(g.Tags) == 0 || f.Tags[0].Name != g.Tags[0].Name || len(f.Kinds) != len(g.Kinds) {
		return ""
	}
	if (len(f.Authors) == 0) != (len(g.Authors) == 0) {
		return "" // a mailbox is asked what its people say of a root event, and goes on while the root event is asked for anew
	}
	values := map[string]bool{}
	for _, v := range f.Tags[0].Values {
		values[v] = true
	}
	for _, v := range g.Tags[0].Values {
		if values[v] && w.share(v) < 2 {
			return "#" + string(f.Tags[0].Name) + " " + v
		}
	}
	return ""
}

// announces says whether an event is one that is asked for by its d and, where
// another d of the author's is empty, by its author.
func (w *world) announces(id nostr.ID) bool {
	return slices.ContainsFunc(w.relay.events, func(e *nostr.Event) bool {
		return e.ID == id && (e.Kind == nip34.KindRepository || e.Kind == nip34.KindState)
	})
}

// share counts the repositories that v is an address or the name of.
func (w *world) share(v string) int {
	want, _ := w.peer.Current()
	n := 0
	for _, r := range want.Repos {
		x := want.Repository(r.Item)
		if x.D == v || slices.ContainsFunc(x.Addresses, func(a string) bool { return a[5:] == v[min(5, len(v)):] }) {
			n++
		}
	}
	return n
}

// missing returns the events that the relay would show and that the whole want
// asks for, but are not here.
func (w *world) missing() []*nostr.Event {
	if w.unproven() {
		return nil
	}
	var out []*nostr.Event
	want, _ := w.peer.Current()
	var filters []nostr.Filter
	for _, it := range wanttest.Items(want) {
		if !w.dislikedItem(want, it) {
			filters = append(filters, w.answered(peer.Asks(want, it))...)
		}
	}
	for _, e := range w.relay.events {
		if w.store[e.ID] == nil && !w.relay.withheld[e.ID] && matchesAny(filters, e) {
			out = append(out, e)
		}
	}
	return out
}

// unproven says that a relay empties filters without kinds and had nothing yet
// by which it could be found out; what appears is found by the next full resync.
func (w *world) unproven() bool { return w.relay.kinds == "empties" && !w.peer.AddsKinds() }

// answered leaves out what the relay answers with nothing, however it is asked.
func (w *world) answered(filters []nostr.Filter) []nostr.Filter {
	if w.relay.kinds != "empties" {
		return filters
	}
	return slices.DeleteFunc(filters, func(f nostr.Filter) bool { return len(f.Tags) == 0 && len(f.Authors) == 0 })
}
