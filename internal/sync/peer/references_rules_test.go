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
	"github.com/graspd/graspd/internal/sync/peer/threads"
)

// passChecked lets time go by and looks at what it keeps once a second.
func (d *driver) passChecked(t time.Duration) {
	d.t.Helper()
	for until := d.clock.Mono + t; d.clock.Mono < until; {
		d.pass(time.Second)
		if err := d.peer.Check(); err != nil {
			d.t.Fatal(err)
		}
	}
}

// awaitLayer4 lets time go by until layer 4 has taken so many steps.
func (d *driver) awaitLayer4(steps int) {
	d.t.Helper()
	for begun := d.clock.Mono; len(d.layer4) < steps; {
		if d.clock.Mono > begun+26*time.Hour {
			d.t.Fatalf("layer 4 takes %d steps only", len(d.layer4))
		}
		d.pass(time.Second)
	}
}

func TestManyAuthorsAreAskedInTurn(t *testing.T) {
	f := newForum(t, 0)
	other := f.mint.Event(1621, key(1), 1_700_000_101, nostr.Tag{"a", address(key(0), "x")})
	f.both(other)
	f.want = wantOf(t, f.events...)
	var gone []*nostr.Event
	for i := range threads.MostMet + 700 { // too many for one survey
		f.both(f.about(f.issue, key(100+i), nostr.Tag{"E", []*nostr.Event{f.issue, other}[i%2].ID.String()}))
		if i%61 == 0 {
			gone = append(gone, f.Event(nostr.KindDeletion, key(100+i), 1_700_000_000))
		}
	}
	f.theirs(gone...)
	d := f.reader(t, 500)
	d.connect(f.want, capacity.Limits{})
	d.awaitLayer4(1)
	d.passChecked(15 * time.Minute)
	if !f.has(gone...) {
		t.Error("not all authors are asked for")
	}
	first := slices.IndexFunc(d.layer4, func(x layer4) bool { return x.filter != nil && x.filter.Authors != nil })
	if first < 0 || first > 50 {
		t.Errorf("authors are asked first in step %d of %d", first, len(d.layer4))
	}
	authors := 0
	for _, x := range d.layer4 {
		if x.filter != nil && (x.filter.Limit == nil || *x.filter.Limit > 20) { // and not in a probe
			authors += len(x.filter.Authors)
		}
	}
	// Past the bound some are asked twice, but nobody in each survey.
	if authors < threads.MostMet+700 || authors > 2*(threads.MostMet+700) {
		t.Errorf("%d authors are asked for", authors)
	}
}

func TestAStoreThatCannotBeReadEndsLayerFour(t *testing.T) {
	f := newForum(t, 1)
	like := f.reaction(f.events[2], key(50))
	f.theirs(like)
	d := f.reader(t, 500)
	failing := true
	d.hold = func(e peer.Effect) bool {
		s, ok := e.(peer.Survey)
		if ok && failing {
			d.queue = append(d.queue, peer.Surveyed{Sub: s.Sub, Failed: true})
		}
		return ok && failing
	}
	d.connect(f.want, capacity.Limits{})
	d.pass(25*time.Hour + 10*time.Minute)
	if len(d.layer4) != 3 {
		t.Fatalf("%d surveys", len(d.layer4))
	}
	for i := range d.layer4[1:] {
		if d.layer4[i+1].at-d.layer4[i].at < 10*time.Second {
			t.Errorf("read again after %v", d.layer4[i+1].at-d.layer4[i].at)
		}
	}
	failing = false
	d.pass(25 * time.Hour)
	if !f.has(like) {
		t.Error("the next full resync does not bring it")
	}
}

// Refusals count in a row: a relay that answers the second time is asked everything.
func TestLayerFourForgivesSingleRefusals(t *testing.T) {
	f := newForum(t, 700)
	likes := []*nostr.Event{f.reaction(f.events[3], key(50)), f.reaction(f.events[600], key(50))}
	f.theirs(likes...)
	refused := map[string]bool{}
	d := f.refusing(t, func(r peer.Request) nostr.RelayMessage {
		x := nostr.Filter{Authors: r.Filters[0].Authors, Tags: r.Filters[0].Tags}
		if key := x.Key(); !refused[key] {
			refused[key] = true
			return nostr.Closed{Sub: r.Sub, Reason: "error: busy"}
		}
		return nil
	})
	d.connect(f.want, capacity.Limits{})
	d.pass(25*time.Hour + time.Hour)
	if len(d.rounds()) != 1 || !f.has(likes...) {
		t.Errorf("%d rounds", len(d.rounds()))
	}
}

// A clock that slips starts the catch-up anew; layer 4 goes on after it.
func TestLayerFourAfterAClockSlip(t *testing.T) {
	f := newForum(t, 1)
	like := f.reaction(f.events[2], key(50))
	f.theirs(like)
	held := ""
	d := f.refusing(t, func(r peer.Request) nostr.RelayMessage {
		if held == "" {
			held = r.Sub
			return nostr.Notice{Text: "hm"}
		}
		return nil
	})
	d.connect(f.want, capacity.Limits{})
	d.awaitLayer4(2)
	if held == "" {
		t.Fatal("nothing is asked")
	}
	d.clock.Wall = d.clock.Wall.Add(time.Hour)
	d.do(peer.Alive{})
	if err := d.peer.Check(); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(d.sent, func(e peer.Effect) bool { c, ok := e.(peer.CloseRequest); return ok && c.Sub == held }) {
		t.Error("what was open is not closed")
	}
	d.pass(time.Minute)
	if !f.has(like) || !d.peer.AllConfirmed() {
		t.Errorf("layer 4 does not go on, settled %v", d.peer.AllConfirmed())
	}
}

// Comments that name their root event and what they answer are met once.
func TestAnswersThatNameTheirRootAreAskedOnce(t *testing.T) {
	f := newForum(t, 1)
	first := f.events[2]
	for range 300 {
		f.both(f.about(f.issue, key(101), nostr.Tag{"E", f.issue.ID.String()}, nostr.Tag{"e", first.ID.String()}))
	}
	d := f.reader(t, 500)
	d.connect(f.want, capacity.Limits{})
	d.pass(25*time.Hour + 10*time.Minute)
	times := map[string]int{}
	for _, x := range d.layer4 {
		if x.filter != nil && x.filter.Tags != nil && x.filter.Limit == nil { // a reconciliation
			for _, v := range x.filter.Tags[0].Values {
				times[v]++
			}
		}
	}
	if len(times) != 302 {
		t.Errorf("%d are asked about", len(times))
	}
	for id, n := range times {
		if n > 1 {
			t.Fatalf("%s is asked about %d times", id, n)
		}
	}
}

func TestTheTourGoesAHundredValuesAtATime(t *testing.T) {
	var m mint
	events := []*nostr.Event{m.Announce(key(0), "x", 1, []string{us, string(here)})}
	for i := range 450 {
		events = append(events, m.Issue(int64(i), address(key(0), "x")))
	}
	for i := range 120 {
		events = append(events, m.Announce(key(0), fmt.Sprint("y", i), 1, []string{us, string(here)}))
	}
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.own = func(nostr.Filter) []*nostr.Event { return events }
	d.connect(wantOf(t, events...), capacity.Limits{})
	d.pass(25*time.Hour + 10*time.Minute)
	values, addresses := map[nostr.ID]bool{}, map[string]bool{}
	for _, x := range d.layer4 {
		if s := x.survey; s != nil {
			if n := len(s.IDs) + len(s.Addresses); n > 100 {
				t.Errorf("%d values in a survey", n)
			}
			for _, id := range s.IDs {
				values[id] = true
			}
			for _, a := range s.Addresses {
				addresses[a] = true
			}
		}
	}
	if len(values) != 450 || len(addresses) != 2*(1+100-1) {
		t.Errorf("surveyed %d root events and %d addresses", len(values), len(addresses))
	}
}

// What brings nothing in layer 4 is no reason to doubt the filters.
func TestLayerFourDoesNotProbeForKinds(t *testing.T) {
	var m mint
	ann := m.Announce(key(0), "x", 1, []string{us, string(here)})
	issue := m.Issue(2, address(key(0), "x"))
	comment := m.Event(nostr.KindComment, key(3), 3, nostr.Tag{"E", issue.ID.String()})
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.own = func(f nostr.Filter) []*nostr.Event {
		return slices.DeleteFunc([]*nostr.Event{ann, issue, comment}, func(e *nostr.Event) bool { return !f.Matches(e) })
	}
	d.connect(wantOf(t, ann, issue), capacity.Limits{})
	d.pass(25*time.Hour + 10*time.Minute)
	if len(d.asked()) == 0 {
		t.Fatal("nothing is asked")
	}
	for _, x := range d.asked() {
		if strings.Contains(x, "kinds") && !strings.Contains(x, `"kinds":[0,5,62]`) {
			t.Errorf("asked %s", x)
		}
	}
}

// A look into our own store is not interrupted for others: what it would have
// kept from being fetched again would be fetched.
func TestLayerFourLooksUpWhatItNeeds(t *testing.T) {
	f := newForum(t, 1)
	like := f.reaction(f.events[2], key(50))
	loose := f.Event(nostr.KindReaction, key(51), 1_700_000_500, nostr.Tag{"x", "y"}) // the relay takes it for an answer
	f.both(loose)
	f.theirs(like)
	d := f.reader(t, 500)
	d.neg = func(x nostr.Filter) []*nostr.Event {
		out := f.find(x, 1000)
		if len(x.Tags) > 0 && x.Tags[0].Name == 'e' && slices.Contains(x.Tags[0].Values, f.events[2].ID.String()) {
			out = append(out, loose)
		}
		return out
	}
	var sift *peer.Sift
	d.hold = func(e peer.Effect) bool {
		s, ok := e.(peer.Sift)
		if active, _ := d.peer.References(); ok && active && sift == nil {
			sift = &s
			return true
		}
		return false
	}
	d.connect(f.want, capacity.Limits{MaxSubscriptions: 3})
	for i := 0; sift == nil && i < 26*3600; i++ {
		d.pass(time.Second)
	}
	if sift == nil {
		t.Fatal("nothing is looked up")
	}
	fold := newFold(t)
	fold.AddAll(f.events[0], f.issue).Step()
	d.do(peer.Wanted{Want: fold.Wants[here]})
	fold.AddAll(f.mint.Event(1621, key(1), 1_700_009_000, nostr.Tag{"a", address(key(0), "x")})).Step()
	d.do(peer.Wanted{Want: fold.Wants[here]})
	d.do(d.sift(*sift))
	d.pass(time.Minute)
	if _, times := d.byIDs(); times[loose.ID] > 0 || !f.has(like) || !d.peer.AllConfirmed() {
		t.Errorf("what is here is asked %d times, settled %v", times[loose.ID], d.peer.AllConfirmed())
	}
}
