package plan

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/health"
	"github.com/graspd/graspd/internal/nostr"
)

// newDialing returns one that has never dialed, and a function that lets time pass.
func newDialing() (d *dialing, pass func(time.Duration)) {
	at := time.Unix(1_700_000_000, 0)
	d = &dialing{desk: &desk{cfg: Config{URL: "wss://r.example.net", Self: nostr.PubKey{1}}.withDefaults(), now: health.Now{Wall: at, Mono: time.Hour}}}
	return d, func(by time.Duration) {
		d.start(health.Now{Wall: d.now.Wall.Add(by), Mono: d.now.Mono + by})
	}
}

// TestADialAfterFailures comes later each time, and a connection that lasts, progress and a visit make up for them.
func TestADialAfterFailures(t *testing.T) {
	d, pass := newDialing()
	last := time.Duration(0)
	for n := 1; n <= 5; n++ {
		d.failed("no route")
		wait := d.at - d.now.Mono
		if wait <= last || d.failures.N != n || d.trouble() != "no route" || d.failingSince().IsZero() {
			t.Errorf("failure %d: a wait of %v after %v, for %q", n, wait, last, d.trouble())
		}
		last = wait
		pass(wait)
	}
	if w := d.calm(d.now); w != d.now.Mono+stableAfter {
		t.Errorf("a connection makes up for failures at %v", w)
	}
	d.stable()
	if d.failures.N != 0 || d.trouble() != "" || !d.failingSince().IsZero() || d.calm(d.now) != never {
		t.Errorf("after a stable connection %+v", d)
	}
	d.failed("end of file")
	d.visited()
	if d.failures.N != 0 || d.at != d.now.Mono || d.trouble() != "" {
		t.Errorf("after a visit %+v", d)
	}
}

// TestSlowDownInsteadOfAConnection is no failure, as often as the relay is believed.
func TestSlowDownInsteadOfAConnection(t *testing.T) {
	d, pass := newDialing()
	for n := range mostSlowed {
		wait, ok := d.slowed()
		if !ok || d.at != d.now.Mono+wait || d.failures.N != 0 || d.trouble() == "" {
			t.Fatalf("%d times: %v, %v", n+1, wait, ok)
		}
		pass(wait)
	}
	if _, ok := d.slowed(); ok {
		t.Error("a relay asks to slow down for ever")
	}
	d.connected()
	if _, ok := d.slowed(); !ok || d.slowedBy != 1 {
		t.Error("a connection does not count")
	}
}

// TestADialThatAPersonAskedFor is made at once, and does not put off the one that was planned.
func TestADialThatAPersonAskedFor(t *testing.T) {
	d, _ := newDialing()
	for range 4 {
		d.failed("no route")
	}
	planned := d.at
	d.retry(true)
	if d.at != d.now.Mono {
		t.Errorf("asked for at %v, and dialed at %v", d.now.Mono, d.at)
	}
	d.failed("no route")
	if d.at != planned || d.failures.N != 4 {
		t.Errorf("dialed at %v, where %v was planned; %d failures", d.at, planned, d.failures.N)
	}
	d.at = 0
	if d.retry(false); d.at != 0 {
		t.Errorf("a dial that is due is put off to %v", d.at)
	}
}

// TestWhatIsKeptOfDialing comes back over a restart.
func TestWhatIsKeptOfDialing(t *testing.T) {
	d, pass := newDialing()
	d.failed("no route")
	pass(time.Second)
	d.failed("no route")
	d.owners, d.revived = owners{nostr.PubKey{2}: {}}, d.now
	d.isOurself()
	r := Record{At: d.now.Wall}
	d.note(&r, false)
	again, _ := newDialing()
	again.now = health.Now{Wall: d.now.Wall, Mono: 0}
	again.recall(r)
	if again.at != d.at-d.now.Mono || again.failures.N != 2 || again.trouble() != "no route" || !again.ourself || len(again.owners) != 1 ||
		!again.failingSince().Equal(d.failingSince()) || !again.revived.Wall.Equal(d.revived.Wall) {
		t.Errorf("%+v of %+v", again, d)
	}
	open := Record{At: d.now.Wall}
	if d.note(&open, true); !open.NextAttempt.IsZero() {
		t.Error("a relay that is connected is to be dialed")
	}
}
