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

// refusing makes the relay answer questions of layer 4 as told, by REQ only.
func (f *forum) refusing(t *testing.T, how func(r peer.Request) nostr.RelayMessage) *driver {
	d := f.reader(t, 500)
	d.peer = peer.NewPeer(peer.Config{URL: here, NoNegentropy: true})
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if d.peer.AsksReferences(r.Sub) {
			return how(r)
		}
		return nil
	}
	return d
}

func TestLayerFourEndsWhereItIsNotWelcome(t *testing.T) {
	for name, tc := range map[string]struct {
		how  func(r peer.Request) nostr.RelayMessage
		want int // requests in the first round
	}{
		"refused":    {func(r peer.Request) nostr.RelayMessage { return nostr.Closed{Sub: r.Sub, Reason: "blocked: no"} }, 3},
		"restricted": {func(r peer.Request) nostr.RelayMessage { return nostr.Closed{Sub: r.Sub, Reason: "restricted: no"} }, 3},
		"no answer":  {func(r peer.Request) nostr.RelayMessage { return nostr.Notice{Text: "hm"} }, 3},
		"rate limited": {func(r peer.Request) nostr.RelayMessage {
			return nostr.Closed{Sub: r.Sub, Reason: "rate-limited: slow down"}
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForum(t, 300)
			like := f.reaction(f.events[300], key(50)) // on one of the older comments
			f.theirs(like)
			d := f.refusing(t, tc.how)
			d.connect(f.want, capacity.Limits{})
			d.pass(4*25*time.Hour - time.Hour)
			days := d.rounds()
			if len(days) < 3 || !d.peer.AllConfirmed() || d.dials() != 1 {
				t.Fatalf("%d rounds, settled %v", len(days), d.peer.AllConfirmed())
			}
			for day, steps := range days {
				n, last := 0, time.Duration(0)
				for _, x := range steps {
					if x.filter == nil {
						continue
					}
					if n++; n > 1 && x.at-last < time.Minute {
						t.Errorf("day %d: asked again after %v", day, x.at-last)
					}
					last = x.at
				}
				if n != tc.want {
					t.Errorf("day %d: %d requests", day, n)
				}
			}
			// When it is welcome again, it goes on and round.
			d.refuse = nil
			d.pass(26 * time.Hour)
			if name == "rate limited" && !f.has(like) {
				t.Error("what was not answered is not asked again")
			}
			d.pass(26 * time.Hour)
			if !f.has(like) {
				t.Error("a full circle does not bring it")
			}
		})
	}
}

// One question that a relay never answers is left behind; the rest is asked.
func TestOneBadQuestionHoldsNothingUp(t *testing.T) {
	f := newForum(t, 300)
	var likes []*nostr.Event
	for _, i := range []int{2, 150, 301} {
		likes = append(likes, f.reaction(f.events[i], key(50)))
	}
	f.theirs(likes...)
	bad := f.events[301].ID.String()
	d := f.refusing(t, func(r peer.Request) nostr.RelayMessage {
		if tags := r.Filters[0].Tags; tags != nil && slices.Contains(tags[0].Values, bad) {
			return nostr.Closed{Sub: r.Sub, Reason: "error: timeout"}
		}
		return nil
	})
	d.connect(f.want, capacity.Limits{})
	d.pass(3 * 25 * time.Hour)
	if !f.has(likes[0]) || f.has(likes[2]) {
		t.Errorf("here: %v, %v, %v", f.has(likes[0]), f.has(likes[1]), f.has(likes[2]))
	}
}

func TestLayerFourAsksForLessWhereThatIsTooMuch(t *testing.T) {
	f := newForum(t, 90)
	likes := []*nostr.Event{f.reaction(f.events[10], key(50)), f.reaction(f.events[80], key(50))}
	gone := f.Event(nostr.KindDeletion, key(108), 1_700_000_000)
	f.theirs(append(likes, gone)...)
	d := f.refusing(t, func(r peer.Request) nostr.RelayMessage {
		x := r.Filters[0]
		if len(x.Authors) > 6 || len(x.Tags) > 0 && len(x.Tags[0].Values) > 30 {
			return nostr.Closed{Sub: r.Sub, Reason: "ERROR: bad req: error parsing #e: total filter items too large"}
		}
		return nil
	})
	d.connect(f.want, capacity.Limits{})
	d.pass(25*time.Hour + 30*time.Minute)
	if !f.has(append(likes, gone)...) {
		t.Error("layer 4 does not ask for less at once")
	}
	if n := len(d.layer4); n > 80 {
		t.Errorf("%d steps", n)
	}
}

// A relay that gives few events at once gives what is asked by id nevertheless.
func TestMissingIDsAreAskedAsLongAsSomethingComes(t *testing.T) {
	f := newForum(t, 1)
	var notes []*nostr.Event
	for i := range 12 {
		n := f.Event(nostr.KindNote, key(60+i), 1_700_000_000)
		f.events[2].Tags = append(f.events[2].Tags, nostr.Tag{"q", n.ID.String()})
		notes = append(notes, n)
	}
	f.theirs(notes...)
	d := f.reader(t, 5)
	d.connect(f.want, capacity.Limits{})
	d.pass(25*time.Hour + 10*time.Minute)
	if !f.has(notes...) {
		t.Error("not all came")
	}
	n := 0
	for _, x := range d.asked() {
		if strings.HasPrefix(x, `{"ids"`) && strings.Contains(x, notes[11].ID.String()) {
			n++
		}
	}
	if n > 4 {
		t.Errorf("the last one is asked %d times", n)
	}
}

// A filter that matches without end is given up, and its neighbours are asked.
func TestAQuestionWithoutEndIsGivenUp(t *testing.T) {
	f := newForum(t, 1)
	like := f.reaction(f.events[2], key(50))
	f.theirs(like)
	d := f.refusing(t, func(peer.Request) nostr.RelayMessage { return nil })
	serve, m := d.serve, f.mint
	d.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		x := filters[0]
		if x.Authors == nil || !d.peer.AsksReferences(sub) {
			return serve(sub, filters)
		}
		until := int64(1_700_000_000)
		if x.Until != nil {
			until = *x.Until - 1
		}
		var out []*nostr.Event
		for i := range int64(5) {
			out = append(out, m.Event(nostr.KindDeletion, x.Authors[0], until-i))
		}
		return out
	}
	d.connect(f.want, capacity.Limits{})
	d.pass(25*time.Hour + 30*time.Minute)
	if n := len(d.layer4); n < peer.MostQuestion || n > peer.MostQuestion+20 {
		t.Errorf("%d steps", n)
	}
	if active, _ := d.peer.References(); active || !f.has(like) {
		t.Errorf("layer 4 goes on %v, the others are asked %v", active, f.has(like))
	}
}

// The next connection goes on with layer 4.
func TestLayerFourGoesOnWithTheNextConnection(t *testing.T) {
	f := newForum(t, 500)
	like := f.reaction(f.events[3], key(50)) // on the oldest, which comes last
	f.theirs(like)
	d := f.reader(t, 500)
	d.connect(f.want, capacity.Limits{})
	for len(d.layer4) < 6 { // the first page of comments is asked
		d.pass(time.Second)
	}
	d.do(peer.Disconnected{Reason: "reset"})
	d.pass(time.Minute)
	d.do(peer.Connected{})
	d.pass(time.Hour)
	if !f.has(like) {
		t.Error("it does not go on")
	}
	asked := map[string]int{}
	for _, x := range d.asked() {
		asked[x]++
	}
	for x, n := range asked {
		if n > 2 && strings.Contains(x, f.events[502].ID.String()) {
			t.Errorf("asked %d times: %.100s", n, x)
		}
	}
}

// A relay that is away for longer is caught up with at once; layer 4 keeps its time.
func TestLayerFourIsNotPutOffByReconnecting(t *testing.T) {
	f := newForum(t, 1)
	like := f.reaction(f.events[2], key(50))
	f.theirs(like)
	d := f.reader(t, 500)
	d.connect(f.want, capacity.Limits{})
	for range 3 {
		d.pass(10 * time.Hour)
		d.do(peer.Disconnected{Reason: "reset"})
		d.pass(30 * time.Minute)
		d.do(peer.Connected{})
	}
	d.pass(time.Minute)
	if len(d.rounds()) != 1 || !f.has(like) {
		t.Errorf("after 31 hours it was asked %d times, each catch-up but a day apart", len(d.rounds()))
	}
}

// Layer 4 waits for the catch-up, but not for items that wait for a day.
func TestLayerFourComesAfterTheCatchUp(t *testing.T) {
	f := newForum(t, 1)
	like := f.reaction(f.events[2], key(50))
	f.theirs(like)
	d := f.reader(t, 500)
	d.peer = peer.NewPeer(peer.Config{URL: here, NoNegentropy: true})
	d.connect(f.want, capacity.Limits{})
	var since time.Duration
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		if tags := r.Filters[0].Tags; r.Class == peer.Daily && tags != nil && tags[0].Name == 'q' {
			if since == 0 {
				since = d.clock.Mono
			}
			return nostr.Closed{Sub: r.Sub, Reason: "restricted: no quotes"}
		}
		return nil
	}
	for since == 0 {
		d.pass(time.Minute)
	}
	d.pass(time.Hour - 2*time.Minute)
	if len(d.layer4) != 0 || d.peer.AllConfirmed() {
		t.Errorf("%d steps while the catch-up goes on, settled %v", len(d.layer4), d.peer.AllConfirmed())
	}
	d.pass(4 * time.Minute)
	if !f.has(like) {
		t.Error("it waits for what will not come")
	}
}

// Where a relay bears one request at a time, everything else goes first.
func TestLayerFourMakesWay(t *testing.T) {
	for _, neg := range []bool{false, true} {
		t.Run(fmt.Sprint("negentropy ", neg), func(t *testing.T) {
			f := newForum(t, 1)
			d := f.reader(t, 500)
			d.peer = peer.NewPeer(peer.Config{URL: here, NoNegentropy: !neg})
			held := ""
			d.refuse = func(r peer.Request) nostr.RelayMessage {
				if d.peer.AsksReferences(r.Sub) && held == "" {
					held = r.Sub
					return nostr.Notice{Text: "hm"}
				}
				return nil
			}
			d.negFault = func(e peer.OpenNeg) nostr.RelayMessage {
				if d.peer.AsksReferences(e.Sub) && held == "" {
					held = e.Sub
					return nostr.Notice{Text: "hm"}
				}
				return nil
			}
			d.connect(f.want, capacity.Limits{MaxSubscriptions: 3})
			for held == "" {
				d.pass(time.Second)
			}
			issue := f.mint.Event(1621, key(1), 1_700_009_000, nostr.Tag{"a", address(key(0), "x")})
			fold := newFold(t)
			fold.AddAll(f.events[0], f.issue).Step()
			d.do(peer.Wanted{Want: fold.Wants[here]})
			fold.AddAll(issue).Step()
			d.do(peer.Wanted{Want: fold.Wants[here]})
			if !d.peer.AllConfirmed() {
				t.Error("a new item waits for layer 4")
			}
			d.pass(time.Minute)
			if active, _ := d.peer.References(); active {
				t.Error("layer 4 does not come to its end")
			}
			if d.most > 3 {
				t.Errorf("%d requests at once", d.most)
			}
		})
	}
}

func TestARelayThatIsWantedNoMoreForgetsTheTour(t *testing.T) {
	f := newForum(t, 300)
	d := f.reader(t, 500)
	d.connect(f.want, capacity.Limits{})
	for len(d.layer4) < 6 {
		d.pass(time.Second)
	}
	d.do(peer.Wanted{})
	d.layer4 = nil
	d.connect(f.want, capacity.Limits{})
	d.pass(26 * time.Hour)
	if len(d.layer4) == 0 || d.layer4[0].survey == nil {
		t.Error("the tour goes on where it stopped for another want")
	}
}
