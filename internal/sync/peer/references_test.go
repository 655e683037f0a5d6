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

// forum is a repository with one issue at a relay, of which some is here.
type forum struct {
	*library
	issue *nostr.Event
	want  *peer.Want
}

// newForum has the repository, the issue and comments on it on both sides.
func newForum(t *testing.T, comments int) *forum {
	f := &forum{library: newLibrary(0)}
	ann := f.Announce(key(0), "x", 1_700_000_000, []string{us, string(here)})
	f.issue = f.mint.Event(1621, key(1), 1_700_000_100, nostr.Tag{"a", address(key(0), "x")})
	f.want = wantOf(t, ann, f.issue)
	f.both(ann, f.issue)
	for i := range comments {
		f.both(f.about(f.issue, key(100+i%9), nostr.Tag{"E", f.issue.ID.String()}))
	}
	return f
}

func (f *forum) both(events ...*nostr.Event) {
	f.theirs(events...)
	for _, e := range events {
		f.ours[e.ID] = true
	}
}

func (f *forum) theirs(events ...*nostr.Event) { f.events = append(f.events, events...) }

// about makes an event a minute younger than the newest.
func (f *forum) about(other *nostr.Event, author nostr.PubKey, tags ...nostr.Tag) *nostr.Event {
	return f.Event(nostr.KindComment, author, 1_700_000_100+60*int64(len(f.events)), tags...)
}

// reaction makes one that names the other by e only.
func (f *forum) reaction(other *nostr.Event, author nostr.PubKey) *nostr.Event {
	e := f.about(other, author, nostr.Tag{"e", other.ID.String()})
	e.Kind = nostr.KindReaction
	return e
}

func (f *forum) has(events ...*nostr.Event) bool {
	return !slices.ContainsFunc(events, func(e *nostr.Event) bool { return !f.ours[e.ID] })
}

// counted counts the events that are sent, but for those of probes.
func counted(d *driver) *int {
	n, serve := new(int), d.serve
	d.serve = func(sub string, filters []nostr.Filter) []*nostr.Event {
		out := serve(sub, filters)
		if !isEdgeProbe(peer.Request{Class: peer.Catchup, Filters: filters}) {
			*n += len(out)
		}
		return out
	}
	return n
}

func TestReferencesAreAskedInTheFullResync(t *testing.T) {
	f := newForum(t, 1)
	comment := f.events[2]
	like := f.reaction(comment, key(50))
	f.theirs(like)
	onLike := f.reaction(like, key(51))
	f.theirs(onLike)
	note := f.Event(nostr.KindNote, key(52), 1_700_000_000)
	f.theirs(note)
	onNote := f.reaction(note, key(53))
	f.theirs(onNote)
	comment.Tags = append(comment.Tags, nostr.Tag{"q", note.ID.String()}, nostr.Tag{"q", nostr.ID{9}.String()})
	var gone []*nostr.Event
	for _, by := range []int{0, 1, 100, 50, 51, 52, 53} {
		gone = append(gone, f.Event(nostr.KindDeletion, key(by), 1_700_000_000, nostr.Tag{"e", nostr.ID{8}.String()}))
	}
	f.theirs(gone...)
	foreign := f.Event(nostr.KindDeletion, key(60), 1_700_000_000, nostr.Tag{"e", nostr.ID{8}.String()})
	f.theirs(foreign, f.Event(nostr.KindNote, key(1), 1_700_000_000))
	wanted := append(slices.Clone(gone), like, onLike, note, onNote)

	d := f.reader(t, 500)
	sent := counted(d)
	d.connect(f.want, capacity.Limits{})
	d.pass(23*time.Hour - time.Second)
	if len(d.layer4) != 0 || *sent != 0 {
		t.Fatalf("before the full resync %d are asked", len(d.layer4))
	}
	d.pass(2*time.Hour + 10*time.Minute)
	if !f.has(wanted...) || f.has(foreign) || *sent != len(wanted) {
		t.Errorf("%d events were sent, of %d", *sent, len(wanted))
	}
	id := func(of ...*nostr.Event) string {
		var s []string
		for _, e := range of {
			s = append(s, fmt.Sprintf("%q", e.ID))
		}
		return strings.Join(s, ",")
	}
	ann, ids := f.events[0], d.asked()
	for i, want := range []string{
		fmt.Sprintf(`{"#e":[%s]}`, id(ann)),
		fmt.Sprintf(`{"ids":[%s,%q]}`, id(note), nostr.ID{9}),
		fmt.Sprintf(`{"ids":[%q]}`, nostr.ID{9}),
		fmt.Sprintf(`{"#e":[%s]}`, id(comment, note)),
	} {
		if !slices.Contains(ids, want) {
			t.Errorf("%d: not asked: %s", i, want)
		}
	}
	for i, x := range d.layer4 {
		if x.filter != nil && x.class != peer.Daily {
			t.Errorf("%d is asked with class %d", i, x.class)
		}
	}
	if last := ids[len(ids)-2]; !strings.Contains(last, `"kinds":[0,5,62]`) {
		t.Errorf("asked last: %s", last)
	}
	if n := d.peer.Status().Counters.Undelivered; n != 0 {
		t.Errorf("%d count as undelivered, which nobody has shown", n)
	}

	// The next day the sets are equal.
	for day := range 2 {
		*sent, d.layer4 = 0, nil
		d.pass(25 * time.Hour)
		if len(d.asked()) < 4 || *sent != 0 {
			t.Errorf("day %d: %d questions, %d events", day, len(d.asked()), *sent)
		}
		for _, x := range d.asked() {
			if strings.HasPrefix(x, `{"ids"`) && !strings.Contains(x, nostr.ID{9}.String()) {
				t.Errorf("day %d: %s", day, x)
			}
		}
	}
}

// chain makes events that each name the one before by e only.
func (f *forum) chain(first *nostr.Event, n int) []*nostr.Event {
	out := []*nostr.Event{first}
	for i := range n {
		e := f.reaction(out[i], key(50))
		f.theirs(e)
		out = append(out, e)
	}
	return out[1:]
}

func TestAnswersToAnswersAreFollowedSoFar(t *testing.T) {
	f := newForum(t, 1)
	chain := f.chain(f.events[2], 20)
	d := f.reader(t, 500)
	d.connect(f.want, capacity.Limits{})
	d.pass(25*time.Hour + 10*time.Minute)
	if n := threads.MostLevels; !f.has(chain[:n]...) || f.has(chain[n]) {
		t.Errorf("of a chain of 20 is here: %v", slices.IndexFunc(chain, func(e *nostr.Event) bool { return !f.ours[e.ID] }))
	}
}

// rounds splits what was asked for layer 4 by day.
func (d *driver) rounds() [][]layer4 {
	var out [][]layer4
	for i, x := range d.layer4 {
		if i == 0 || x.at-d.layer4[i-1].at > 12*time.Hour {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], x)
	}
	return out
}

// slowReader asks for one value at a time.
func (f *forum) slowReader(t *testing.T) *driver {
	d := f.reader(t, 500)
	d.peer = peer.NewPeer(peer.Config{URL: here, MaxTags: 1})
	return d
}

func TestLayerFourKeepsItsPaceAndItsBudget(t *testing.T) {
	const comments = 2500
	f := newForum(t, comments)
	d := f.slowReader(t)
	d.connect(f.want, capacity.Limits{})
	d.pass(2*25*time.Hour + 2*time.Hour)
	asked := map[string]int{}
	days := d.rounds()
	for day, steps := range days {
		for i, x := range steps {
			if i > 0 && x.at-steps[i-1].at < peer.ReferencePace {
				t.Fatalf("day %d: a step %v after the one before", day, x.at-steps[i-1].at)
			}
			if x.filter != nil && x.filter.Tags != nil {
				asked[x.filter.Tags[0].Values[0]]++
			}
		}
		if n := len(steps); day == 0 && (n < peer.ReferenceSteps || n > peer.ReferenceSteps+1) {
			t.Errorf("day %d: %d steps", day, n)
		}
	}
	if len(days) != 2 || !d.peer.AllConfirmed() {
		t.Errorf("layer 4 ran %d times, settled %v", len(days), d.peer.AllConfirmed())
	}
	twice := 0
	for _, n := range asked {
		if n > 1 {
			twice++
		}
	}
	// The second round goes full circle, to the announcement.
	if len(asked) != comments+1 || twice != 1 {
		t.Errorf("after two days %d of %d are asked, %d of them twice", len(asked), comments, twice)
	}
}

// Who moves here from a bootstrap relay may stop that relay on the next day: profiles, deletions and answers to answers do not wait until then.
func TestABootstrapRelayIsAskedInLayerFourSoon(t *testing.T) {
	f := newForum(t, 1)
	like := f.reaction(f.events[2], key(50))
	f.theirs(like)
	w := *f.want
	w.Bootstrap = true
	f.want = &w

	d := f.reader(t, 500)
	d.connect(f.want, capacity.Limits{})
	d.pass(9 * time.Minute)
	if len(d.layer4) != 0 {
		t.Error("asked while repositories and their events still come")
	}
	d.pass(6 * time.Minute)
	if len(d.rounds()) != 1 || !f.has(like) {
		t.Fatalf("%d rounds, has it %v", len(d.rounds()), f.has(like))
	}
	d.pass(22 * time.Hour)
	if n := len(d.rounds()); n != 1 {
		t.Errorf("%d rounds within a day", n)
	}
	again := f.reader(t, 500)
	n := d.reborn(peer.Config{}, time.Minute, nil)
	again.peer, again.clock = n.peer, n.clock
	again.connect(f.want, capacity.Limits{})
	again.pass(time.Hour)
	if len(again.layer4) != 0 {
		t.Error("a restart asks again")
	}
}
