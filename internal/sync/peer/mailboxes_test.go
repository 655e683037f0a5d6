package peer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/mailbox"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/history"
	"github.com/graspd/graspd/internal/sync/want"
)

// correspondence is people who write to a relay that nothing else names, or that a repository names too.
type correspondence struct {
	*forum
	share *mailbox.Mailbox
	wrote []*nostr.Event // that nobody but this relay has
}

// newCorrespondence has n people, each of whom has commented here and once more at the relay.
func newCorrespondence(t *testing.T, n int) *correspondence {
	t.Helper()
	c := &correspondence{forum: newForum(t, 0)}
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	fold := mailbox.New(service, nil, policy.Partakes, mailbox.Bounds{})
	for i := range n {
		said := c.about(c.issue, key(100+i), nostr.Tag{"E", c.issue.ID.String()})
		c.events, c.ours[said.ID] = append(c.events, said), true
		fold.Add(said)
		fold.Add(c.Event(nostr.KindRelayList, key(100+i), 1_700_000_000, nostr.Tag{"r", string(here)}))
		more := c.about(c.issue, key(100+i), nostr.Tag{"E", c.issue.ID.String()})
		c.theirs(more)
		c.wrote = append(c.wrote, more)
	}
	for _, s := range fold.Changed() {
		c.share = s
	}
	return c
}

// visited is a driver whose relay accepts every connection.
func (c *correspondence) visited(t *testing.T) *driver {
	d := c.reader(t, 500)
	d.hold = func(e peer.Effect) bool {
		if _, ok := e.(peer.Dial); ok {
			d.queue = append(d.queue, peer.Connected{})
			return true
		}
		return false
	}
	return d
}

func (c *correspondence) only() *peer.Want { return want.Nothing().WithMailbox(c.share) }

func (d *driver) hangups() (n int) {
	for _, e := range d.sent {
		if _, ok := e.(peer.HangUp); ok {
			n++
		}
	}
	return n
}

func TestARelayThatIsOnlyAMailboxIsVisited(t *testing.T) {
	c := newCorrespondence(t, 45)
	d := c.visited(t)
	d.do(peer.Wanted{Want: c.only()})
	for day := 1; day <= 3; day++ {
		d.passChecked(20 * time.Minute)
		if !c.has(c.wrote...) {
			t.Fatalf("day %d: not all has come", day)
		}
		s := d.peer.Status()
		if d.dials() != day || d.hangups() != day || s.Connected || s.Mailbox != 45 || !s.OnlyMailbox || s.Behind != 0 || s.Failures != 0 || s.Want.Items() != 0 {
			t.Fatalf("day %d: %d dials, %d ends, %+v", day, d.dials(), d.hangups(), s)
		}
		if until := s.NextAttempt.Sub(d.clock.Wall); until < 22*time.Hour || until > 25*time.Hour {
			t.Fatalf("day %d: it is visited again in %v", day, until)
		}
		more := c.about(c.issue, key(100+day), nostr.Tag{"E", c.issue.ID.String()})
		c.theirs(more)
		c.wrote = append(c.wrote, more)
		d.pass(s.NextAttempt.Sub(d.clock.Wall))
	}
	if d.most > 1 {
		t.Errorf("%d requests at once", d.most)
	}
	var last time.Duration
	for i, x := range d.layer4 {
		if x.survey != nil || x.class == peer.Live {
			t.Errorf("step %d: %+v", i, x)
		}
		if i > 0 && x.at-last < peer.ReferencePace && len(x.filter.Tags) > 0 != (len(d.layer4[i-1].filter.Tags) > 0) {
			t.Errorf("step %d comes %v after the one before", i, x.at-last)
		}
		last = x.at
	}
	if rest := d.requests(peer.Live, peer.Catchup); len(rest) > 0 {
		t.Errorf("it is asked for %+v", rest)
	}
}

// A relay that repositories name is asked as a mailbox when all else is through, over the same connection.
func TestANamedRelayIsAMailboxToo(t *testing.T) {
	c := newCorrespondence(t, 30)
	own := c.Event(nip34.KindGraspList, key(100), 1_700_000_000)
	c.theirs(own) // nothing but a mailbox or an author's question leads there
	d := c.visited(t)
	d.do(peer.Wanted{Want: c.want.WithMailbox(c.share)})
	d.passChecked(time.Hour)
	if s := d.peer.Status(); s.OnlyMailbox || s.Mailbox != 30 || s.Phase != "live" || c.has(own) || len(d.layer4) > 0 {
		t.Fatalf("%+v", s)
	}
	d.pass(25 * time.Hour)
	if !c.has(own) || d.dials() != 1 || d.hangups() != 0 {
		t.Errorf("has it %v, %d dials, %d ends", c.has(own), d.dials(), d.hangups())
	}
	if len(d.layer4) == 0 || d.layer4[0].survey == nil {
		t.Error("mailboxes are asked before what names the events that are here")
	}
}

// A relay that is followed anyway, as bootstrap relays are, is asked as an index when there is somebody to ask for, and then daily.
func TestANamedRelayBecomesAnIndex(t *testing.T) {
	c := newCorrespondence(t, 0)
	list := c.Event(nostr.KindRelayList, key(300), 1_700_000_000)
	c.theirs(list)
	d := c.visited(t)
	d.do(peer.Wanted{Want: c.want})
	d.pass(time.Minute)
	index := &mailbox.Mailbox{Index: []nostr.PubKey{key(300)}}
	d.do(peer.Wanted{Want: c.want.WithMailbox(index)})
	d.pass(time.Minute)
	if s := d.peer.Status(); !c.has(list) || !s.Index || s.Phase != "live" || d.dials() != 1 {
		t.Fatalf("has the list %v, %+v", c.has(list), s)
	}
	asked := len(d.layer4)
	for range 50 { // who comes and goes does not make it be asked in a loop
		d.do(peer.Wanted{Want: c.want})
		d.pass(time.Minute)
		d.do(peer.Wanted{Want: c.want.WithMailbox(index)})
		d.pass(time.Minute)
	}
	if n := len(d.layer4) - asked; n > 0 {
		t.Errorf("it is asked %d times more", n)
	}
}

func TestAMailboxBecomesNamedAndBack(t *testing.T) {
	c := newCorrespondence(t, 30)
	d := c.visited(t)
	d.do(peer.Wanted{Want: c.only()})
	d.pass(5 * time.Second)
	if n := len(d.following()); n != 0 || !d.peer.Status().Connected {
		t.Fatalf("%d live filters, connected %v", n, d.peer.Status().Connected)
	}
	d.do(peer.Wanted{Want: c.want.WithMailbox(c.share)})
	d.pass(time.Minute)
	if s := d.peer.Status(); len(d.following()) == 0 || s.Want.Repositories != 1 || s.Want.Roots != 1 || s.Confirmed != s.Want || s.Phase != "live" || d.hangups() != 0 {
		t.Fatalf("named: %+v", s)
	}
	d.do(peer.Wanted{Want: want.Nothing().WithMailbox(c.share)})
	d.passChecked(time.Hour)
	if s := d.peer.Status(); s.Connected || s.Want.Items() != 0 || s.Confirmed.Items() != 0 || d.dials() != 1 {
		t.Fatalf("only a mailbox again: %+v", s)
	}
	d.do(peer.Wanted{Want: c.want})
	d.pass(time.Minute)
	if s := d.peer.Status(); s.Phase != "live" || s.Mailbox != 0 || s.Confirmed != s.Want || s.Want.Repositories != 1 {
		t.Fatalf("named again: %+v", s)
	}
}

func TestAVisitThatIsLostGoesOn(t *testing.T) {
	c := newCorrespondence(t, 45)
	d := c.visited(t)
	begun := d.clock.Mono
	d.do(peer.Wanted{Want: c.only()})
	for lost := 0; !c.has(c.wrote...); {
		d.pass(5 * time.Second)
		if d.peer.Status().Connected {
			d.do(peer.Disconnected{Reason: "gone"})
			d.open = map[string]peer.Request{}
			lost++
		}
		if d.clock.Mono > begun+22*time.Hour { // a full resync would go on
			t.Fatalf("a relay that hangs up is never asked for all: %d visits", lost)
		}
	}
	if n := d.dials(); n < 2 || n > 30 {
		t.Errorf("%d dials", n)
	}
}

func TestAMailboxThatIsNotWelcomeIsLeft(t *testing.T) {
	for name, m := range map[string]nostr.Closed{"rate": {Reason: "rate-limited: slow down"}, "restricted": {Reason: "restricted: no"}, "error": {Reason: "error: no"}} {
		t.Run(name, func(t *testing.T) {
			c := newCorrespondence(t, 45)
			d := c.visited(t)
			d.negFault = func(e peer.OpenNeg) nostr.RelayMessage { return nostr.Closed{Sub: e.Sub, Reason: m.Reason} }
			d.refuse = func(r peer.Request) nostr.RelayMessage { return nostr.Closed{Sub: r.Sub, Reason: m.Reason} }
			d.do(peer.Wanted{Want: c.only()})
			d.passChecked(2 * time.Hour)
			if s := d.peer.Status(); s.Connected || len(d.layer4) > 8 || d.dials() != 1 {
				t.Errorf("%d steps, %d dials, %+v", len(d.layer4), d.dials(), s)
			}
		})
	}
}

// However many people write to a relay, and however much, a visit takes no more of it than a full resync of layer 4 may.
func TestAVisitIsBounded(t *testing.T) {
	c := newCorrespondence(t, 3000)
	d := c.visited(t)
	d.peer = peer.NewPeer(peer.Config{URL: here, NoNegentropy: true})
	d.serve = func(_ string, filters []nostr.Filter) []*nostr.Event { // a page without end
		var out []*nostr.Event
		for i := range *filters[0].Limit {
			until := int64(1_700_000_000)
			if filters[0].Until != nil {
				until = *filters[0].Until
			}
			out = append(out, c.Event(nostr.KindComment, key(100), until-int64(i)))
		}
		return out
	}
	d.do(peer.Wanted{Want: c.only()})
	d.pass(20 * time.Hour)
	if n := len(d.layer4); n > peer.ReferenceSteps+peer.MostQuestion || n < peer.ReferenceSteps/2 {
		t.Errorf("%d steps", n)
	}
	if d.peer.Status().Connected {
		t.Error("it is connected to on")
	}
}

func TestVisitsAreNotRepeatedByARestart(t *testing.T) {
	c := newCorrespondence(t, 5)
	d := c.visited(t)
	d.do(peer.Wanted{Want: c.only()})
	if r := (history.Record{}); !r.VisitDue(peer.Defaults().Backoff(), peer.Defaults().Resync, d.clock.Wall) {
		t.Errorf("before the first visit: %+v", r)
	}
	d.pass(time.Hour)
	r := d.peer.Record()
	for _, tc := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {20 * time.Hour, false}, {25 * time.Hour, true}, {-3 * 24 * time.Hour, true}} {
		if got := r.VisitDue(peer.Defaults().Backoff(), peer.Defaults().Resync, d.clock.Wall.Add(tc.after)); got != tc.want {
			t.Errorf("after %v: %v", tc.after, got)
		}
	}
	if r := r.VisitNow(); !r.VisitDue(peer.Defaults().Backoff(), peer.Defaults().Resync, d.clock.Wall) {
		t.Error("the operator asks for a visit in vain")
	}
	if ourself := (history.Record{Ourself: true}); ourself.VisitDue(peer.Defaults().Backoff(), peer.Defaults().Resync, d.clock.Wall) {
		t.Error("this relay visits itself")
	}
	again := c.visited(t)
	again.peer, again.clock = peer.NewPeer(peer.Config{URL: here, Past: r}), backoff.Now{Wall: d.clock.Wall}
	again.do(peer.Wanted{Want: c.only()})
	again.pass(20 * time.Hour)
	if n := again.dials(); n != 0 {
		t.Errorf("%d visits on the day of one", n)
	}
	again.do(peer.Retry{})
	again.pass(time.Hour)
	if n := again.dials(); n != 1 || len(again.layer4) == 0 {
		t.Errorf("the operator asks: %d visits, %d steps", n, len(again.layer4))
	}
}

// TestAVisitThatIsAskedForDuringOne is that one: nothing is asked twice.
func TestAVisitThatIsAskedForDuringOne(t *testing.T) {
	var steps []int
	for _, asked := range []bool{false, true} {
		c := newCorrespondence(t, 5)
		d := c.visited(t)
		d.do(peer.Wanted{Want: c.only()})
		if !d.peer.Status().Connected {
			t.Fatal("no visit is under way")
		}
		if asked {
			d.do(peer.Retry{})
		}
		d.pass(time.Hour)
		if d.dials() != 1 || d.peer.Status().Connected {
			t.Errorf("asked for %v: %d visits, connected %v", asked, d.dials(), d.peer.Status().Connected)
		}
		steps = append(steps, len(d.layer4))
	}
	if steps[0] != steps[1] {
		t.Errorf("%d steps, and %d where a visit is asked for", steps[0], steps[1])
	}
}

func TestWhatAMailboxMakesOfItsSlot(t *testing.T) {
	c := newCorrespondence(t, 5)
	d := c.visited(t)
	d.do(peer.Wanted{Want: c.only()})
	during := fmt.Sprint(history.UseOf(d.peer.Status()))
	d.pass(time.Hour)
	if after := fmt.Sprint(history.UseOf(d.peer.Status())); during != "0" || after != "3" {
		t.Errorf("while it is asked %s, afterwards %s", during, after)
	}
}

// Where mailboxes are asked, the lists of authors are asked for with their profiles.
func TestListsOfRelaysAreAskedWithProfiles(t *testing.T) {
	for _, on := range []bool{false, true} {
		f := newForum(t, 3)
		list := f.Event(nostr.KindRelayList, key(100), 1_700_000_000)
		f.theirs(list)
		d := f.reader(t, 500)
		d.peer = peer.NewPeer(peer.Config{URL: here, Mailboxes: on})
		d.connect(f.want, capacity.Limits{})
		d.pass(26 * time.Hour)
		if f.has(list) != on {
			t.Errorf("mailboxes %v: has the list %v", on, f.has(list))
		}
	}
}
