package peer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// isKindsProbe says whether a request asks with kinds for what a filter without
// them brought nothing of.
func isKindsProbe(r peer.Request) bool {
	f := r.Filters[0]
	return r.Class != peer.Live && len(f.Kinds) == 17 && *f.Limit == 5
}

// probes counts them.
func (d *driver) probes() int {
	n := 0
	for _, e := range d.sent {
		if r, ok := e.(peer.Request); ok && isKindsProbe(r) {
			n++
		}
	}
	return n
}

// demanding refuses filters without kinds, or with kind 1, as many relays of one make do.
func demanding(text string) func(peer.Request) nostr.RelayMessage {
	return func(r peer.Request) nostr.RelayMessage {
		for _, f := range r.Filters {
			if len(f.Kinds) == 0 || slices.Contains(f.Kinds, nostr.KindNote) {
				return nostr.Closed{Sub: r.Sub, Reason: text}
			}
		}
		return nil
	}
}

const botsText = "blocked: an author must be specified to get their kind:1 notes"

// kindsOf returns how many kinds the filters by a tag name, -1 where they differ.
func kindsOf(filters []nostr.Filter, tag byte) int {
	n := -2
	for _, f := range filters {
		if len(f.Tags) > 0 && f.Tags[0].Name == tag {
			if n != -2 && n != len(f.Kinds) {
				return -1
			}
			n = len(f.Kinds)
		}
	}
	return n
}

func filtersOf(requests []peer.Request) (out []nostr.Filter) {
	for _, r := range requests {
		out = append(out, r.Filters...)
	}
	return out
}

// The kinds of a relay that refuses filters without are learned once, for live
// and stored requests alike, survive a reconnect and are forgotten at the next
// full resync.
func TestKindsAreAddedWhereTheyAreDemanded(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	refused := 0
	demands := demanding(botsText)
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		m := demands(r)
		if m != nil {
			refused++
		}
		return m
	}
	d.connect(w, capacity.Limits{})
	if s := d.peer.Status(); refused != 2 || s.Phase != "live" || s.Failures != 0 {
		t.Errorf("refused %d times, %+v", refused, s)
	}
	if n := kindsOf(d.following(), 'E'); n != 16 {
		t.Errorf("live filters with %d kinds", n)
	}
	d.do(peer.Disconnected{Reason: "reset"})
	d.open = map[string]peer.Request{}
	d.pass(time.Minute)
	d.do(peer.Connected{})
	if refused != 2 {
		t.Errorf("after a reconnect refused %d times", refused)
	}
	d.refuse = nil
	d.serve = func(_ string, filters []nostr.Filter) []*nostr.Event {
		if len(filters) == 1 && len(filters[0].Kinds) == 0 && filters[0].Until == nil {
			m := mint{N: 1 << 40}
			return []*nostr.Event{m.Event(nostr.KindComment, key(9), 1_700_000_000, nostr.Tag{string(filters[0].Tags[0].Name), filters[0].Tags[0].Values[0]})}
		}
		return nil
	}
	d.sent = nil
	d.pass(25 * time.Hour)
	if n := kindsOf(filtersOf(d.requests(peer.Catchup, peer.Daily)), 'E'); n != 0 {
		t.Errorf("the next day with %d kinds", n)
	}
	if n := kindsOf(d.following(), 'E'); n != 0 {
		t.Errorf("the relay needs no kinds any more, live filters have %d", n)
	}
	if s := d.peer.Status(); s.Phase != "live" {
		t.Errorf("%+v", s)
	}
}

// A refusal that is not about kinds is not for ever taken for one.
func TestKindsThatAreOfNoUse(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	refused := 0
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if f := r.Filters[0]; r.Class != peer.Live && len(f.Tags) > 0 && f.Tags[0].Name == 'A' {
			refused++
			return nostr.Closed{Sub: r.Sub, Reason: "restricted: events of this kind are for members"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	d.pass(20 * time.Hour)
	s := d.peer.Status()
	if n := kindsOf(filtersOf(d.requests(peer.Catchup)), 'E'); n != 0 || refused > 4 {
		t.Errorf("refused %d times, other filters with %d kinds", refused, n)
	}
	if s.Confirmed.Roots != 3 || s.Confirmed.Repositories != 0 {
		t.Errorf("%+v", s)
	}
}

// Other refusals have nothing to do with kinds.
func TestKindsAreNotGuessed(t *testing.T) {
	for _, text := range []string{"blocked: no", "error: database", "rate-limited: slow down", "ERROR: bad req: arr too big", "restricted: members only", "invalid: x", ""} {
		_, w := small(t, 3)
		d := newDriver(t, peer.Config{NoNegentropy: true})
		d.refuse = demanding(text)
		d.connect(w, capacity.Limits{})
		d.pass(time.Hour)
		for _, f := range filtersOf(d.requests(peer.Live, peer.Catchup)) {
			if len(f.Kinds) > 3 { // as announcements, with requests to vanish
				t.Errorf("%q: asked for kinds %v", text, f.Kinds)
				break
			}
		}
	}
}

// tagless is a relay's view of filters that name one thing only.
func tagless(f nostr.Filter) bool { return f.IDs == nil && (f.Kinds == nil || f.Tags == nil) }

// A relay that answers filters without kinds with nothing is found out by one
// small request; what it was asked before counts for nothing then.
func TestEmptiedFiltersAreFoundOut(t *testing.T) {
	l := newLibrary(30)
	d := l.reader(t, 500)
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if slices.ContainsFunc(r.Filters, tagless) {
			return nostr.EOSE{Sub: r.Sub}
		}
		return nil
	}
	d.negFault = func(e peer.OpenNeg) nostr.RelayMessage { return nostr.Notice{Text: "could not parse command"} }
	_, w := small(t, 3)
	d.connect(w, capacity.Limits{})
	d.pass(2 * time.Minute)
	if len(l.ours) != 30 || d.peer.Status().Phase != "live" {
		t.Errorf("%d of 30 events, %+v", len(l.ours), d.peer.Status())
	}
	if n := d.probes(); n < 1 || n > 3 {
		t.Errorf("%d probes", n)
	}
	for _, r := range d.open {
		if r.Class == peer.Live && len(r.Filters) > 1 && slices.ContainsFunc(r.Filters, tagless) {
			t.Errorf("a live REQ that the relay ignores: %v", r.Filters)
		}
	}
	if n := kindsOf(d.following(), 'E'); n != 17 {
		t.Errorf("live filters with %d kinds", n)
	}
	before := d.probes()
	d.do(peer.Disconnected{Reason: "reset"})
	d.pass(time.Minute)
	d.do(peer.Connected{})
	if d.probes() != before {
		t.Error("probed again after a reconnect")
	}
}

// A relay that answers filters without kinds with anything is not probed, one
// with NIP-77 never, and one that has nothing once per filter.
func TestKindsProbesAreFew(t *testing.T) {
	l := newLibrary(5)
	d := l.reader(t, 500)
	l.events[0].Tags = nostr.Tags{{"a", address(key(0), "x")}}
	d.negFault = func(e peer.OpenNeg) nostr.RelayMessage { return nostr.Notice{Text: "could not parse command"} }
	_, w := small(t, 3)
	d.connect(w, capacity.Limits{})
	d.pass(50 * time.Hour)
	if n := d.probes(); n > 0 {
		t.Errorf("%d probes of a relay that answers", n)
	}
	d = newLibrary(0).reader(t, 500)
	d.connect(w, capacity.Limits{})
	d.pass(50 * time.Hour)
	if n := d.probes(); n > 0 {
		t.Errorf("%d probes of a relay with NIP-77", n)
	}
	d = newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(w, capacity.Limits{})
	d.pass(10 * time.Hour)
	if n := d.probes(); n != 6 {
		t.Errorf("%d probes of an empty relay, which was asked by 6 filters without kinds", n)
	}
}

// What a probe is refused with tells nothing: its filter is done.
func TestKindsProbeRefused(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if isKindsProbe(r) {
			return nostr.Closed{Sub: r.Sub, Reason: "blocked: too many kinds"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	if s := d.peer.Status(); s.Phase != "live" || d.probes() != 6 {
		t.Errorf("%d probes, %+v", d.probes(), s)
	}
}

// What a reconciliation needs is asked by id with the kinds of its own filter.
func TestNeededIDsAreAskedWithKinds(t *testing.T) {
	l := newLibrary(3)
	other := l.Announce(key(7), "other", 1_600_000_000, []string{string(here)})
	l.events = append(l.events, other)
	d := l.reader(t, 500)
	d.refuse = demanding(botsText)
	d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if len(e.Filter.Kinds) == 0 || slices.Contains(e.Filter.Kinds, nostr.KindNote) {
			return nostr.NegErr{Sub: e.Sub, Reason: botsText}
		}
		return nil
	}
	_, w := small(t, 1)
	d.connect(w, capacity.Limits{})
	if s := d.peer.Status(); s.Phase != "live" || s.Negentropy != "works" || len(l.ours) != 4 {
		t.Errorf("%d events, %+v", len(l.ours), s)
	}
	// Two refusals before the kinds were learned, if any, and nothing asked in vain.
	if _, times := d.byIDs(); times[other.ID] != 1 || times[l.events[0].ID] != 1 {
		t.Errorf("asked %d and %d times", times[other.ID], times[l.events[0].ID])
	}
}
