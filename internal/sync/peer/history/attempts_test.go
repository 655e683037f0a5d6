package history

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
)

var dialTerms = backoff.Policy{
	Self: nostr.PubKey{1}, URL: "wss://r.example.net",
	BaseBackoff: 5 * time.Second, MaxBackoff: time.Hour, DeadAfter: 24 * time.Hour, DeadRetry: 24 * time.Hour,
}

// begun is a reading of the clocks long after they began.
var begun = backoff.Now{Wall: time.Unix(1_700_000_000, 0), Mono: time.Hour}

// after is a reading so much later.
func after(now backoff.Now, d time.Duration) backoff.Now {
	return backoff.Now{Wall: now.Wall.Add(d), Mono: now.Mono + d}
}

// TestADialAfterFailures comes later each time, and a connection that lasts, progress and a visit make up for them.
func TestADialAfterFailures(t *testing.T) {
	a, now, last := NewAttempts(dialTerms), begun, time.Duration(0)
	for n := 1; n <= 5; n++ {
		wait := a.Failed(now, "no route")
		if wait <= last || a.At() != now.Mono+wait || a.Failures() != n || a.Trouble() != "no route" || !a.FailingSince(now).Equal(begun.Wall) {
			t.Errorf("failure %d: a wait of %v after %v, for %q", n, wait, last, a.Trouble())
		}
		last, now = wait, after(now, wait)
	}
	if at, ok := a.Calm(now); !ok || at != now.Mono+StableAfter {
		t.Errorf("a connection makes up for failures at %v, %v", at, ok)
	}
	a.Stable()
	if _, ok := a.Calm(now); ok || a.Failures() != 0 || a.Trouble() != "" || !a.FailingSince(now).IsZero() || a.Failing(now) != 0 {
		t.Errorf("after a stable connection %+v", a)
	}
	a.Failed(now, "end of file")
	a.Visited(now)
	if a.Failures() != 0 || a.At() != now.Mono || a.Trouble() != "" {
		t.Errorf("after a visit %+v", a)
	}
	a.Failed(now, "end of file")
	if a.Progress(); a.Failures() != 0 {
		t.Errorf("after progress %+v", a)
	}
	a.Failed(now, "a flood")
	a.Flooded()
	if a.Progress(); a.Failures() != 1 {
		t.Errorf("after progress of a relay that floods %+v", a)
	}
}

// TestALongReasonIsCut: strangers write it, and it is kept.
func TestALongReasonIsCut(t *testing.T) {
	a := NewAttempts(dialTerms)
	a.Failed(begun, string(make([]byte, 2*LongestCause)))
	if n := len(a.Trouble()); n > LongestCause {
		t.Errorf("%d bytes are kept", n)
	}
}

// TestSlowDownInsteadOfAConnection is no failure, as often as the relay is believed.
func TestSlowDownInsteadOfAConnection(t *testing.T) {
	a, now := NewAttempts(dialTerms), begun
	for n := range mostSlowed {
		wait, ok := a.Slowed(now)
		if !ok || a.At() != now.Mono+wait || a.Failures() != 0 || a.Trouble() == "" {
			t.Fatalf("%d times: %v, %v", n+1, wait, ok)
		}
		now = after(now, wait)
	}
	if _, ok := a.Slowed(now); ok {
		t.Error("a relay asks to slow down for ever")
	}
	a.Connected()
	if _, ok := a.Slowed(now); !ok || a.slowedBy != 1 {
		t.Error("a connection does not count")
	}
	a.Connected()
	if a.Visited(now); a.slowedBy != 0 || a.Trouble() != "" {
		t.Errorf("after a visit the relay is held to be slow: %+v", a)
	}
}

// TestADialThatAPersonAskedFor is made at once, and does not put off the one that was planned.
func TestADialThatAPersonAskedFor(t *testing.T) {
	a, now := NewAttempts(dialTerms), begun
	for range 4 {
		a.Failed(now, "no route")
	}
	planned := a.At()
	a.Retry(now, true)
	if a.At() != now.Mono {
		t.Errorf("asked for at %v, and dialed at %v", now.Mono, a.At())
	}
	now = after(now, time.Second)
	a.Failed(now, "no route")
	if a.At() != planned || a.Failures() != 4 {
		t.Errorf("dialed at %v, where %v was planned; %d failures", a.At(), planned, a.Failures())
	}
	a.Failed(now, "no route")
	if a.Failures() != 5 {
		t.Error("a failure that nobody asked for does not count")
	}
	a.at = 0
	if a.Retry(now, false); a.At() != 0 {
		t.Errorf("a dial that is due is put off to %v", a.At())
	}
}

// TestATryWhereNoneWasPlanned keeps no time: what was planned for a relay that was wanted before says nothing.
func TestATryWhereNoneWasPlanned(t *testing.T) {
	a := NewAttempts(dialTerms)
	for range 9 {
		a.Failed(begun, "no route")
	}
	a.Retry(begun, false)
	if a.Failed(begun, "no route"); a.At() <= begun.Mono || a.Failures() != 10 {
		t.Errorf("dialed at %v after %d failures", a.At(), a.Failures())
	}
}

// TestATryThatSucceeds is nobody's any more: what fails later is a failure like any other.
func TestATryThatSucceeds(t *testing.T) {
	a := NewAttempts(dialTerms)
	for range 9 {
		a.Failed(begun, "no route")
	}
	a.Retry(begun, true)
	a.Progress()
	if wait := a.Failed(begun, "end of file"); a.Failures() != 1 || wait > 10*time.Second {
		t.Errorf("failure %d, after which it waits %v", a.Failures(), wait)
	}
}

// TestASlowRelayThatAPersonAskedFor is left alone for no shorter than that, and is not held to have been asked too often.
func TestASlowRelayThatAPersonAskedFor(t *testing.T) {
	a := NewAttempts(dialTerms)
	for range 9 {
		a.Failed(begun, "no route")
	}
	planned := a.At()
	a.Retry(begun, true)
	if wait, ok := a.Slowed(begun); !ok || begun.Mono+wait != planned || a.slowedBy != 0 {
		t.Errorf("a wait of %v, %v, where %v was planned", wait, ok, planned-begun.Mono)
	}
}

// TestNewOwnersReviveADeadRelay once an hour, and those who named it before do not.
func TestNewOwnersReviveADeadRelay(t *testing.T) {
	a, now := NewAttempts(dialTerms), begun
	named := func(keys ...byte) *want.Want {
		w := &want.Want{}
		for _, k := range keys {
			w.Repos = append(w.Repos, &want.RepoWant{Owner: nostr.PubKey{k}})
		}
		return w
	}
	a.Failed(now, "no route")
	a.NoteOwners(now, named(1))
	if a.Revive(now, named(1, 2), false); a.At() == now.Mono {
		t.Error("a relay that is not dead is tried at once")
	}
	now = after(now, 25*time.Hour)
	a.Failed(now, "no route")
	if !a.Dead(now) {
		t.Fatal("the relay is not dead")
	}
	a.NoteOwners(now, nil)
	a.NoteOwners(now, named(1))
	for _, c := range []struct {
		after     time.Duration
		owners    []byte
		connected bool
		dialed    bool
	}{
		{0, []byte{1}, false, false},
		{0, []byte{1, 2}, false, true},
		{2 * time.Hour, []byte{2}, false, false},
		{0, []byte{2, 3}, true, false},
		{0, []byte{4}, false, true},
		{time.Hour - 1, []byte{5}, false, false},
		{1, []byte{6}, false, true},
	} {
		a.at, now = now.Mono+24*time.Hour, after(now, c.after)
		a.NoteOwners(now, named(7))
		if a.Revive(now, named(c.owners...), c.connected); (a.At() == now.Mono) != c.dialed {
			t.Errorf("named by %v: dialed %v, want %v", c.owners, a.At() == now.Mono, c.dialed)
		}
	}
	if a.Stable(); a.owners == nil {
		t.Error("owners are forgotten before anybody looks")
	}
	if a.NoteOwners(now, nil); a.owners != nil {
		t.Error("owners of a relay are remembered that is not dead any more")
	}
}

// TestWhatIsKeptOfAttempts comes back over a restart.
func TestWhatIsKeptOfAttempts(t *testing.T) {
	a := NewAttempts(dialTerms)
	a.Failed(begun, "no route")
	now := after(begun, time.Second)
	a.Failed(now, "no route")
	a.owners, a.revived = Owners{nostr.PubKey{2}: {}}, now
	a.IsOurself()
	r := a.Record(now, false)
	again, later := NewAttempts(dialTerms), backoff.Now{Wall: now.Wall}
	again.Recall(later, r)
	if again.At() != a.At()-now.Mono || again.Failures() != 2 || again.Trouble() != "no route" || !again.Ourself() || len(again.owners) != 1 ||
		!again.FailingSince(later).Equal(a.FailingSince(now)) || !again.revived.Wall.Equal(a.revived.Wall) {
		t.Errorf("%+v of %+v", again, a)
	}
	if open := a.Record(now, true); !open.NextAttempt.IsZero() {
		t.Error("a relay that is connected is to be dialed")
	}
	planned := a.At()
	a.Retry(now, true)
	again = NewAttempts(dialTerms)
	again.Recall(now, a.Record(now, false))
	if again.At() != now.Mono || again.asked.planned != planned {
		t.Errorf("a try that a person asked for is kept as %+v", again)
	}
}

// TestTimeOffIsNoFailure: a relay has failed for as long as somebody looked.
func TestTimeOffIsNoFailure(t *testing.T) {
	a := NewAttempts(dialTerms)
	a.Failed(begun, "no route")
	now := after(begun, time.Hour)
	a.Failed(now, "no route")
	again, back := NewAttempts(dialTerms), backoff.Now{Wall: now.Wall.Add(100 * time.Hour)}
	again.Recall(back, a.Record(now, false))
	if got := again.Failing(back); got != time.Hour || again.Dead(back) {
		t.Errorf("failing for %v", got)
	}
}
