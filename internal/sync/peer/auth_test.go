package peer_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
)

// auths returns the challenges that were answered.
func (d *driver) auths() []string {
	var out []string
	for _, e := range d.sent {
		if a, ok := e.(peer.Authenticate); ok {
			out = append(out, a.Challenge)
		}
	}
	return out
}

// gate refuses requests for want of AUTH until it is open.
type gate struct {
	open, byNotice bool
	only           func(peer.Request) bool // nil = all
	refused        []string
}

func (g *gate) refuse(r peer.Request) nostr.RelayMessage {
	if g.open || g.only != nil && !g.only(r) {
		return nil
	}
	g.refused = append(g.refused, r.Sub)
	if g.byNotice {
		return nostr.Notice{Text: "auth-required: you must auth"}
	}
	return nostr.Closed{Sub: r.Sub, Reason: "auth-required: you must auth"}
}

// grown returns the Want of f with one more root event.
func grown(f *fold) *peer.Want {
	f.AddAll(f.Issue(9, address(key(0), "x"))).Step()
	return f.Wants[here]
}

func gated(t *testing.T, g *gate) *driver {
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.refuse = g.refuse
	return d
}

func TestAuthenticatesOnceAndAsksAgain(t *testing.T) {
	for _, byNotice := range []bool{false, true} {
		_, w := small(t, 3)
		g := &gate{byNotice: byNotice}
		d := gated(t, g)
		d.connect(w, capacity.Limits{})
		d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "old"}}) // the refusal came first
		d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "new"}})
		if got := d.auths(); !slices.Equal(got, []string{"old"}) {
			t.Fatalf("by notice %v: answered %q", byNotice, got)
		}
		d.pass(10 * time.Second)
		if n := len(d.requests(peer.Live, peer.Catchup)); n != len(g.refused) || n == 0 {
			t.Errorf("%d requests before the verdict, of which %d refused", n, len(g.refused))
		}
		g.open = true
		d.do(peer.Authenticated{OK: true})
		if s := d.peer.Status(); s.Phase != "live" || s.Failures != 0 {
			t.Errorf("by notice %v: authenticated, and yet %+v", byNotice, s)
		}
		d.do(peer.Disconnected{Reason: "reset"})
		d.pass(time.Minute)
		g.open = false
		d.do(peer.Connected{})
		d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "next"}})
		if got := d.auths(); !slices.Equal(got, []string{"old", "next"}) {
			t.Errorf("on the next connection %q", got)
		}
	}
}

func TestNoAUTHUnlessSomethingIsRefusedForWantOfIt(t *testing.T) {
	_, w := small(t, 3)
	d := newDriver(t, peer.Config{})
	n := 0
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if n++; n%2 == 0 {
			return nostr.Closed{Sub: r.Sub, Reason: "restricted: not for you"}
		}
		return nil
	}
	d.do(peer.Wanted{Want: w})
	d.do(peer.Connected{})
	d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "who"}})
	d.pass(30 * time.Hour)
	if got := d.auths(); len(got) != 0 {
		t.Errorf("answered %q", got)
	}
}

func TestTheNewestChallengeIsAnswered(t *testing.T) {
	f, w := small(t, 1)
	g := &gate{open: true}
	d := gated(t, g)
	d.connect(w, capacity.Limits{})
	for _, c := range []string{"one", "two", strings.Repeat("long", 257)} {
		d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: c}})
	}
	g.open = false
	d.do(peer.Wanted{Want: grown(f)})
	if got := d.auths(); !slices.Equal(got, []string{"two"}) {
		t.Errorf("answered %q", got)
	}
}

// What was sent before the verdict and refused after it is asked again at once;
// what was sent after it waits for a day, and all else goes on.
func TestRefusedInSpiteOfAUTH(t *testing.T) {
	_, w := small(t, 3)
	g := &gate{only: func(r peer.Request) bool {
		f := r.Filters[0]
		return r.Class != peer.Live && len(f.Tags) > 0 && f.Tags[0].Name == 'A'
	}}
	d := gated(t, g)
	d.do(peer.Wanted{Want: w})
	d.do(peer.Connected{})
	d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "who"}})
	d.do(peer.Authenticated{OK: true})
	if len(g.refused) != 2 { // before and after
		t.Fatalf("refused %d times", len(g.refused))
	}
	if s := d.peer.Status(); s.Confirmed.Roots != 3 || s.Confirmed.Repositories != 0 || s.Failures != 0 {
		t.Errorf("%+v", s)
	}
	d.pass(23 * time.Hour)
	if len(g.refused) > 3 { // the resync may have asked once
		t.Errorf("refused %d times within a day", len(g.refused))
	}
	d.pass(3 * time.Hour)
	if n := len(g.refused); n < 3 || n > 4 {
		t.Errorf("refused %d times in a little more than a day", n)
	}
	if got := d.auths(); len(got) != 1 {
		t.Errorf("answered %q", got)
	}
}

// A stored request and a live one whose refusals are under way when the verdict comes are sent again at once.
func TestRefusalThatCrossesTheVerdict(t *testing.T) {
	for _, class := range []peer.Class{peer.Live, peer.Catchup} {
		f, w := small(t, 1)
		d := newDriver(t, peer.Config{NoNegentropy: true})
		var late *peer.Request
		refusing := ""
		d.refuse = func(r peer.Request) nostr.RelayMessage {
			switch {
			case late == nil && r.Class == class:
				late = &r
				return nostr.Notice{Text: "welcome"} // its refusal comes later
			case refusing == "next":
				refusing = r.Sub
				return nostr.Notice{Text: "welcome"}
			}
			return nil
		}
		d.connect(w, capacity.Limits{})
		d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "who"}})
		refusing = "next"
		d.do(peer.Wanted{Want: grown(f)})
		d.do(peer.Frame{Message: nostr.Closed{Sub: refusing, Reason: "auth-required: who"}})
		d.do(peer.Authenticated{OK: true})
		d.do(peer.Frame{Message: nostr.Closed{Sub: late.Sub, Reason: "auth-required: who"}})
		asked := 0 // live filters grow, stored requests are sent again as they were
		for _, r := range d.requests(peer.Catchup) {
			if reflect.DeepEqual(r.Filters, late.Filters) {
				asked++
			}
		}
		if s := d.peer.Status(); s.Phase != "live" || s.Want != s.Confirmed || len(d.auths()) != 1 || class == peer.Catchup && asked != 2 {
			t.Errorf("class %v: asked %d times, answered %q, %+v", class, asked, d.auths(), s)
		}
	}
}

func TestNoChallengeComes(t *testing.T) {
	_, w := small(t, 2)
	g := &gate{}
	d := gated(t, g)
	d.connect(w, capacity.Limits{})
	d.pass(20 * time.Hour)
	if len(g.refused) != 1 || len(d.auths()) != 0 {
		t.Fatalf("refused %d times, answered %q", len(g.refused), d.auths())
	}
	d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "at last"}})
	d.pass(4*time.Hour + 31*time.Second)
	if len(g.refused) != 2 || len(d.auths()) != 1 {
		t.Errorf("refused %d times, answered %q", len(g.refused), d.auths())
	}
	g.open = true
	d.do(peer.Authenticated{OK: true})
	if s := d.peer.Status(); s.Phase != "live" {
		t.Errorf("%+v", s)
	}
}

func TestNoVerdictOrABadOne(t *testing.T) {
	for name, verdict := range map[string]func(*driver){
		"none": func(d *driver) {
			d.pass(29 * time.Second)
			if at, ok := d.peer.Wake(); !ok || at != 30*time.Second {
				t.Errorf("wakes at %v", at)
			}
			d.pass(time.Second)
			d.do(peer.Authenticated{OK: true}) // too late
		},
		"no": func(d *driver) { d.do(peer.Authenticated{Reason: "restricted: not you"}) },
	} {
		_, w := small(t, 2)
		g := &gate{}
		d := gated(t, g)
		d.do(peer.Wanted{Want: w})
		d.do(peer.Connected{})
		d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "who"}})
		verdict(d)
		d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "who now"}})
		d.pass(20 * time.Hour)
		s := d.peer.Status()
		if len(g.refused) != 1 || len(d.auths()) != 1 || s.Failures != 0 || s.Phase != "syncing" {
			t.Errorf("%s: refused %d times, answered %q, %+v", name, len(g.refused), d.auths(), s)
		}
		g.open = true
		d.pass(5 * time.Hour)
		if s := d.peer.Status(); s.Phase != "live" {
			t.Errorf("%s: a day later %+v", name, s)
		}
	}
}

// A reconciliation that is refused for want of AUTH is opened again, and NIP-77 is not given up for it.
func TestReconciliationRefusedForWantOfAUTH(t *testing.T) {
	for name, frame := range map[string]func(sub string) nostr.RelayMessage{
		"NEG-ERR": func(sub string) nostr.RelayMessage { return nostr.NegErr{Sub: sub, Reason: "auth-required: who"} },
		"CLOSED":  func(sub string) nostr.RelayMessage { return nostr.Closed{Sub: sub, Reason: "auth-required: who"} },
		"NOTICE":  func(string) nostr.RelayMessage { return nostr.Notice{Text: "ERROR: auth-required: who"} },
	} {
		l := newLibrary(40)
		d := l.reader(t, 500)
		open, opened := false, 0
		d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
			if opened++; open {
				return nil
			}
			return frame(e.Sub)
		}
		_, w := small(t, 3)
		d.connect(w, capacity.Limits{})
		before := opened
		d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "who"}})
		if len(d.auths()) != 1 || d.peer.Status().Phase != "syncing" {
			t.Fatalf("%s: answered %q, %+v", name, d.auths(), d.peer.Status())
		}
		open = true
		d.do(peer.Authenticated{OK: true})
		if s := d.peer.Status(); s.Phase != "live" || s.Negentropy != "works" || before == 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestAReconciliationThatGoesOutAfterTheVerdict was not sent before it, though its set was asked for before: a refusal is not asked once more at once.
func TestAReconciliationThatGoesOutAfterTheVerdict(t *testing.T) {
	l := newLibrary(40)
	d := l.reader(t, 500)
	var held []peer.LoadSet
	authorized, opened := false, 0
	d.hold = func(e peer.Effect) bool {
		x, ok := e.(peer.LoadSet)
		if ok = ok && !authorized; ok {
			held = append(held, x)
		}
		return ok
	}
	d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
		opened++
		return nostr.NegErr{Sub: e.Sub, Reason: "auth-required: who"}
	}
	f, w := small(t, 0)
	d.connect(w, capacity.Limits{})
	if len(held) == 0 {
		t.Fatal("no set is asked for")
	}
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		return nostr.Closed{Sub: r.Sub, Reason: "auth-required: who"}
	}
	d.do(peer.Wanted{Want: grown(f)}) // its live REQ is refused
	d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "who"}})
	d.refuse, authorized = nil, true
	d.do(peer.Authenticated{OK: true})
	opened = 0
	d.do(peer.Loaded{Sub: held[0].Sub, Set: set(d.own, held[0].Filter)})
	if len(d.auths()) != 1 || opened != 1 {
		t.Errorf("answered %q, asked %d times", d.auths(), opened)
	}
}

// A live REQ that was refused by a NOTICE so late that it counts as open is sent again.
func TestLiveREQRefusedLate(t *testing.T) {
	_, w := small(t, 2)
	g := &gate{open: true}
	d := gated(t, g)
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if r.Class == peer.Live && !g.open {
			return nostr.Notice{Text: "hello"}
		}
		return g.refuse(r)
	}
	g.open, g.byNotice = false, true
	d.do(peer.Wanted{Want: w})
	d.do(peer.Connected{})
	d.do(peer.Frame{Message: nostr.AuthChallenge{Challenge: "who"}})
	d.pass(6 * time.Second) // it counts as open, and its stored queries are refused
	if len(g.refused) == 0 || len(d.requests(peer.Live)) != 1 || len(d.auths()) != 1 {
		t.Fatalf("refused %d, %d live REQs, answered %q", len(g.refused), len(d.requests(peer.Live)), d.auths())
	}
	g.open = true
	d.do(peer.Authenticated{OK: true})
	live := d.requests(peer.Live)
	if s := d.peer.Status(); len(live) != 2 || s.Phase != "live" || s.LiveREQs != 1 || len(d.open) != 1 {
		t.Errorf("%d live REQs sent, %d REQs open, %+v", len(live), len(d.open), s)
	}
}
