package peer_test

import (
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// A relay may not index an empty value, or refuse a REQ for it with all that stands beside it.
func TestAnEmptyIdentifierIsNoValueToAskFor(t *testing.T) {
	owner, member := key(1), key(2)
	f := newFold(t)
	f.AddAll(f.Announce(owner, "", 10, []string{us, relay(1)}, member), f.Announce(member, "", 11, []string{us}, owner))
	f.Step()
	w := f.Wants[peer.URL(relay(1))]
	var filters []nostr.Filter
	for _, it := range wanttest.Items(w) {
		if it != want.Announcements {
			filters = append(filters, peer.Asks(w, it)...)
		}
	}
	for _, x := range filters {
		for _, tag := range x.Tags {
			if slices.Contains(tag.Values, "") {
				t.Errorf("asks for %s", x.AppendJSON(nil))
			}
		}
	}
	for _, e := range []*nostr.Event{
		f.Event(nip34.KindState, owner, 12, nostr.Tag{"d", ""}), f.Event(nip34.KindState, member, 12), f.Announce(member, "", 13, nil),
		f.Event(nostr.KindDeletion, owner, 14, nostr.Tag{"a", "30618:" + owner.String() + ":"}),
	} {
		if !matchesAny(filters, e) {
			t.Errorf("does not ask for %v", e)
		}
	}
}
