package peer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/unsolicited"
)

// small makes a Want of one repository with so many root events.
func small(t testing.TB, roots int) (*fold, *peer.Want) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, string(here)}))
	for i := range roots {
		f.AddAll(f.Issue(int64(i), address(key(0), "x")))
	}
	f.Step()
	return f, f.Wants[here]
}

// dials counts the dials so far.
func (d *driver) dials() int {
	n := 0
	for _, e := range d.sent {
		if _, ok := e.(peer.Dial); ok {
			n++
		}
	}
	return n
}

// fails lets the next dial fail and returns how long the peer waits then.
func (d *driver) fails() time.Duration {
	d.t.Helper()
	d.do(peer.DialFailed{Reason: "refused"})
	at, ok := d.peer.Wake()
	if !ok {
		d.t.Fatal("never dials again")
	}
	wait := at - d.clock.Mono
	before := d.dials()
	d.pass(wait - 1)
	if d.dials() != before {
		d.t.Error("a dial before its time")
	}
	d.pass(1)
	if d.dials() != before+1 {
		d.t.Error("no dial at its time")
	}
	return wait
}

func about(got, want time.Duration) bool { return got >= want && got <= want+want/4 }

func TestBackoffIsResetByProgressOnly(t *testing.T) {
	f, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	d.do(peer.Wanted{Want: w})
	for i, want := range []time.Duration{5, 10, 20} {
		if got := d.fails(); !about(got, want*time.Second) {
			t.Errorf("failure %d: waits %v", i+1, got)
		}
	}
	// A handshake alone is no progress.
	d.refuse = func(peer.Request) nostr.RelayMessage { return nostr.Notice{Text: "hello"} }
	d.do(peer.Connected{})
	d.do(peer.Disconnected{Reason: "reset"})
	if at, _ := d.peer.Wake(); !about(at-d.clock.Mono, 40*time.Second) {
		t.Errorf("after a connection without progress it waits %v", at-d.clock.Mono)
	}
	d.pass(50 * time.Second)
	// Nor is what was wanted and confirmed before, confirmed again.
	d.refuse = nil
	d.do(peer.Connected{})
	if s := d.peer.Status(); s.Failures != 0 || s.Health != status.Healthy || s.Phase != "live" {
		t.Fatalf("after everything is confirmed: %+v", s)
	}
	for i := range 4 {
		d.do(peer.Disconnected{Reason: "reset"})
		if s := d.peer.Status(); s.Failures != i+1 || s.Health != status.Degraded {
			t.Fatalf("after connection %d is lost: %+v", i, s)
		}
		d.pass(2 * time.Minute)
		d.do(peer.Connected{})
	}
	// A new item is, and so are five minutes.
	f.AddAll(f.Issue(9, address(key(0), "x"))).Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	if s := d.peer.Status(); s.Failures != 0 {
		t.Errorf("a newly confirmed item: %+v", s)
	}
	d.do(peer.Disconnected{Reason: "reset"})
	d.pass(time.Minute)
	d.do(peer.Connected{})
	d.pass(5*time.Minute - time.Second)
	if d.peer.Status().Failures != 1 {
		t.Error("reset before five minutes")
	}
	d.pass(time.Second)
	if d.peer.Status().Failures != 0 {
		t.Error("not reset after five minutes")
	}
}

func TestDeadRelay(t *testing.T) {
	f, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	d.do(peer.Wanted{Want: w})
	for range 60 {
		if d.fails() == 24*time.Hour {
			break
		}
	}
	if s := d.peer.Status(); s.Health != status.Dead {
		t.Fatalf("after days of failure: %+v", s)
	}
	d.do(peer.DialFailed{Reason: "refused"})
	gain := func(owner int) int {
		f.AddAll(f.Announce(key(owner), "y", 1, []string{us, string(here)})).Step()
		before := d.dials()
		d.do(peer.Wanted{Want: f.Wants[here]})
		return d.dials() - before
	}
	if gain(1) != 1 {
		t.Error("a new owner does not have a dead relay tried")
	}
	d.do(peer.DialFailed{Reason: "refused"})
	d.pass(30 * time.Minute)
	if gain(2) != 0 {
		t.Error("a second time within an hour")
	}
	d.pass(31 * time.Minute)
	if gain(3) != 1 {
		t.Error("not after an hour")
	}
}

func TestDialAskedToSlowDown(t *testing.T) {
	_, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	d.do(peer.Wanted{Want: w})
	d.do(peer.DialFailed{Reason: "429", SlowIt: true})
	if at, _ := d.peer.Wake(); at != 65*time.Second || d.peer.Status().Failures != 0 {
		t.Errorf("waits %v, %+v", at, d.peer.Status())
	}
	// For ever is no way to hold a slot.
	refused := func(times int) (failures int) {
		for range times {
			at, _ := d.peer.Wake()
			d.pass(at - d.clock.Mono)
			d.do(peer.DialFailed{Reason: "429", SlowIt: true})
		}
		return d.peer.Status().Failures
	}
	if n := refused(2); n != 0 {
		t.Errorf("%d failures after three refusals", n)
	}
	if n := refused(2); n != 2 {
		t.Errorf("%d failures after five refusals", n)
	}
	at, _ := d.peer.Wake()
	d.pass(at - d.clock.Mono)
	d.do(peer.Connected{})
	d.do(peer.Disconnected{Reason: "lost"})
	before := d.peer.Status().Failures
	if n := refused(1); n != before {
		t.Errorf("%d failures at the first refusal after a connection, %d before", n, before)
	}
}

func TestOurself(t *testing.T) {
	_, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	d.do(peer.Wanted{Want: w})
	d.do(peer.DialFailed{Ourself: true})
	d.do(peer.Wanted{Want: w})
	if at, ok := d.peer.Wake(); ok || d.dials() != 1 {
		t.Errorf("wakes at %v, %d dials", at, d.dials())
	}
}

func TestWantedNoMore(t *testing.T) {
	_, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	d.do(peer.Wanted{})
	d.connect(w, capacity.Limits{})
	d.do(peer.Disconnected{Reason: "reset"})
	wake, _ := d.peer.Wake()
	d.do(peer.Wanted{})
	if _, ok := d.peer.Wake(); ok {
		t.Error("a relay that nobody wants wakes")
	}
	d.do(peer.Wanted{Want: w})
	if at, _ := d.peer.Wake(); at != wake || d.dials() != 1 {
		t.Errorf("a want that comes and goes: dial at %v, not %v", at, wake)
	}
	d.pass(wake)
	d.do(peer.Connected{})
	d.do(peer.Wanted{})
	if _, ok := d.sent[len(d.sent)-1].(peer.HangUp); !ok {
		t.Errorf("ended with %T", d.sent[len(d.sent)-1])
	}
	if s := d.peer.Status(); s.Connected || s.Phase != "idle" {
		t.Errorf("%+v", s)
	}
}

// sinces returns the least since of the stored requests per first tag name, 0
// where any has none.
func sinces(requests []peer.Request) map[string]int64 {
	out := map[string]int64{}
	for _, r := range requests {
		f := r.Filters[0]
		name := "announcements"
		if len(f.Tags) > 0 {
			name = fmt.Sprintf("%v#%c", f.Kinds, f.Tags[0].Name)
		}
		var since int64
		if f.Since != nil {
			since = *f.Since
		}
		if old, ok := out[name]; !ok || since < old {
			out[name] = since
		}
	}
	return out
}

func TestQuickReconnect(t *testing.T) {
	f, w := small(t, 3)
	d := newDriver(t, peer.Config{})
	d.connect(w, capacity.Limits{})
	d.pass(72 * time.Hour)
	d.do(peer.Alive{})
	mark := d.clock.Wall
	d.pass(time.Minute)
	d.do(peer.Disconnected{Reason: "reset"})
	f.AddAll(f.Issue(9, address(key(0), "x"))).Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	d.pass(10 * time.Minute)
	d.sent = nil
	d.do(peer.Connected{})
	if !d.peer.AllConfirmed() {
		t.Fatal("not settled")
	}
	asked := sinces(d.requests(peer.Catchup))
	if len(asked) != 8 { // #q of two layers
		t.Errorf("asked %v", asked)
	}
	for name, since := range asked {
		if want := mark.Add(-15 * time.Minute).Unix(); since != want {
			t.Errorf("%s is asked since %d, want %d", name, since, want)
		}
	}
	opens := 0
	for _, e := range d.sent {
		if o, ok := e.(peer.OpenNeg); ok {
			opens++
			if len(o.Filter.Tags[0].Values) != 1 || o.Filter.Since != nil {
				t.Errorf("reconciles %s", o.Filter.AppendJSON(nil))
			}
		}
	}
	if opens != 3 {
		t.Errorf("%d reconciliations for one new root event", opens)
	}
}

// The mark stands still until every query of a quick reconnect is answered; a
// connection that is lost before keeps the older mark.
func TestQuickReconnectBroken(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{})
	d.connect(w, capacity.Limits{})
	d.do(peer.Alive{})
	mark := d.clock
	d.do(peer.Disconnected{Reason: "reset"})
	d.pass(10 * time.Minute)
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class != peer.Live && len(r.Filters[0].Tags) > 0 && r.Filters[0].Tags[0].Name == 'E' {
			return nostr.Notice{Text: "hm"} // and no answer
		}
		return nil
	}
	d.do(peer.Connected{})
	d.do(peer.Alive{})
	if got := d.peer.Mark(); got != mark || d.peer.AllConfirmed() {
		t.Errorf("the mark moved to %v, settled %v", got, d.peer.AllConfirmed())
	}
	if got := d.peer.Status().LastAlive; !got.Equal(d.clock.Wall) {
		t.Errorf("heard now, and last alive %v", got)
	}
	d.do(peer.Disconnected{Reason: "reset"})
	d.pass(time.Minute)
	d.refuse, d.sent = nil, nil
	d.do(peer.Connected{})
	for name, since := range sinces(d.requests(peer.Catchup)) {
		want := mark.Wall.Add(-15 * time.Minute).Unix()
		if read := want + 600; since != want && (since != read || strings.Contains(name, "#E")) { // what the broken connection has read counts
			t.Errorf("%s is asked since %d, want %d", name, since, want)
		}
	}
	d.do(peer.Alive{})
	if got := d.peer.Mark(); got != d.clock {
		t.Errorf("all is answered, and the mark is %v", got)
	}
	// Older than 15 minutes: everything.
	d.do(peer.Disconnected{Reason: "reset"})
	d.pass(15 * time.Minute)
	d.sent = nil
	d.do(peer.Connected{})
	if n := len(d.requests(peer.Catchup)); n != 0 {
		t.Errorf("%d queries by REQ of a relay that reconciles", n)
	}
	if !d.peer.AllConfirmed() {
		t.Error("not settled")
	}
}

func TestFullResync(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(w, capacity.Limits{})
	d.sent = nil
	d.pass(23*time.Hour - time.Second)
	if n := len(d.sent); n != 0 {
		t.Errorf("%d effects before the resync", n)
	}
	d.pass(2*time.Hour + time.Minute)
	daily := d.requests(peer.Daily)
	if len(daily) != 9 || len(d.requests(peer.Live)) != 0 || !d.peer.AllConfirmed() {
		t.Errorf("%d daily queries, %d live REQs, settled %v", len(daily), len(d.requests(peer.Live)), d.peer.AllConfirmed())
	}
	d.sent = nil
	d.pass(25 * time.Hour)
	if len(d.requests(peer.Daily)) != 9 {
		t.Errorf("the next day: %d queries", len(d.requests(peer.Daily)))
	}
}

func TestClockSlip(t *testing.T) {
	for _, slip := range []time.Duration{6 * time.Minute, -6 * time.Minute, 24 * time.Hour, 4 * time.Minute} {
		_, w := small(t, 3)
		d := newDriver(t, peer.Config{NoNegentropy: true})
		d.connect(w, capacity.Limits{})
		d.pass(time.Hour)
		d.sent = nil
		d.clock.Wall = d.clock.Wall.Add(slip)
		d.do(peer.Alive{})
		want := 9
		if slip == 4*time.Minute {
			want = 0
		}
		if n := len(d.requests(peer.Catchup)); n != want {
			t.Errorf("slip of %v: %d queries, want %d", slip, n, want)
		}
		// While not connected, too.
		d.do(peer.Disconnected{Reason: "reset"})
		d.clock.Wall = d.clock.Wall.Add(slip)
		d.pass(time.Minute)
		d.sent = nil
		d.do(peer.Connected{})
		for name, since := range sinces(d.requests(peer.Catchup)) {
			if since == 0 != (want > 0) {
				t.Errorf("slip of %v: %s is asked since %d", slip, name, since)
			}
		}
	}
}

func TestLiveWithoutEOSE(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class == peer.Live {
			return nostr.Notice{Text: "welcome"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	d.pass(5*time.Second - 1)
	if n := len(d.requests(peer.Catchup)); n != 0 {
		t.Errorf("%d stored queries before the live REQ counts as open", n)
	}
	d.pass(1)
	if !d.peer.AllConfirmed() {
		t.Error("a missing EOSE is taken for a failure")
	}
}

func TestLiveEnded(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(w, capacity.Limits{})
	d.pass(time.Hour)
	sub := d.requests(peer.Live)[0].Sub
	lost := d.clock.Wall
	d.sent = nil
	d.do(peer.Frame{Message: nostr.Closed{Sub: sub, Reason: "error: restarting"}})
	if d.peer.AllConfirmed() || len(d.requests(peer.Live)) != 0 {
		t.Error("an ended live REQ counts as open, or is repeated at once")
	}
	d.pass(time.Minute)
	if len(d.requests(peer.Live)) != 1 || !d.peer.AllConfirmed() {
		t.Fatalf("%d live REQs after a minute", len(d.requests(peer.Live)))
	}
	for name, since := range sinces(d.requests(peer.Catchup)) {
		if want := lost.Add(-15 * time.Minute).Unix(); since != want {
			t.Errorf("%s is asked since %d, want %d", name, since, want)
		}
	}
}

func TestLimitZeroRefused(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class == peer.Live && *r.Filters[0].Limit == 0 {
			return nostr.Closed{Sub: r.Sub, Reason: "invalid limit 0"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	d.pass(time.Minute)
	if !d.peer.AllConfirmed() {
		t.Error("a relay that refuses limit 0 is not followed")
	}
}

// Every way of saying "too many subscriptions": what is live stays within it,
// and everything is followed or polled.
func TestTooManySubscriptions(t *testing.T) {
	for _, how := range []string{"closed", "notice", "late"} {
		for _, most := range []int{1, 2, 3, 4, 6} {
			t.Run(fmt.Sprintf("%s %d", how, most), func(t *testing.T) {
				f, _ := small(t, 700)
				d := newDriver(t, peer.Config{NoNegentropy: true, MaxTags: 20})
				d.refuse = func(r peer.Request) nostr.RelayMessage {
					if len(d.open) <= most {
						return nil
					}
					switch how {
					case "closed":
						return nostr.Closed{Sub: r.Sub, Reason: "ERROR: too many concurrent REQs"}
					case "late":
						d.frame(nostr.EOSE{Sub: r.Sub})
					}
					return nostr.Notice{Text: "ERROR: too many concurrent REQs"}
				}
				d.connect(f.Wants[here], capacity.Limits{})
				d.pass(20 * time.Minute)
				if !d.peer.AllConfirmed() {
					t.Fatalf("not settled: %+v", d.peer.Status())
				}
				live := 0
				for _, q := range d.open {
					if q.Class == peer.Live {
						live++
					}
				}
				if live > most || live < min(2, most-3) {
					t.Errorf("%d live REQs", live)
				}
			})
		}
	}
}

func TestRateLimited(t *testing.T) {
	_, w := small(t, 500)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	n := 0
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class != peer.Live {
			if n++; n == 5 {
				return nostr.Closed{Sub: r.Sub, Reason: "rate-limited: slow down"}
			}
		}
		return nil
	}
	d.serve = func(_ string, filters []nostr.Filter) []*nostr.Event {
		if len(filters[0].Tags) == 0 || filters[0].Until != nil || filters[0].Since != nil {
			return nil
		}
		return []*nostr.Event{{ID: nostr.ID{byte(n)}, CreatedAt: 5}} // so that there is more to ask
	}
	d.connect(w, capacity.Limits{})
	if n > 7 {
		t.Errorf("%d queries after the relay asked to slow down", n-5)
	}
	before := len(d.requests(peer.Catchup))
	d.pass(65*time.Second - 1)
	if len(d.requests(peer.Catchup)) != before || d.peer.AllConfirmed() {
		t.Errorf("%d queries, then %d while asked to slow down", before, len(d.requests(peer.Catchup)))
	}
	live := 0
	for _, q := range d.open {
		if q.Class == peer.Live {
			live++
		}
	}
	if live == 0 || d.peer.Status().Failures != 0 {
		t.Errorf("%d live REQs, %+v", live, d.peer.Status())
	}
	d.pass(1)
	if !d.peer.AllConfirmed() {
		t.Error("not carried on")
	}
}

// While the relay wants a pause, what is running stops after its answer, and
// afterwards half as much is asked at once.
func TestPauseStopsWhatRuns(t *testing.T) {
	_, w := small(t, 300)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	var sent []string
	waiting := func(r peer.Request) nostr.RelayMessage {
		if r.Class == peer.Live {
			return nil
		}
		sent = append(sent, r.Sub)
		return nostr.Notice{Text: "wait"}
	}
	d.refuse = waiting
	d.connect(w, capacity.Limits{})
	d.do(peer.Frame{Message: nostr.EOSE{Sub: sent[0]}}) // layer 1, alone
	if len(sent) != 3 {
		t.Fatalf("%d queries", len(sent))
	}
	d.do(peer.Frame{Message: nostr.Closed{Sub: sent[1], Reason: "rate-limited: slow down"}})
	d.do(peer.Received{Sub: sent[2], ID: nostr.ID{1}, At: 50})
	d.do(peer.Decided{Sub: sent[2], ID: nostr.ID{1}})
	d.do(peer.Frame{Message: nostr.EOSE{Sub: sent[2]}})
	d.pass(64 * time.Second)
	if len(sent) != 3 {
		t.Errorf("%d queries while asked to slow down", len(sent)-3)
	}
	d.pass(time.Second)
	if len(sent) != 4 {
		t.Errorf("%d queries at once afterwards", len(sent)-3)
	}
}

// A relay that is asked too much may have thrown away what was on its way: live
// REQs without EOSE are asked again.
func TestRateLimitedByNotice(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	first := true
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if first {
			first = false
			return nostr.Notice{Text: "rate limited"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	d.pass(64 * time.Second)
	if n := len(d.sent); len(d.requests(peer.Live)) != 1 || len(d.requests(peer.Catchup)) != 0 {
		t.Errorf("%d effects while asked to slow down", n)
	}
	d.pass(time.Second)
	if len(d.requests(peer.Live)) != 2 || !d.peer.AllConfirmed() {
		t.Errorf("%d live REQs, settled %v", len(d.requests(peer.Live)), d.peer.AllConfirmed())
	}
}

// What a lower layer brings decides what the next one accepts.
func TestLayersInOrder(t *testing.T) {
	_, w := small(t, 300)
	d := newDriver(t, peer.Config{})
	layer := func(f nostr.Filter) int {
		switch {
		case len(f.Tags) == 0:
			return 1
		case len(f.Tags[0].Values[0]) < 64 || f.Tags[0].Name == 'a' || f.Tags[0].Values[0][5] == ':':
			return 2
		}
		return 3
	}
	var held []string // open reconciliations, which are answered late
	reached := 0
	d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if n := layer(e.Filter); n > reached {
			if len(held) > 0 {
				t.Errorf("layer %d begins while %d of the last are open", n, len(held))
			}
			reached = n
		}
		d.sets[e.Sub] = set(nil, e.Filter)
		held = append(held, e.Sub)
		return nostr.Notice{Text: "wait"}
	}
	d.connect(w, capacity.Limits{})
	for range 100 {
		if len(held) == 0 {
			break
		}
		sub := held[0]
		held = held[1:]
		d.negMsg(sub, []byte{0x61})
		d.do(peer.Alive{})
	}
	if !d.peer.AllConfirmed() || reached != 3 {
		t.Errorf("reached layer %d, %+v", reached, d.peer.Status())
	}
}

// CLOSED after EOSE is normal, and the events that came count all the same.
func TestClosedAfterEOSE(t *testing.T) {
	_, w := small(t, 0)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	var sub string
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class != peer.Live && sub == "" {
			sub = r.Sub
			return nostr.Notice{Text: "wait"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	d.do(peer.Received{Sub: sub, ID: nostr.ID{1}, At: 5})
	d.do(peer.Frame{Message: nostr.EOSE{Sub: sub}})
	d.do(peer.Frame{Message: nostr.EOSE{Sub: sub}})
	d.do(peer.Frame{Message: nostr.Closed{Sub: sub}})
	d.do(peer.Decided{Sub: sub, ID: nostr.ID{1}})
	if !d.peer.AllConfirmed() {
		t.Error("not settled")
	}
}

// So is one that falls into the time in which a lost live REQ waits.
func TestResyncWhileALiveREQWaits(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(w, capacity.Limits{})
	d.pass(d.dailyAt(w) - 30*time.Second)
	d.do(peer.Frame{Message: nostr.Closed{Sub: d.requests(peer.Live)[0].Sub, Reason: "error: restarting"}})
	d.sent = nil
	d.pass(2 * time.Minute)
	asked := sinces(d.requests(peer.Catchup, peer.Daily))
	for name, since := range asked {
		if since != 0 {
			t.Errorf("%s is asked since %d", name, since)
		}
	}
	if len(asked) != 8 || !d.peer.AllConfirmed() {
		t.Errorf("asked %v", asked)
	}
}

// A full resync that falls into a quick reconnect is not lost with the connection.
func TestResyncDuringReconnect(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(w, capacity.Limits{})
	d.pass(d.dailyAt(w) - time.Minute)
	d.do(peer.Alive{})
	d.do(peer.Disconnected{Reason: "reset"})
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class != peer.Live {
			return nostr.Notice{Text: "no answer"}
		}
		return nil
	}
	d.pass(30 * time.Second)
	d.do(peer.Connected{})
	d.pass(time.Minute) // the resync is due
	d.do(peer.Disconnected{Reason: "reset"})
	d.refuse, d.sent = nil, nil
	d.pass(30 * time.Second)
	d.do(peer.Connected{})
	for name, since := range sinces(d.requests(peer.Catchup, peer.Daily)) {
		if since != 0 {
			t.Errorf("%s is asked since %d", name, since)
		}
	}
}

// daily says whether a full resync was begun.
func (d *driver) daily() bool { return len(d.requests(peer.Daily)) > 0 }

// dailyAt finds out when the first full resync of such a peer comes.
func (d *driver) dailyAt(w *peer.Want) time.Duration {
	x := newDriver(d.t, peer.Config{NoNegentropy: true})
	x.connect(w, capacity.Limits{})
	for !x.daily() {
		x.pass(time.Second)
	}
	return x.clock.Mono
}

func TestRefusedForADay(t *testing.T) {
	for _, text := range []string{"restricted: not you", "auth-required: who"} {
		_, w := small(t, 3)
		d := newDriver(t, peer.Config{NoNegentropy: true})
		refused := 0
		d.refuse = func(r peer.Request) nostr.RelayMessage {
			if r.Class != peer.Live && len(r.Filters[0].Tags) > 0 && r.Filters[0].Tags[0].Name == 'A' {
				refused++
				return nostr.Closed{Sub: r.Sub, Reason: text}
			}
			return nil
		}
		d.connect(w, capacity.Limits{})
		d.pass(20 * time.Hour)
		if s := d.peer.Status(); refused != 1 || s.Confirmed.Roots != 3 || s.Confirmed.Repositories != 0 {
			t.Errorf("%s: asked %d times, %+v", text, refused, s)
		}
	}
}

func TestFailedRequestIsTriedAgain(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	var at []time.Duration
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class == peer.Catchup && len(r.Filters[0].Tags) > 0 && r.Filters[0].Tags[0].Name == 'A' {
			at = append(at, d.clock.Mono)
			if len(at)%2 == 0 {
				return nostr.Closed{Sub: r.Sub, Reason: "error: database"}
			}
			return nostr.Notice{Text: "silence"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	d.pass(20 * time.Hour)
	for i, want := range []time.Duration{90, 120, 270, 480, 990, 1920, 3630, 3600, 3630} {
		if i+1 >= len(at) {
			t.Fatalf("asked %d times", len(at))
		}
		if got := at[i+1] - at[i]; got != want*time.Second {
			t.Errorf("try %d comes %v after the last, want %v", i+2, got, want*time.Second)
		}
	}
	if s := d.peer.Status(); s.Confirmed.Roots != 3 || s.Confirmed.Repositories != 0 || !s.Connected {
		t.Errorf("%+v", s)
	}
}

func TestVerdictsComeFirst(t *testing.T) {
	_, w := small(t, 0)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	var sub string
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class != peer.Live && len(r.Filters[0].Tags) == 0 && sub == "" {
			sub = r.Sub
			return nostr.Notice{Text: "wait"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	d.do(peer.Received{Sub: sub, ID: nostr.ID{1}, At: 100})
	d.do(peer.Frame{Message: nostr.EOSE{Sub: sub}})
	d.pass(10 * time.Minute) // our own door takes its time
	if d.peer.AllConfirmed() || len(d.requests(peer.Catchup)) != 1 {
		t.Fatal("an undecided event does not count")
	}
	d.do(peer.Decided{Sub: sub, ID: nostr.ID{1}, Outcome: policy.Refuse})
	if !d.peer.AllConfirmed() {
		t.Error("not settled after the verdict")
	}
}

func TestEventThatCouldNotBeStored(t *testing.T) {
	_, w := small(t, 0)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	fail := true
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class != peer.Live && len(r.Filters[0].Tags) == 0 && fail {
			d.queue = append(d.queue, peer.Received{Sub: r.Sub, ID: nostr.ID{1}, At: 100}, peer.Decided{Sub: r.Sub, ID: nostr.ID{1}, Outcome: policy.Discard, Failed: true})
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	if d.peer.AllConfirmed() {
		t.Error("confirmed although an event is not here")
	}
	fail = false
	d.pass(time.Minute)
	if !d.peer.AllConfirmed() {
		t.Error("not asked again")
	}
	// A live one as well, even where little was asked since a reconnect.
	d.do(peer.Disconnected{Reason: "reset"})
	d.sent = nil
	d.pass(time.Minute)
	d.do(peer.Connected{})
	live := d.requests(peer.Live)[0].Sub
	d.do(peer.Received{Sub: live, ID: nostr.ID{2}, At: 100})
	d.do(peer.Decided{Sub: live, ID: nostr.ID{2}, Outcome: policy.Discard, Failed: true})
	if d.peer.AllConfirmed() {
		t.Error("still confirmed although a live event is not here")
	}
	d.sent = nil
	d.pass(time.Minute)
	for name, since := range sinces(d.requests(peer.Catchup)) {
		if since != 0 {
			t.Errorf("%s is asked since %d", name, since)
		}
	}
	if !d.peer.AllConfirmed() {
		t.Error("not settled in the end")
	}
}

func TestBadFrames(t *testing.T) {
	tests := []struct {
		name      string
		good, bad int
		spread    time.Duration
		hangsUp   bool
	}{
		{"a few", 0, 99, 0, false}, {"a hundred more than good", 0, 100, 0, true}, {"among good ones", 950, 999, 0, false},
		{"a thousand", 5000, 1000, 0, true}, {"slowly", 0, 300, time.Minute, false},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			_, w := small(t, 0)
			d := newDriver(t, peer.Config{NoNegentropy: true})
			d.connect(w, capacity.Limits{})
			for range c.good {
				d.do(peer.Received{Sub: "l1"})
				d.do(peer.Decided{Sub: "l1", Outcome: policy.Duplicate})
			}
			for range c.bad {
				if !d.peer.Status().Connected {
					break
				}
				d.do(peer.Unasked{Count: 1})
				d.pass(c.spread)
			}
			s := d.peer.Status()
			if s.Connected == c.hangsUp || c.hangsUp && s.Failures != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
	t.Run("forged events", func(t *testing.T) {
		_, w := small(t, 0)
		d := newDriver(t, peer.Config{NoNegentropy: true})
		d.connect(w, capacity.Limits{})
		n := 0
		for ; d.peer.Status().Connected && n < 30_000; n++ {
			id := nostr.ID{byte(n), byte(n >> 8), byte(n >> 16)}
			for range 2 {
				d.do(peer.Received{Sub: "l1", ID: id})
				d.do(peer.Decided{Sub: "l1", ID: id, Outcome: policy.Invalid})
			}
		}
		if n < unsolicited.MostForged || n == 30_000 {
			t.Errorf("%d forged events are borne", n)
		}
	})
}

// A relay that floods whenever it is connected backs off, whatever else it answers.
func TestFloodsAreForgivenByTimeOnly(t *testing.T) {
	for name, flood := range map[string]peer.Input{
		"messages": peer.Unasked{Count: 1000},
		"frames":   peer.Disconnected{Reason: "too many frames", Flood: true},
	} {
		t.Run(name, func(t *testing.T) { forgivenByTimeOnly(t, flood) })
	}
}

func forgivenByTimeOnly(t *testing.T, flood peer.Input) {
	f, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	d.connect(w, capacity.Limits{})
	for i, want := range []time.Duration{5, 10, 20, 40} {
		d.do(flood)
		if at, _ := d.peer.Wake(); !about(at-d.clock.Mono, want*time.Second) {
			t.Errorf("flood %d: waits %v", i+1, at-d.clock.Mono)
		}
		f.AddAll(f.Issue(int64(10+i), address(key(0), "x"))).Step() // something new to confirm
		d.do(peer.Wanted{Want: f.Wants[here]})
		d.pass(want * time.Second * 5 / 4)
		d.do(peer.Connected{})
		if !d.peer.AllConfirmed() {
			t.Fatal("not settled")
		}
	}
	d.pass(5 * time.Minute)
	if s := d.peer.Status(); s.Failures != 0 {
		t.Errorf("after five minutes: %+v", s)
	}
}

func TestNoNegentropy(t *testing.T) {
	answers := map[string]func(sub string) nostr.RelayMessage{
		"notice":    func(string) nostr.RelayMessage { return nostr.Notice{Text: "could not parse command"} },
		"closed":    func(sub string) nostr.RelayMessage { return nostr.Closed{Sub: sub, Reason: "unsupported: no"} },
		"neg-err":   func(sub string) nostr.RelayMessage { return nostr.NegErr{Sub: sub, Reason: "blocked: no"} },
		"neg-close": func(sub string) nostr.RelayMessage { return nostr.NegClose{Sub: sub} },
		"silence":   func(string) nostr.RelayMessage { return nostr.Notice{Text: "nice weather"} },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			_, w := small(t, 300)
			d := newDriver(t, peer.Config{})
			opens := 0
			d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
				opens++
				return answer(e.Sub)
			}
			d.connect(w, capacity.Limits{})
			d.pass(31 * time.Second)
			s := d.peer.Status()
			if !d.peer.AllConfirmed() || s.Negentropy != "refused" || opens > 3 {
				t.Errorf("settled %v, %d NEG-OPENs, %+v", d.peer.AllConfirmed(), opens, s)
			}
			said := 0
			for _, r := range d.reports {
				if strings.Contains(r.Text, "does not compare sets") {
					said++
				}
			}
			if said != 1 {
				t.Errorf("said %d times", said)
			}
			// It is tried again a day later.
			opens, d.negFault = 0, nil
			d.pass(26 * time.Hour)
			if d.peer.Status().Negentropy != "works" {
				t.Error("not tried again at the full resync")
			}
		})
	}
	t.Run("drop", func(t *testing.T) {
		_, w := small(t, 300)
		d := newDriver(t, peer.Config{})
		d.negFault = func(peer.OpenNeg) nostr.RelayMessage { return nostr.Notice{Text: "?"} }
		d.connect(w, capacity.Limits{})
		d.do(peer.Disconnected{Reason: "reset"})
		d.pass(time.Minute)
		d.do(peer.Connected{})
		if !d.peer.AllConfirmed() || d.peer.Status().Negentropy != "refused" {
			t.Errorf("%+v", d.peer.Status())
		}
	})
}

func TestSessionLostToARace(t *testing.T) {
	_, w := small(t, 300)
	d := newDriver(t, peer.Config{})
	lost := map[string]bool{}
	d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		if k := e.Filter.Key(); !lost[k] {
			lost[k] = true
			return nostr.NegErr{Sub: e.Sub, Reason: "CLOSED"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	if s := d.peer.Status(); s.Negentropy != "works" || !d.peer.AllConfirmed() || len(d.requests(peer.Catchup)) != 0 {
		t.Errorf("%d queries by REQ, %+v", len(d.requests(peer.Catchup)), s)
	}
}

func TestUptime(t *testing.T) {
	_, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	if d.peer.Status().Uptime != nil {
		t.Error("known before any time has passed")
	}
	d.do(peer.Tick{})
	d.pass(time.Hour)
	d.do(peer.Wanted{Want: w}) // what was before counts for nothing
	d.pass(30 * time.Second)
	d.do(peer.Connected{})
	d.pass(3 * time.Minute)
	d.do(peer.Disconnected{Reason: "reset"})
	d.at(d.clock.Mono + 5*time.Second)
	d.do(peer.DialFailed{Reason: "refused"}) // nothing was dialed
	d.at(d.clock.Mono + 25*time.Second)
	d.do(peer.Tick{})
	u := d.peer.Record().Uptime
	if u.Connected != 3*time.Minute || u.Not != time.Minute {
		t.Errorf("%+v", u)
	}
	if r := d.peer.Status().Uptime; r == nil || *r != 0.75 {
		t.Errorf("%+v", d.peer.Status())
	}
	d.do(peer.Wanted{})
	d.pass(time.Hour)
	d.do(peer.Tick{})
	if got := d.peer.Record().Uptime; got != u {
		t.Errorf("wanted no more, and yet %+v", got)
	}
}
