package peer_test

import (
	"fmt"
	"github.com/graspd/graspd/internal/sync/peer/reconcile"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/history"
)

// isEdgeProbe says whether a request asks for what a reconciliation may have left out.
func isEdgeProbe(r peer.Request) bool {
	f := r.Filters[0]
	return r.Class != peer.Live && f.IDs == nil && *f.Limit <= reconcile.MostProbed && !isKindsProbe(r) && !isTrial(r.Sub)
}

// edgeProbes returns those that were sent.
func (d *driver) edgeProbes() []peer.Request {
	var out []peer.Request
	for _, e := range d.sent {
		if r, ok := e.(peer.Request); ok && isEdgeProbe(r) {
			out = append(out, r)
		}
	}
	return out
}

// commented is what a relay has of one repository: a comment at each time.
func commented(at ...int64) *library {
	l := newLibrary(0)
	for _, x := range at {
		l.events = append(l.events, l.Event(nostr.KindComment, key(9), x, nostr.Tag{"A", address(key(0), "x")}))
	}
	return l
}

// A probe asks for no more than a page of the relay has.
func TestAProbeIsNoLongerThanAPage(t *testing.T) {
	l := newLibrary(300)
	_, w := small(t, 0)
	d := l.reader(t, 7)
	d.connect(w, capacity.Limits{MaxLimit: 7})
	probes := d.edgeProbes()
	for _, r := range probes {
		if *r.Filters[0].Limit != 7 {
			t.Errorf("asked %v", r.Filters)
		}
	}
	if len(probes) == 0 {
		t.Error("no probe was sent")
	}
}

func TestAProbeIsSmallAndMovesNothingTwice(t *testing.T) {
	l := newLibrary(300)
	_, w := small(t, 0)
	d := l.reader(t, 500)
	came := 0
	serve := d.serve
	d.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		out := serve(sub, filters)
		if filters[0].IDs == nil {
			came += len(out)
		}
		return out
	}
	d.connect(w, capacity.Limits{})
	probes := d.edgeProbes()
	for _, r := range probes {
		if len(r.Filters) != 1 || *r.Filters[0].Limit != reconcile.MostProbed {
			t.Errorf("asked %v", r.Filters)
		}
	}
	// Two for the only one that brings anything, as nothing told how much one REQ brings.
	if len(probes) != 6+1 || came != 2+1 || d.paged() != 0 {
		t.Errorf("%d probes of 6 filters, %d events, %d pages", len(probes), came, d.paged())
	}
	d.sent, came = nil, 0
	d.pass(26 * time.Hour)
	if n := len(d.edgeProbes()); n != 6 || came != 0 || d.paged() != 0 {
		t.Errorf("the day after: %d probes of 6 filters, %d events, %d pages", n, came, d.paged())
	}
	// As before a restart, where nothing is new here; and in full for a relay that nobody asked before.
	for _, met := range []bool{true, false} {
		again := l.reader(t, 500)
		past := history.Record{}
		if met {
			past.LastAlive = epoch.Add(-time.Hour)
		}
		again.peer = peer.NewPeer(peer.Config{URL: here, Past: past})
		came = 0
		again.serve = d.serve
		again.connect(w, capacity.Limits{})
		if met != (came == 0) || again.paged() != 0 {
			t.Errorf("met before %v: %d events, %d pages", met, came, again.paged())
		}
	}
	// What was refused then may be taken now, so that nothing was read in full.
	again := l.reader(t, 500)
	again.peer = peer.NewPeer(peer.Config{URL: here, Past: history.Record{LastAlive: epoch.Add(-time.Hour)}})
	came = 0
	again.serve = d.serve
	again.do(peer.Wanted{Want: w})
	again.do(peer.Reconsider{})
	if again.do(peer.Connected{}); came == 0 || again.paged() != 0 {
		t.Errorf("reconsidered: %d events, %d pages", came, again.paged())
	}
}

// TestACutAnywhere: so many of the newest are compared, pages and answers by id are capped, and everything is here.
func TestACutAnywhere(t *testing.T) {
	shapes := map[string][]int64{"one second": make([]int64, 9), "pairs": nil, "spread": nil, "a dense end": {7, 7, 7, 7, 8, 9, 10, 11, 12}, "many in a second": make([]int64, 40)}
	for i := range int64(14) {
		shapes["pairs"] = append(shapes["pairs"], i/2)
		shapes["spread"] = append(shapes["spread"], i*i)
	}
	for name, at := range shapes {
		for i := range at {
			at[i] += 1_700_000_000
		}
		for newest := range len(at) + 2 {
			for _, page := range []int{500, 45} {
				for _, given := range []int{500, 3} {
					for _, oldest := range []bool{false, true} {
						l := commented(at...)
						_, w := small(t, 0)
						d := l.reader(t, page)
						d.neg = func(f nostr.Filter) []*nostr.Event { return l.find(f, newest) }
						serve := d.serve
						d.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
							if filters[0].IDs != nil {
								filters[0].Limit = new(min(*filters[0].Limit, given))
							} else if oldest {
								all := l.find(filters[0], len(l.events))
								slices.Reverse(all)
								all = all[:min(len(all), *filters[0].Limit, page)]
								for _, e := range all {
									l.ours[e.ID] = true
								}
								return all
							}
							return serve(sub, filters)
						}
						d.connect(w, capacity.Limits{})
						d.pass(10 * time.Minute)
						s := d.peer.Status()
						if len(l.ours) != len(at) || !d.peer.AllConfirmed() || (newest < len(at)) != (s.Negentropy == "truncates") {
							t.Errorf("%s, %d of %d compared, pages of %d, %d by id, oldest first %v: %d here, it %s", name, newest, len(at), page, given, oldest, len(l.ours), s.Negentropy)
						}
					}
				}
			}
		}
	}
}

// TestNewsIsNoProof: what reaches a relay between a comparison and the probe is compared once more.
func TestNewsIsNoProof(t *testing.T) {
	for _, at := range []int64{1_700_000_000 - 5, 1_700_000_000} { // below and within the oldest second
		for _, times := range []int{1, 2, 5} {
			t.Run(fmt.Sprint(at, " ", times), func(t *testing.T) {
				l := newLibrary(12)
				_, w := small(t, 0)
				d := l.reader(t, 500)
				d.refuse = func(r peer.Request) nostr.RelayMessage {
					if tags := r.Filters[0].Tags; isEdgeProbe(r) && len(tags) > 0 && tags[0].Name == 'A' && times > 0 {
						times--
						at-- // older still
						l.events = append(l.events, l.Event(nostr.KindComment, key(9), at+1, nostr.Tag{"A", address(key(0), "x")}))
					}
					return nil
				}
				d.connect(w, capacity.Limits{})
				if s := d.peer.Status(); s.Negentropy != "works" || len(l.ours) != len(l.events) || !d.peer.AllConfirmed() {
					t.Errorf("%d of %d here, it %s", len(l.ours), len(l.events), s.Negentropy)
				}
				if len(d.edgeProbes()) > 6+4 {
					t.Errorf("%d probes", len(d.edgeProbes()))
				}
			})
		}
	}
}

// TestACutWithinASecondOfARelayThatWasAskedBefore this process began: as it shows what is not here, it was not read in full then.
func TestACutWithinASecondOfARelayThatWasAskedBefore(t *testing.T) {
	const at = 1_700_000_000
	for newest := 1; newest <= 5; newest++ {
		l := commented(at, at, at, at, at+1, at+2)
		_, w := small(t, 0)
		d := l.reader(t, 500)
		d.peer = peer.NewPeer(peer.Config{URL: here, Past: history.Record{LastAlive: epoch.Add(-time.Hour)}})
		d.neg = func(f nostr.Filter) []*nostr.Event { return l.find(f, newest) }
		d.connect(w, capacity.Limits{})
		d.pass(10 * time.Minute)
		if s := d.peer.Status(); len(l.ours) != len(l.events) || s.Negentropy != "truncates" || !d.peer.AllConfirmed() {
			t.Errorf("%d compared: %d of %d here, it %s", newest, len(l.ours), len(l.events), s.Negentropy)
		}
	}
}

// TestASecondComparisonIsDoubtedLikeTheFirst: it shows more than the first, and hides the rest of the same second.
func TestASecondComparisonIsDoubtedLikeTheFirst(t *testing.T) {
	const at = 1_700_000_000
	l := commented(at+2, at+1, at, at, at, at, at, at, at, at, at, at)
	for i := range int64(5) { // a probe of these tells that one REQ brings several events
		l.events = append(l.events, l.Announce(key(int(20+i)), "z", at+i, []string{relay(9)}))
	}
	_, w := small(t, 0)
	d := l.reader(t, 500)
	compared := 0
	d.neg = func(f nostr.Filter) []*nostr.Event {
		if len(f.Tags) == 0 || f.Tags[0].Name != 'A' {
			return l.find(f, len(l.events))
		}
		compared++
		return l.find(f, 3*compared)
	}
	d.connect(w, capacity.Limits{})
	d.pass(10 * time.Minute)
	if s := d.peer.Status(); len(l.ours) != len(l.events) || compared != 2 || !d.peer.AllConfirmed() {
		t.Errorf("%d of %d here, compared %d times, it %s", len(l.ours), len(l.events), compared, s.Negentropy)
	}
}
