package peer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// watch calls see with the filters that are live after every effect, as the relay
// sees them: a REQ counts from its EOSE on.
func (d *driver) watch(see func(live map[string]peer.Request)) {
	live := map[string]peer.Request{}
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class == peer.Live {
			live[r.Sub] = r
		}
		return nil
	}
	d.closed = func(sub string) {
		if _, ok := live[sub]; ok {
			delete(live, sub)
			see(live)
		}
	}
}

func followed(live map[string]peer.Request, value string) bool {
	for _, r := range live {
		for _, f := range r.Filters {
			for _, tag := range f.Tags {
				if slices.Contains(tag.Values, value) {
					return true
				}
			}
		}
	}
	return false
}

// Root events come one by one for a long time. Their small REQs are merged so
// that the limits hold, nothing that was followed ceases to be for a moment, and
// what is sent for it stays in proportion.
func TestMerging(t *testing.T) {
	for _, subs := range []int{5, 10, 19} {
		f, w := small(t, 1)
		d := newDriver(t, peer.Config{})
		var roots []string
		d.watch(func(live map[string]peer.Request) {
			for i := 0; i < len(roots); i += 1 + len(roots)/7 {
				if !followed(live, roots[i]) {
					t.Fatalf("root event %d of %d is followed no more", i, len(roots))
				}
			}
		})
		d.connect(w, capacity.Limits{MaxSubscriptions: subs})
		for range 400 {
			e := f.Issue(1000, address(key(0), "x"))
			f.AddAll(e).Step()
			d.do(peer.Wanted{Want: f.Wants[here]})
			d.pass(10 * time.Second)
			roots = append(roots, e.ID.String())
		}
		if !d.peer.AllConfirmed() || d.peer.Polled() || d.most > subs {
			t.Fatalf("%d REQs allowed: settled %v, polled %v, %d at once", subs, d.peer.AllConfirmed(), d.peer.Polled(), d.most)
		}
		sent, filters := 0, 0
		for _, r := range d.requests(peer.Live) {
			sent += len(nostr.AppendReq(nil, r.Sub, r.Filters...))
		}
		for _, r := range d.open {
			if r.Class == peer.Live {
				filters += len(r.Filters)
			}
		}
		most := map[int]int{5: 8_000_000, 10: 600_000, 19: 600_000}[subs]
		if filters > 70 || sent > most {
			t.Errorf("%d REQs allowed: %d filters live, %d bytes sent", subs, filters, sent)
		}
	}
}

// Where the filters are many because the items are, nothing is merged for it.
func TestNoMergeWithoutNeed(t *testing.T) {
	f, w := small(t, 4000)
	d := newDriver(t, peer.Config{})
	d.connect(w, capacity.Limits{})
	before := len(d.requests(peer.Live))
	for range 20 {
		f.AddAll(f.Issue(1000, address(key(0), "x"))).Step()
		d.do(peer.Wanted{Want: f.Wants[here]})
		d.pass(10 * time.Second)
	}
	if n := len(d.requests(peer.Live)) - before; n > 20+8 {
		t.Errorf("%d live REQs for 20 root events", n)
	}
}

// late lets live REQs be answered by hand: it returns their ids as they are sent.
func (d *driver) late(subs *[]string) {
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class == peer.Live {
			*subs = append(*subs, r.Sub)
			return nostr.Notice{Text: "wait"}
		}
		return nil
	}
}

// merged is a peer that has just sent a REQ that is to replace others; their ids.
func merged(t *testing.T) (d *driver, m string, parts []string) {
	t.Helper()
	f, w := small(t, 1)
	d = newDriver(t, peer.Config{MaxFilters: 20})
	var values []string
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if tags := r.Filters[len(r.Filters)-1].Tags; r.Class == peer.Live && len(tags[0].Values) > 1 {
			m, values = r.Sub, tags[0].Values
			return nostr.Notice{Text: "wait"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	for n := 0; m == ""; n++ {
		if n > 10 {
			t.Fatal("nothing is merged")
		}
		f.AddAll(f.Issue(1000, address(key(0), "x"))).Step()
		d.do(peer.Wanted{Want: f.Wants[here]})
	}
	for sub, r := range d.open {
		if tags := r.Filters[len(r.Filters)-1].Tags; sub != m && slices.Contains(values, tags[0].Values[0]) {
			parts = append(parts, sub)
		}
	}
	slices.Sort(parts)
	if len(parts) < 2 {
		t.Fatalf("%d parts", len(parts))
	}
	return d, m, parts
}

func TestMergeLingers(t *testing.T) {
	d, m, parts := merged(t)
	d.pass(time.Second)
	d.do(peer.Frame{Message: nostr.EOSE{Sub: m}})
	d.pass(2*time.Second - 1)
	if _, ok := d.open[parts[0]]; !ok {
		t.Error("closed before the merged REQ has settled")
	}
	d.pass(1)
	for _, sub := range parts {
		if _, ok := d.open[sub]; ok {
			t.Errorf("%s is still open", sub)
		}
	}
	if !d.peer.AllConfirmed() {
		t.Error("not settled")
	}
}

// A part that ends while the merged REQ is open is simply replaced; one that ends
// before is asked again.
func TestMergePartLost(t *testing.T) {
	d, m, parts := merged(t)
	d.do(peer.Frame{Message: nostr.EOSE{Sub: m}})
	d.do(peer.Frame{Message: nostr.Closed{Sub: parts[0], Reason: "error: gone"}})
	if !d.peer.AllConfirmed() {
		t.Error("unsettled although the merged REQ is open")
	}
	d, m, parts = merged(t)
	d.do(peer.Frame{Message: nostr.Closed{Sub: parts[0], Reason: "error: gone"}})
	if d.peer.AllConfirmed() {
		t.Error("settled although nothing that is open asks for it")
	}
	d.refuse = nil
	d.do(peer.Frame{Message: nostr.EOSE{Sub: m}})
	d.pass(2 * time.Minute)
	if err := d.peer.Check(); err != nil || !d.peer.AllConfirmed() {
		t.Errorf("settled %v, %v", d.peer.AllConfirmed(), err)
	}
	d, _, parts = merged(t)
	for _, sub := range parts {
		d.do(peer.Frame{Message: nostr.Closed{Sub: sub, Reason: "error: gone"}})
	}
	if err := d.peer.Check(); err != nil {
		t.Error(err)
	}
}

// TestMergePartFailed: what a part brought could not be stored. The merge ends, and the items of that part are asked for again.
func TestMergePartFailed(t *testing.T) {
	d, m, parts := merged(t)
	d.do(peer.Received{Sub: parts[0], ID: nostr.ID{2}, At: 100})
	d.do(peer.Decided{Sub: parts[0], ID: nostr.ID{2}, Outcome: policy.Failed, Failed: true})
	if _, open := d.open[m]; open || d.peer.AllConfirmed() {
		t.Errorf("the merged REQ is open %v, settled %v", open, d.peer.AllConfirmed())
	}
	if _, open := d.open[parts[1]]; !open {
		t.Error("a part that brought nothing is closed")
	}
	d.refuse = nil
	d.pass(2 * time.Minute)
	if err := d.peer.Check(); err != nil || !d.peer.AllConfirmed() {
		t.Errorf("settled %v, %v", d.peer.AllConfirmed(), err)
	}
}

// Where there is no room, and the relay refuses what is united, it is not asked
// in a storm.
func TestUnitedRefused(t *testing.T) {
	f, w := small(t, 3)
	d := newDriver(t, peer.Config{})
	d.connect(w, capacity.Limits{MaxSubscriptions: 5})
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class == peer.Live && len(d.open) > 2 {
			return nostr.Closed{Sub: r.Sub, Reason: "error: no"}
		}
		return nil
	}
	for range 60 {
		f.AddAll(f.Issue(1000, address(key(0), "x"))).Step()
		d.do(peer.Wanted{Want: f.Wants[here]})
		d.pass(10 * time.Second)
	}
	if n := len(d.requests(peer.Live)); n > 20 {
		t.Errorf("%d live REQs within ten minutes", n)
	}
}

// What comes while a REQ is about to open waits for it instead of being polled.
func TestNothingPolledInHaste(t *testing.T) {
	for _, subs := range []int{2, 4, 5} {
		f, w := small(t, 3)
		d := newDriver(t, peer.Config{})
		var sent []string
		d.late(&sent)
		d.connect(w, capacity.Limits{MaxSubscriptions: subs})
		for range 5 {
			f.AddAll(f.Issue(1000, address(key(0), "x"))).Step()
			d.do(peer.Wanted{Want: f.Wants[here]})
		}
		d.pass(time.Second)
		for range 20 {
			if len(sent) > 0 {
				d.do(peer.Frame{Message: nostr.EOSE{Sub: sent[0]}})
				sent = sent[1:]
			}
			d.pass(3 * time.Second)
		}
		if d.peer.Polled() || !d.peer.AllConfirmed() {
			t.Errorf("%d REQs allowed: polled %v, settled %v", subs, d.peer.Polled(), d.peer.AllConfirmed())
		}
	}
}

func TestMergeRefused(t *testing.T) {
	f, w := small(t, 1)
	d := newDriver(t, peer.Config{MaxFilters: 20})
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class == peer.Live && len(r.Filters[0].Tags) > 0 && len(r.Filters[0].Tags[0].Values) > 1 {
			return nostr.Closed{Sub: r.Sub, Reason: "error: no"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	for range 12 {
		f.AddAll(f.Issue(1000, address(key(0), "x"))).Step()
		d.do(peer.Wanted{Want: f.Wants[here]})
		d.pass(10 * time.Second)
	}
	if !d.peer.AllConfirmed() {
		t.Errorf("a refused merge unsettles: %+v", d.peer.Status())
	}
	before := len(d.requests(peer.Live))
	d.pass(time.Hour)
	if n := len(d.requests(peer.Live)) - before; n > 61 {
		t.Errorf("%d tries within an hour", n)
	}
}

// 5,000 root events and a relay that bears 10 REQs of 10 filters.
func TestPolling(t *testing.T) {
	_, w := small(t, 5000)
	d := newDriver(t, peer.Config{})
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if len(r.Filters) > 10 {
			t.Errorf("%d filters", len(r.Filters))
		}
		return nil
	}
	d.connect(w, capacity.Limits{MaxSubscriptions: 10})
	d.pass(time.Minute)
	s := d.peer.Status()
	if d.most > 10 || !d.peer.AllConfirmed() || s.SweptRoots < 500 || s.SweptRoots > 1500 || s.Confirmed.Roots != 5000 || s.Phase != "live" {
		t.Fatalf("%d at once, %+v", d.most, s)
	}
	loads := func() int {
		n := 0
		for _, e := range d.sent {
			if _, ok := e.(peer.OpenNeg); ok {
				n++
			}
		}
		return n
	}
	for range 3 {
		before := loads()
		d.pass(time.Hour)
		if got, want := loads()-before, 3*((s.SweptRoots+99)/100); got < want || got > want+3 {
			t.Errorf("%d reconciliations within an hour, want %d", got, want)
		}
	}
}

// A new root event takes the place of the oldest where there is no room.
func TestNewestAreFollowed(t *testing.T) {
	f, w := small(t, 5000)
	d := newDriver(t, peer.Config{})
	d.connect(w, capacity.Limits{MaxSubscriptions: 10})
	d.pass(time.Minute)
	for range 20 {
		e := f.Issue(100_000, address(key(0), "x"))
		f.AddAll(e).Step()
		d.do(peer.Wanted{Want: f.Wants[here]})
		d.pass(20 * time.Second)
		if asks(d.following())["[]#e "+e.ID.String()] == 0 {
			t.Fatal("a new root event is not followed")
		}
	}
	if s := d.peer.Status(); !d.peer.AllConfirmed() || d.most > 10 || s.SweptRoots > 2500 {
		t.Errorf("%d at once, %+v", d.most, s)
	}
}

// A want that shrinks closes what serves nothing, and asks for nothing again.
func TestWantShrinks(t *testing.T) {
	f, _ := small(t, 1)
	other := f.Announce(key(1), "y", 1, []string{us, string(here)})
	f.AddAll(other).Step()
	d := newDriver(t, peer.Config{})
	d.connect(f.Wants[here], capacity.Limits{})
	first := f.Issue(1, address(key(0), "x"))
	f.AddAll(first).Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	d.pass(time.Minute)
	before := len(d.open)
	f.Remove(first.ID)
	f.Step()
	d.sent = nil
	d.do(peer.Wanted{Want: f.Wants[here]})
	if len(d.open) != before-1 || len(d.requests(peer.Live, peer.Catchup)) != 0 || !d.peer.AllConfirmed() {
		t.Errorf("%d open, then %d", before, len(d.open))
	}
	f.Remove(other.ID)
	f.Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	if s := d.peer.Status(); s.Want.Repositories != 1 || s.Confirmed.Repositories != 1 || !d.peer.AllConfirmed() {
		t.Errorf("%+v", s)
	}
}
