package peer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// manyRepos is a Want of n repositories, of which those numbered in bad have an identifier that begins with "bad".
func manyRepos(t *testing.T, n int, bad ...int) *peer.Want {
	t.Helper()
	f := newFold(t)
	for i := range n {
		d := fmt.Sprint("repo ", i)
		if slices.Contains(bad, i) {
			d = fmt.Sprint("bad ", i)
		}
		f.AddAll(f.Announce(key(i), d, 1, []string{us, string(here)}))
	}
	f.Step()
	return f.Wants[here]
}

// hasValue says whether a filter of r lists a value with that in it.
func hasValue(r []nostr.Filter, part string) bool {
	return slices.ContainsFunc(r, func(f nostr.Filter) bool {
		return slices.ContainsFunc(f.Tags, func(tag nostr.TagFilter) bool {
			return slices.ContainsFunc(tag.Values, func(v string) bool { return strings.Contains(v, part) })
		})
	})
}

// trials counts the trials so far.
func (d *driver) trials() (n int) {
	for _, r := range d.requests(peer.Catchup, peer.Daily) {
		if isTrial(r.Sub) {
			n++
		}
	}
	return n
}

// dislike has the relay not answer what lists such a value, by REQ or NEG-OPEN.
func (d *driver) dislike(part string) {
	d.hold = func(e peer.Effect) bool {
		switch e := e.(type) {
		case peer.Request:
			return hasValue(e.Filters, part)
		case peer.OpenNeg:
			return hasValue([]nostr.Filter{e.Filter}, part)
		}
		return false
	}
}

// TestAValueIsFoundByHalving: a relay answers nothing that holds one of a few values. All else is complete and followed
// within minutes; it takes few trials to find them, and few more in a day.
func TestAValueIsFoundByHalving(t *testing.T) {
	for n := range 3 {
		w := manyRepos(t, 100, 17, 60, 61)
		d := newDriver(t, peer.Config{NoNegentropy: n > 0})
		d.dislike("bad ")
		if n == 2 { // live subscriptions are taken
			ignored := d.hold
			d.hold = func(e peer.Effect) bool {
				r, ok := e.(peer.Request)
				return ignored(e) && !(ok && r.Class == peer.Live)
			}
		}
		d.connect(w, capacity.Limits{})
		d.pass(minutes(15))
		if s := d.peer.Status(); s.Confirmed.Repositories != 97 {
			t.Errorf("after a quarter of an hour %+v", s)
		}
		d.pass(minutes(15))
		if s := d.peer.Status(); s.Refused != 3 || !d.peer.AllConfirmed() || s.Phase != "live" || s.Behind != 0 {
			t.Errorf("%+v", s)
		}
		if n := d.trials(); n > 70 {
			t.Errorf("%d trials", n)
		}
		live := d.following() // what the relay has taken notice of
		if n < 2 && hasValue(live, "bad ") {
			t.Error("a live subscription has a value that the relay does not take")
		}
		if !d.followsVanish() { // with the announcements
			t.Error("what stood beside such a value is not followed")
		}
		for i, r := range w.Repos {
			if at := w.Repository(r.Item).Addresses[0]; !strings.Contains(at, "bad ") && !hasValue(live, at) {
				t.Fatalf("repository %d is not followed", i)
			}
		}
		before := d.trials()
		d.pass(20 * time.Hour)
		if n := d.trials() - before; n > 3*2*21 {
			t.Errorf("%d trials within a day", n)
		}
		d.hold = nil // the relay has learned
		d.pass(2 * time.Hour)
		if s := d.peer.Status(); s.Refused != 0 || s.Confirmed.Repositories != 100 {
			t.Errorf("once all is answered %+v", s)
		}
	}
}

// TestANoticeThatMayBeAboutAnother: one that says that a request is too large, while a trial and a live REQ wait for an answer, clears nobody.
func TestANoticeThatMayBeAboutAnother(t *testing.T) {
	f := newFold(t)
	for i := range 4 {
		f.AddAll(f.Announce(key(i), "x", 1, []string{us, string(here)}))
	}
	f.AddAll(f.Announce(key(9), "bad", 1, []string{us, string(here)})).Step()
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.dislike("bad")
	d.connect(f.Wants[here], capacity.Limits{})
	tries := func() (n int) {
		for _, r := range d.requests(peer.Catchup) {
			if isTrial(r.Sub) && hasValue(r.Filters, "bad") && !hasValue(r.Filters, ":x") {
				n++
			}
		}
		return n
	}
	for tries() == 0 { // it is tried alone
		d.pass(time.Second)
	}
	d.hold = nil
	held := 0
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		if ok && r.Class == peer.Live && held == 0 {
			held++
			return true
		}
		return ok && hasValue(r.Filters, "bad")
	}
	f.AddAll(f.Announce(key(10), "x", 1, []string{us, string(here)})).Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	if held == 0 {
		t.Fatal("no live REQ was sent")
	}
	d.do(peer.Frame{Message: nostr.Notice{Text: "ERROR: bad req: arr too big"}})
	d.pass(time.Hour)
	if s := d.peer.Status(); s.Refused != 1 || s.Confirmed.Repositories != 5 || hasValue(d.following(), "bad") {
		t.Errorf("%+v", s)
	}
}

// TestARelayThatAnswersNothingConvictsNobody: it is asked ever more seldom, and takes everything once it answers.
func TestARelayThatAnswersNothingConvictsNobody(t *testing.T) {
	for _, how := range []nostr.RelayMessage{nil, nostr.Notice{Text: "could not parse command"}} {
		w := manyRepos(t, 100)
		d := newDriver(t, peer.Config{NoNegentropy: true})
		dead := true
		d.hold = func(e peer.Effect) bool {
			r, ok := e.(peer.Request)
			if !ok || !dead || r.Class == peer.Live || len(r.Filters[0].Tags) == 0 {
				return false
			}
			if how != nil {
				d.frame(how)
			}
			return true
		}
		d.connect(w, capacity.Limits{})
		d.pass(10 * time.Hour)
		if s := d.peer.Status(); s.Refused != 0 || d.peer.Suspects() != 0 {
			t.Errorf("%+v, %d suspects", s, d.peer.Suspects())
		}
		if n := d.trials(); n > 40 {
			t.Errorf("%d trials", n)
		}
		dead = false
		d.pass(2 * time.Hour)
		if s := d.peer.Status(); s.Confirmed.Repositories != 100 {
			t.Errorf("once it answers %+v", s)
		}
	}
}

// TestOddValuesComeLastAndApart: no request has one beside other values, and the first is sent when all else is confirmed.
func TestOddValuesComeLastAndApart(t *testing.T) {
	for _, odd := range []string{strings.Repeat("x", 185), "\x00", "a\tb", "\u0085", strings.Repeat("\"", 100)} {
		f := newFold(t)
		for i := range 30 {
			f.AddAll(f.Announce(key(i), fmt.Sprint("repo ", i), 1, []string{us, string(here)}))
			f.AddAll(f.Announce(key(i), fmt.Sprint("odd", odd), 1, []string{us, string(here)}), f.Issue(5, address(key(i), fmt.Sprint("repo ", i))))
		}
		f.Step()
		d := newDriver(t, peer.Config{})
		d.refuse = func(r peer.Request) nostr.RelayMessage {
			if hasValue(r.Filters, "odd") {
				if hasValue(r.Filters, "repo ") {
					t.Errorf("%q stands beside others", odd)
				}
				if s := d.peer.Status(); s.Confirmed.Repositories < 30 || s.Confirmed.Roots < 30 {
					t.Errorf("%q is asked while %+v", odd, s.Confirmed)
				}
			}
			return nil
		}
		d.connect(f.Wants[here], capacity.Limits{})
		d.pass(minutes(1))
		if s := d.peer.Status(); s.Confirmed.Repositories != 60 || s.Refused != 0 {
			t.Errorf("%q: %+v", odd, s)
		}
		if n := d.trials(); n != 1 {
			t.Errorf("%d trials of what the relay takes", n)
		}
	}
	f := newFold(t)
	f.AddAll(f.Announce(key(1), strings.Repeat("x", 184), 1, []string{us, string(here)})).Step() // 255 bytes with the rest of the address
	d := newDriver(t, peer.Config{})
	d.connect(f.Wants[here], capacity.Limits{})
	if n := d.trials(); n != 0 || !d.peer.AllConfirmed() {
		t.Errorf("%d trials of a value that all relays take", n)
	}
}

// TestATextThatSpeaksOfAValue needs no second trial: neither as CLOSED nor as a NOTICE, of stored and live requests and of
// reconciliations.
func TestATextThatSpeaksOfAValue(t *testing.T) {
	for _, notice := range []bool{true, false} {
		w := manyRepos(t, 64, 9)
		d := newDriver(t, peer.Config{NoNegentropy: notice})
		text := "ERROR: bad req: error parsing #a: filter item too large"
		d.refuse = func(r peer.Request) nostr.RelayMessage {
			switch {
			case !hasValue(r.Filters, "bad "):
				return nil
			case notice:
				return nostr.Notice{Text: text}
			}
			return nostr.Closed{Sub: r.Sub, Reason: text}
		}
		d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
			if !hasValue([]nostr.Filter{e.Filter}, "bad ") {
				return nil
			}
			return nostr.NegErr{Sub: e.Sub, Reason: "filter item too large"}
		}
		d.connect(w, capacity.Limits{})
		d.pass(time.Minute)
		if s := d.peer.Status(); s.Confirmed.Repositories != 63 || s.Refused != 1 {
			t.Errorf("%+v", s)
		}
		if n := d.trials(); n > 16 {
			t.Errorf("%d trials", n)
		}
		before := d.trials()
		d.pass(20 * time.Hour)
		if n := d.trials() - before; n != 0 {
			t.Errorf("tried %d times more before the full resync", n)
		}
		d.pass(6 * time.Hour)
		if n := d.trials() - before; n != 1 {
			t.Errorf("tried %d times in the full resync", n)
		}
	}
}

// TestTrialsAreNoStorm: hundreds of values that the relay refuses are tried at most once a second.
func TestTrialsAreNoStorm(t *testing.T) {
	f := newFold(t)
	for i := range 300 {
		f.AddAll(f.Announce(key(i), fmt.Sprint("long", strings.Repeat("x", 200), i), 1, []string{us, string(here)}))
	}
	f.AddAll(f.Announce(key(0), "repo", 1, []string{us, string(here)})).Step()
	d := newDriver(t, peer.Config{})
	var at []time.Duration
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if !hasValue(r.Filters, "long") {
			return nil
		}
		if n := len(at); n > 0 && d.clock.Mono < at[n-1]+time.Second {
			t.Fatalf("a trial %v after the last", d.clock.Mono-at[n-1])
		}
		at = append(at, d.clock.Mono)
		return nostr.Closed{Sub: r.Sub, Reason: "invalid: filter item too large"}
	}
	d.connect(f.Wants[here], capacity.Limits{})
	d.pass(2 * time.Second)
	if s := d.peer.Status(); s.Confirmed.Repositories != 1 {
		t.Errorf("%+v", s)
	}
	d.pass(time.Hour)
	if s := d.peer.Status(); s.Refused != 300 || len(at) > 700 {
		t.Errorf("%d trials, %+v", len(at), s)
	}
}

// TestARefusedRepositoryThatIsNoLongerWanted leaves nothing behind.
func TestARefusedRepositoryThatIsNoLongerWanted(t *testing.T) {
	d := newDriver(t, peer.Config{})
	d.dislike("bad ")
	d.connect(manyRepos(t, 4, 1, 2), capacity.Limits{})
	d.pass(time.Hour)
	if n := d.peer.Suspects(); n != 2 {
		t.Fatalf("%d suspects", n)
	}
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "repo 0", 1, []string{us, string(here)})).Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	if err := d.peer.Check(); err != nil || d.peer.Suspects() != 0 || d.peer.Status().Refused != 0 {
		t.Errorf("%v, %d suspects", err, d.peer.Suspects())
	}
	d.do(peer.Wanted{})
	if d.peer.Suspects() != 0 {
		t.Error("suspects of a relay that nobody wants")
	}
}

// TestOthersAreTriedBeforeOddValues: repositories that come under suspicion for somebody else's value do not wait until
// those are through whose values known relays refuse, which takes long where the relay says nothing.
func TestOthersAreTriedBeforeOddValues(t *testing.T) {
	f := newFold(t)
	for i := range 40 {
		f.AddAll(f.Announce(key(i), fmt.Sprint("odd\x00 ", i), 1, []string{us, string(here)}))
		d := "repo "
		if i == 7 {
			d = "bad "
		}
		f.AddAll(f.Announce(key(i), fmt.Sprint(d, i), 1, []string{us, string(here)}))
	}
	f.Step()
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.hold = func(e peer.Effect) bool { r, ok := e.(peer.Request); return ok && hasValue(r.Filters, "odd") }
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if hasValue(r.Filters, "bad ") {
			return nostr.Closed{Sub: r.Sub, Reason: "error: null byte"}
		}
		return nil
	}
	d.connect(f.Wants[here], capacity.Limits{})
	d.pass(45 * time.Second)
	if s := d.peer.Status(); s.Confirmed.Repositories != 39 || s.Refused != 1 {
		t.Errorf("%+v", s)
	}
}

// TestARelayThatHangsUpAtAValue does so a few times. It is not tried again when the relay is long in coming back, but by the
// full resync.
func TestARelayThatHangsUpAtAValue(t *testing.T) {
	f := newFold(t)
	for i, d := range []string{"a", "b", "odd\x00", "c\x01"} {
		f.AddAll(f.Announce(key(i), d, 1, []string{us, string(here)}))
	}
	f.Step()
	d := newDriver(t, peer.Config{})
	hangs := 0
	lost := func() {
		d.queue = append(d.queue, peer.Disconnected{Reason: "reset"})
		d.open = map[string]peer.Request{}
	}
	d.hold = func(e peer.Effect) bool {
		switch e := e.(type) {
		case peer.Dial:
			d.queue = append(d.queue, peer.Connected{})
		case peer.Request:
			if hasValue(e.Filters, "odd") {
				hangs++
				lost()
				return true
			}
		}
		return false
	}
	d.do(peer.Wanted{Want: f.Wants[here]})
	d.pass(3 * time.Hour)
	if s := d.peer.Status(); s.Refused != 1 || s.Confirmed.Repositories != 3 || hangs > 3 {
		t.Errorf("after %d times %+v", hangs, s)
	}
	before := hangs
	d.at(d.clock.Mono + time.Hour) // nothing is heard for so long
	lost()
	d.do(peer.Tick{})
	d.pass(3 * time.Hour)
	if s := d.peer.Status(); hangs != before || s.Refused != 1 || s.Confirmed.Repositories != 3 {
		t.Errorf("tried %d times more, %+v", hangs-before, s)
	}
	d.pass(24 * time.Hour)
	if hangs == before {
		t.Error("the full resync does not try it again")
	}
}

// TestWhatIsRefusedHoldsNoMark: a repository that was confirmed, and that the relay refuses when it is back, is not waited for.
func TestWhatIsRefusedHoldsNoMark(t *testing.T) {
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(manyRepos(t, 10, 4), capacity.Limits{})
	d.pass(time.Minute)
	if !d.peer.AllConfirmed() {
		t.Fatal("not settled")
	}
	d.do(peer.Disconnected{Reason: "reset"})
	d.open = map[string]peer.Request{}
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if hasValue(r.Filters, "bad ") {
			return nostr.Closed{Sub: r.Sub, Reason: "invalid: null byte"}
		}
		return nil
	}
	d.pass(time.Minute)
	d.do(peer.Connected{})
	d.pass(time.Minute)
	if n := d.peer.HeldItems(); n != 0 || d.peer.Status().Refused != 1 || !d.peer.AllConfirmed() {
		t.Errorf("%d items are held, %+v", n, d.peer.Status())
	}
}

// TestATrialWaitsForAVerdict and no longer: once the relay has authenticated this one, what it refuses is found.
func TestATrialWaitsForAVerdict(t *testing.T) {
	w := manyRepos(t, 10, 3)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	granted := false
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		return ok && hasValue(r.Filters, "bad ") && (granted || !isTrial(r.Sub))
	}
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if isTrial(r.Sub) && !granted {
			return nostr.Closed{Sub: r.Sub, Reason: "auth-required: you must auth"}
		}
		return nil
	}
	d.connect(w, capacity.Limits{})
	d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "who"}})
	for n := 0; len(d.auths()) == 0; n++ {
		if n > 600 {
			t.Fatal("no trial is refused")
		}
		d.pass(time.Second)
	}
	before := d.trials()
	d.pass(5 * time.Second)
	if n := d.trials(); n != before {
		t.Errorf("%d trials while the verdict is awaited", n-before)
	}
	granted = true
	d.do(peer.Authenticated{OK: true})
	d.pass(30 * time.Minute)
	if s := d.peer.Status(); s.Refused != 1 || !d.peer.AllConfirmed() {
		t.Errorf("%+v", s)
	}
}
