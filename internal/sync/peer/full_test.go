package peer_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// fills is a relay that bears so many values in all REQs together, and a peer that wants more.
func fills(t *testing.T, c peer.Config, roots, most int) (d *driver, refused *int) {
	_, w := small(t, roots)
	d, refused = newDriver(t, c), new(int)
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		all := map[string][]nostr.Filter{}
		for sub, o := range d.open {
			all[sub] = o.Filters
		}
		if costOf(all) <= most {
			return nil
		}
		*refused++
		return nostr.Closed{Sub: r.Sub, Reason: "blocked: too many subscriptions: their filters fill the memory set aside for a connection, close one first"}
	}
	d.connect(w, capacity.Limits{MaxSubscriptions: 200})
	return d, refused
}

// TestARelayThatBoundsAllFiltersTogether: what it bears is learned from few refusals and used, for the newest root events;
// all others are polled, and all is confirmed within minutes.
func TestARelayThatBoundsAllFiltersTogether(t *testing.T) {
	const roots, most = 3000, 3000
	d, refused := fills(t, peer.Config{}, roots, most)
	d.pass(5 * time.Minute)
	s := d.peer.Status()
	if !d.peer.AllConfirmed() || *refused > 10 {
		t.Errorf("%d refusals, %+v", *refused, s)
	}
	if s.SweptRoots == 0 || s.SweptRoots > roots-most/3*2/3 || s.LiveREQs < 3 {
		t.Errorf("%d of %d root events are polled, %d live REQs", s.SweptRoots, roots, s.LiveREQs)
	}
	newest := map[string]bool{}
	repository := false
	for _, f := range d.following() {
		for _, tag := range f.Tags {
			repository = repository || tag.Name == 'a' && tag.Values[0] == address(key(0), "x")
			if tag.Name == 'e' {
				for _, v := range tag.Values {
					newest[v] = true
				}
			}
		}
	}
	if !repository || len(newest) != roots-s.SweptRoots {
		t.Errorf("the repository is followed: %v; %d root events are", repository, len(newest))
	}
	before := *refused
	d.pass(20 * time.Hour)
	if *refused > before+1 || !d.peer.AllConfirmed() {
		t.Errorf("%d more refusals in a day, %+v", *refused-before, d.peer.Status())
	}
}

// TestStoredRequestsHaveRoomBesideTheLiveOnes: where a relay bears all live REQs and nothing beside them, the oldest root
// events are polled, so that anything stored can be asked for at all.
func TestStoredRequestsHaveRoomBesideTheLiveOnes(t *testing.T) {
	const roots = 2000
	free, _ := fills(t, peer.Config{NoNegentropy: true}, roots, 1<<30)
	all := 0
	for _, f := range free.following() {
		for _, tag := range f.Tags {
			all += len(tag.Values)
		}
	}
	d, refused := fills(t, peer.Config{NoNegentropy: true}, roots, all+20)
	d.pass(10 * time.Minute)
	if s := d.peer.Status(); !d.peer.AllConfirmed() || s.SweptRoots == 0 || s.SweptRoots > roots/2 || *refused == 0 || *refused > 10 {
		t.Errorf("%d refusals, %d polled, %+v", *refused, s.SweptRoots, s)
	}
}

// TestStoredRequestsGetSmallerBesideLiveOnesThatStay: where no live REQ can be given up, stored requests ask for so little that it fits beside.
func TestStoredRequestsGetSmallerBesideLiveOnesThatStay(t *testing.T) {
	for _, neg := range []bool{true, false} {
		for _, roots := range []int{2, 8, 30} {
			free, _ := fills(t, peer.Config{NoNegentropy: neg}, roots, 1<<30)
			all := costOf(map[string][]nostr.Filter{"": free.following()})
			for _, more := range []int{0, 1, 2, 3, 7} {
				d, refused := fills(t, peer.Config{NoNegentropy: neg}, roots, all+more)
				d.pass(30 * time.Minute)
				if s := d.peer.Status(); !d.peer.AllConfirmed() || s.SweptRoots > 0 && more > 0 || *refused > 5*roots+10 {
					t.Errorf("%d root events, room for %d values beside: %d refusals, %+v", roots, more, *refused, s)
				}
			}
		}
	}
}

// TestARelayThatBearsLittle: where there is no live REQ that could be given up, what is refused waits longer each time.
func TestARelayThatBearsLittle(t *testing.T) {
	for _, most := range []int{0, 2, 4} { // the repository's live REQ asks for five values
		d, refused := fills(t, peer.Config{NoNegentropy: true}, 0, most)
		d.pass(12 * time.Hour)
		if *refused == 0 || *refused > 200 {
			t.Errorf("%d refusals within half a day by one that bears %d values", *refused, most)
		}
	}
}

// TestWhateverAllSubscriptionsMayAskFor: as soon as a relay bears one repository's live REQ, all is confirmed, though some of it is polled where the live REQs
// fill exactly what the relay bears.
func TestWhateverAllSubscriptionsMayAskFor(t *testing.T) {
	for _, roots := range []int{0, 3, 12} {
		for most := 5; most < 50; most++ {
			d, refused := fills(t, peer.Config{NoNegentropy: most%2 == 0}, roots, most)
			d.pass(3 * time.Hour)
			if s := d.peer.Status(); !d.peer.AllConfirmed() || *refused > 100 {
				t.Errorf("%d root events, %d values: %d refusals, %+v", roots, most, *refused, s)
			}
		}
	}
}
