package peer_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/history"
)

// reborn is a driver whose peer begins with what the one of d left behind, after
// so much time in which nobody looked. Its clock counts from another point.
func (d *driver) reborn(c peer.Config, gap time.Duration, change func(*history.Record)) *driver {
	d.t.Helper()
	c.Past = d.peer.Record()
	if change != nil {
		change(&c.Past)
	}
	n := newDriver(d.t, c)
	n.clock = backoff.Now{Mono: 7 * time.Hour, Wall: d.clock.Wall.Add(gap)}
	return n
}

// failing is a driver whose relay refused n dials, and waits for the next.
func failing(t *testing.T, n int) (*driver, *peer.Want) {
	t.Helper()
	_, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	d.do(peer.Wanted{Want: w})
	for range n - 1 {
		d.fails()
	}
	d.do(peer.DialFailed{Reason: "refused"})
	return d, w
}

// wait is how long the peer waits for its next dial.
func (d *driver) wait() time.Duration {
	d.t.Helper()
	at, ok := d.peer.Wake()
	if !ok {
		d.t.Fatal("never dials")
	}
	return at - d.clock.Mono
}

func TestBackoffOutlivesThePeer(t *testing.T) {
	d, w := failing(t, 6)
	wait := d.wait()
	for name, c := range map[string]struct {
		gap    time.Duration
		change func(*history.Record)
		want   time.Duration
	}{
		"at once":         {0, nil, wait},
		"later":           {time.Minute, nil, wait - time.Minute},
		"when it is due":  {wait, nil, 0},
		"long after":      {240 * time.Hour, nil, 0},
		"clock far back":  {-2400 * time.Hour, nil, time.Hour + 15*time.Minute},
		"clock set on":    {2400 * time.Hour, nil, 0},
		"absurd next":     {0, func(r *history.Record) { r.NextAttempt = r.NextAttempt.AddDate(400, 0, 0) }, time.Hour + 15*time.Minute},
		"after a restart": {0, func(r *history.Record) { *r = r.Restarted(peer.Defaults().Backoff()) }, wait},
	} {
		n := d.reborn(peer.Config{}, c.gap, c.change)
		n.do(peer.Wanted{Want: w})
		if c.want == 0 {
			if n.dials() != 1 {
				t.Errorf("%s: not dialed", name)
			}
		} else if got := n.wait(); n.dials() != 0 || got != c.want {
			t.Errorf("%s: %d dials, waits %v, want %v", name, n.dials(), got, c.want)
		}
		if s := n.peer.Status(); s.Failures != 6 || s.Health != status.Degraded {
			t.Errorf("%s: %+v", name, s)
		}
		if c.want == 0 {
			if got := n.fails(); !about(got, 5*64*time.Second) {
				t.Errorf("%s: then it waits %v", name, got)
			}
		}
	}
}

// The pause that a relay asked for is not forgotten either; and a healthy one is dialed at once.
func TestRecordsOfRelaysThatDidNotFail(t *testing.T) {
	_, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	d.do(peer.Wanted{Want: w})
	d.do(peer.DialFailed{Reason: "429", SlowIt: true})
	n := d.reborn(peer.Config{}, 20*time.Second, nil)
	n.do(peer.Wanted{Want: w})
	if got := n.wait(); got != 45*time.Second || n.peer.Status().Failures != 0 {
		t.Errorf("waits %v", got)
	}
	d.pass(65 * time.Second)
	d.do(peer.Connected{})
	if r := d.peer.Record(); !r.NextAttempt.IsZero() || r.Failures != 0 || !r.FirstFailure.IsZero() || !r.LastAlive.Equal(d.clock.Wall) {
		t.Errorf("connected: %+v", r)
	}
	n = d.reborn(peer.Config{}, time.Hour, nil)
	n.do(peer.Wanted{Want: w})
	if n.dials() != 1 {
		t.Error("a healthy relay is not dialed at once")
	}
	if s := n.peer.Status(); !s.LastAlive.Equal(d.clock.Wall) {
		t.Errorf("last alive %v", s.LastAlive)
	}
}

func TestDeadRelayAfterARestart(t *testing.T) {
	d, w := failing(t, 60)
	r := d.peer.Record()
	if !r.Dead(peer.Defaults().Backoff()) || r.Failures != 60 || d.wait() != 24*time.Hour {
		t.Fatalf("after 60 failures: %+v", r)
	}
	n := d.reborn(peer.Config{}, time.Minute, nil)
	n.do(peer.Wanted{Want: w})
	if got := n.wait(); got != 24*time.Hour-time.Minute {
		t.Errorf("in the same process it waits %v", got)
	}
	n = d.reborn(peer.Config{}, -1000*time.Hour, nil)
	n.do(peer.Wanted{Want: w})
	if got := n.wait(); got != 24*time.Hour {
		t.Errorf("with the clock set back it waits %v", got)
	}
	n = d.reborn(peer.Config{}, time.Minute, func(r *history.Record) { *r = r.Restarted(peer.Defaults().Backoff()) })
	n.do(peer.Wanted{Want: w})
	if n.dials() != 1 || n.peer.Status().Health != status.Dead {
		t.Errorf("%d dials after a restart, %+v", n.dials(), n.peer.Status())
	}
	if got := n.fails(); got != 24*time.Hour {
		t.Errorf("still failing, it waits %v", got)
	}
}

// A relay that failed for a while before graspd was off for days has not failed for days.
func TestTimeOffIsNoFailure(t *testing.T) {
	d, w := failing(t, 14)
	for _, gap := range []time.Duration{100 * time.Hour, -100 * time.Hour} {
		n := d.reborn(peer.Config{}, gap, func(r *history.Record) { r.NextAttempt = time.Time{} })
		n.do(peer.Wanted{Want: w})
		n.do(peer.DialFailed{Reason: "the network is not up yet"})
		if s := n.peer.Status(); s.Health != status.Degraded || n.wait() > 75*time.Minute {
			t.Errorf("off for %v: %+v, waits %v", gap, s, n.wait())
		}
		before := d.peer.Record().Failing()
		if got := n.peer.Record().Failing(); got != before {
			t.Errorf("off for %v: failing for %v, before %v", gap, got, before)
		}
		n.pass(24*time.Hour - before - time.Second)
		n.do(peer.Tick{})
		if s := n.peer.Status(); s.Health != status.Degraded {
			t.Errorf("dead before its time: %+v", s)
		}
		n.pass(time.Second)
		n.do(peer.Tick{})
		if s := n.peer.Status(); s.Health != status.Dead {
			t.Errorf("not dead after 24 h: %+v", s)
		}
	}
}

func TestUptimeOutlivesThePeer(t *testing.T) {
	_, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	d.connect(w, capacity.Limits{})
	d.pass(3 * time.Minute)
	d.do(peer.Tick{})
	n := d.reborn(peer.Config{}, 50*time.Hour, nil)
	n.do(peer.Wanted{Want: w})
	n.pass(time.Minute)
	n.do(peer.Tick{})
	if u := n.peer.Record().Uptime; u.Connected != 3*time.Minute || u.Not != time.Minute {
		t.Errorf("%+v", u)
	}
}

// Owners who named a dead relay before do not have it tried, however they come and go.
func TestOwnersThatComeAndGoDoNotReviveADeadRelay(t *testing.T) {
	f, w := small(t, 1)
	d := newDriver(t, peer.Config{})
	d.do(peer.Wanted{Want: w})
	for range 60 {
		d.fails()
	}
	d.do(peer.DialFailed{Reason: "refused"})
	at := int64(1)
	name := func(owner int, relays ...string) {
		at++
		f.AddAll(f.Announce(key(owner), "y", at, append([]string{us}, relays...))).Step()
	}
	gain := func() int {
		before := d.dials()
		d.do(peer.Wanted{Want: f.Wants[here]})
		return d.dials() - before
	}
	name(1, string(here))
	if gain() != 1 {
		t.Fatal("a new owner does not have it tried")
	}
	d.do(peer.DialFailed{Reason: "refused"})
	for range 5 {
		d.pass(2 * time.Hour)
		name(1)
		gain()
		name(1, string(here))
		if gain() != 0 {
			t.Fatal("the same owner once more has it tried")
		}
	}
	// One goes and another comes: as many as before, and yet a new one.
	name(1)
	name(2, string(here))
	if gain() != 1 {
		t.Error("a new owner in the place of another does not have it tried")
	}
	d.do(peer.DialFailed{Reason: "refused"})
	// All that holds for the relay, not for the one who looks after it.
	d = d.reborn(peer.Config{}, time.Minute, nil)
	if gain() != 0 {
		t.Error("known owners have it tried by another peer")
	}
	name(3, string(here))
	if gain() != 0 {
		t.Error("tried twice within an hour")
	}
	d.pass(time.Hour)
	name(4, string(here))
	if gain() != 1 {
		t.Error("a new owner does not have it tried by another peer")
	}
}

// Nobody but the operator named it so far.
func TestFirstOwnerOfADeadBootstrapRelay(t *testing.T) {
	f := newFold(t, here)
	f.Step()
	d := newDriver(t, peer.Config{})
	d.do(peer.Wanted{Want: f.Wants[here]})
	for range 60 {
		d.fails()
	}
	d.do(peer.DialFailed{Reason: "refused"})
	d.do(peer.Wanted{Want: f.Wants[here]})
	f.AddAll(f.Announce(key(1), "y", 1, []string{us, string(here)})).Step()
	before := d.dials()
	d.do(peer.Wanted{Want: f.Wants[here]})
	if d.dials() != before+1 {
		t.Error("its first owner does not have it tried")
	}
}

// A relay whose peer begins anew every few hours comes to layer 4 all the same,
// once a day.
func TestLayerFourKeepsItsTimeOverRestarts(t *testing.T) {
	f := newForum(t, 1)
	like := f.reaction(f.events[2], key(50))
	f.theirs(like)
	begin := func(old *driver, away time.Duration, change func(*history.Record)) *driver {
		d := f.reader(t, 500)
		if old != nil {
			n := old.reborn(peer.Config{}, away, change)
			d.peer, d.clock = n.peer, n.clock
		}
		d.connect(f.want, capacity.Limits{})
		return d
	}
	rounds, d := 0, begin(nil, 0, nil)
	for i := range 21 { // three days of restarts, seven a day
		d.pass(3 * time.Hour)
		rounds += len(d.rounds())
		if i == 6 && rounds > 0 {
			t.Error("layer 4 on the first day")
		}
		d = begin(d, 26*time.Minute, nil)
	}
	if rounds < 2 || rounds > 3 || !f.has(like) {
		t.Errorf("%d rounds in three days", rounds)
	}
	for name, set := range map[string]time.Duration{"back": -24000 * time.Hour, "on": 24000 * time.Hour} {
		d := begin(d, 0, func(r *history.Record) { r.References = r.At.Add(-set) })
		d.pass(25 * time.Hour)
		if len(d.rounds()) == 0 {
			t.Errorf("a clock set %s puts layer 4 off", name)
		}
	}
}

// A relay that hangs up when it is asked to reconcile is paged by the peer that comes after, too, or it would hang up on
// every peer that gets a slot; it is asked to reconcile again by the full resync.
func TestHangingUpOutlivesThePeer(t *testing.T) {
	_, w := small(t, 2)
	opened := 0
	hangsUp := func(d *driver) *driver {
		d.hold = func(e peer.Effect) bool {
			if _, ok := e.(peer.OpenNeg); !ok {
				return false
			}
			opened++
			d.queue = append(d.queue, peer.Disconnected{Reason: "reset"})
			return true
		}
		return d
	}
	d := hangsUp(newDriver(t, peer.Config{}))
	d.connect(w, capacity.Limits{})
	next := hangsUp(d.reborn(peer.Config{}, 48*time.Hour, nil))
	next.do(peer.Wanted{Want: w})
	next.do(peer.Connected{})
	next.pass(10 * time.Second)
	if s := next.peer.Status(); opened != 1 || s.Want != s.Confirmed {
		t.Errorf("asked to reconcile %d times, %+v", opened, s)
	}
	next.pass(26 * time.Hour)
	if opened != 2 {
		t.Errorf("after a full resync asked to reconcile %d times", opened)
	}
}
