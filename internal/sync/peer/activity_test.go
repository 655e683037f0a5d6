package peer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// follows says whether an id of a root event stands in a live REQ.
func (d *driver) follows(id nostr.ID) bool { return d.followed()(id) }

// followed says that for many.
func (d *driver) followed() func(nostr.ID) bool {
	all := asks(d.following())
	return func(id nostr.ID) bool { return all["[]#e "+id.String()] > 0 }
}

// many is a relay of which so many root events are wanted, one a day, and the root events, the oldest first.
func many(t *testing.T, n int) (*fold, []*nostr.Event) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, string(here)}))
	var roots []*nostr.Event
	for i := range n {
		roots = append(roots, f.Issue(int64(i+1)*86_400, address(key(0), "x")))
	}
	f.AddAll(roots...).Step()
	return f, roots
}

// TestAnOldRootEventThatIsTalkedAboutIsFollowed where there is no room for all, however it is named, and in the place of older
// ones; of those that were followed no more are given up than one REQ holds.
func TestAnOldRootEventThatIsTalkedAboutIsFollowed(t *testing.T) {
	const n = 5000
	for i, subs := range []int{10, 5, 4, 3, 2} {
		tag := []string{"e", "E", "q"}[i%3]
		t.Run(fmt.Sprint(subs, tag), func(t *testing.T) {
			f, roots := many(t, n)
			d := newDriver(t, peer.Config{})
			d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: subs})
			d.pass(10 * time.Minute)
			before := d.peer.Status()
			var risen []*nostr.Event
			for round := range 20 {
				old := roots[7*round+i]
				risen = append(risen, old)
				if !d.peer.AllConfirmed() || d.follows(old.ID) {
					t.Fatalf("%d: followed already: %+v", round, d.peer.Status())
				}
				d.sent = nil
				f.AddAll(f.Event(nostr.KindComment, key(5), int64(n+round)*86_400, nostr.Tag{tag, old.ID.String()})).Step()
				d.do(peer.Wanted{Want: f.Wants[here]})
				d.pass(10 * time.Second)
				if !d.follows(old.ID) {
					t.Fatalf("%d: not followed: %+v", round, d.peer.Status())
				}
				asked := 0
				for _, e := range d.sent {
					if _, ok := e.(peer.OpenNeg); ok {
						asked++
					}
				}
				if asked != 3 {
					t.Errorf("%d: %d reconciliations for one root event", round, asked)
				}
				d.pass(2 * time.Minute)
			}
			for _, e := range append(risen, roots[n-1], roots[n-2]) {
				if !d.follows(e.ID) {
					t.Errorf("a root event of %d is not followed in the end", e.CreatedAt)
				}
			}
			s := d.peer.Status()
			if !d.peer.AllConfirmed() || d.most > subs || s.SweptRoots > before.SweptRoots+700 {
				t.Errorf("%d at once, %+v, and before %+v", d.most, s, before)
			}
		})
	}
}

// TestRootEventsRiseOnceAMinute together, however many are talked about or are new.
func TestRootEventsRiseOnceAMinute(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		f, roots := many(t, 3000)
		d := newDriver(t, peer.Config{})
		d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: 4})
		d.pass(10 * time.Minute)
		d.sent = nil
		polled := d.peer.Status().SweptRoots
		for i := range 11 {
			if fresh {
				roots[i] = f.Issue(3000*86_400, address(key(0), "x"))
				f.AddAll(roots[i])
			} else {
				f.AddAll(f.Event(nostr.KindComment, key(5), 3000*86_400, nostr.Tag{"e", roots[i].ID.String()}))
			}
			f.Step()
			d.do(peer.Wanted{Want: f.Wants[here]})
			if err := d.peer.Check(); err != nil {
				t.Fatal(err)
			}
			d.pass(5 * time.Second)
		}
		if n := len(d.requests(peer.Live)); n != 1 || !d.follows(roots[0].ID) || !d.peer.AllConfirmed() {
			t.Errorf("new %v: %d live REQs within the first minute", fresh, n)
		}
		d.pass(8 * time.Second)
		for i := range 11 {
			if !d.follows(roots[i].ID) {
				t.Errorf("new %v: %d is not followed", fresh, i)
			}
		}
		if n := len(d.requests(peer.Live)); n != 2 {
			t.Errorf("new %v: %d live REQs after a minute", fresh, n)
		}
		if n := d.peer.Status().SweptRoots - polled; n > 11 {
			t.Errorf("new %v: %d more are polled", fresh, n)
		}
	}
}

// TestTalkOfLongAgoChangesNothing: what ranks below all that is followed stays where it is, and is not asked for that.
func TestTalkOfLongAgoChangesNothing(t *testing.T) {
	f, roots := many(t, 3000)
	d := newDriver(t, peer.Config{})
	d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: 4})
	d.pass(10 * time.Minute)
	d.sent = nil
	f.AddAll(f.Event(nostr.KindComment, key(5), 160*86_400, nostr.Tag{"e", roots[150].ID.String()})).Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	d.pass(10 * time.Minute)
	if wanttest.Ranks(f.Wants[here])[roots[150].ID] != 160*86_400 || len(d.sent) > 0 {
		t.Errorf("%v", d.sent)
	}
	f.AddAll(f.Issue(170*86_400, address(key(0), "x"))).Step() // as little as a root event that is found late
	d.do(peer.Wanted{Want: f.Wants[here]})
	d.pass(10 * time.Minute)
	if n := len(d.requests(peer.Live)); n > 0 || !d.peer.AllConfirmed() {
		t.Errorf("%d live REQs", n)
	}
}

// TestFewRiseAtOnce of very many; in the end all that find a place are followed.
func TestFewRiseAtOnce(t *testing.T) {
	f, roots := many(t, 3000)
	d := newDriver(t, peer.Config{})
	d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: 4})
	d.pass(10 * time.Minute)
	for i := range 300 {
		f.AddAll(f.Event(nostr.KindComment, key(5), int64(3000+i)*86_400, nostr.Tag{"e", roots[i].ID.String()}))
	}
	f.Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	for minute := range 3 {
		n, follows := 0, d.followed()
		for i := range 300 {
			if follows(roots[i].ID) {
				n++
				if i < 300-100*(minute+1) {
					t.Fatalf("after %d minutes %d is followed", minute, i)
				}
			}
		}
		if n != 100*(minute+1) {
			t.Errorf("after %d minutes %d are followed", minute, n)
		}
		d.pass(time.Minute)
	}
}

// TestWhatRisesIsCountedOnce among what a relay lacks, and what it has is not fetched again.
func TestWhatRisesIsCountedOnce(t *testing.T) {
	f, roots := many(t, 3000)
	d := newDriver(t, peer.Config{})
	var all []*nostr.Event
	for _, e := range roots[:20] {
		all = append(all, f.Event(nostr.KindComment, key(5), e.CreatedAt, nostr.Tag{"e", e.ID.String()}))
	}
	matching := func(of []*nostr.Event) func(nostr.Filter) []*nostr.Event {
		return func(x nostr.Filter) (out []*nostr.Event) {
			for _, e := range of {
				if x.Matches(e) {
					out = append(out, e)
				}
			}
			return out
		}
	}
	d.own, d.neg = matching(all), matching(all[10:])
	d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: 4})
	d.pass(10 * time.Minute)
	before := d.peer.Status()
	if before.Lacks == nil || before.Lacks.Events != 10 {
		t.Fatalf("%+v", before)
	}
	f.AddAll(f.Event(nostr.KindComment, key(5), 3000*86_400, nostr.Tag{"e", roots[3].ID.String()}, nostr.Tag{"e", roots[13].ID.String()})).Step()
	d.sent = nil
	d.do(peer.Wanted{Want: f.Wants[here]})
	d.pass(time.Minute)
	if s := d.peer.Status(); s.Lacks.Events != 10 || *s.Coverage != *before.Coverage || !d.follows(roots[3].ID) {
		t.Errorf("%+v, %v of %v", *s.Lacks, *s.Coverage, *before.Coverage)
	}
	if requests, _ := d.byIDs(); requests != 0 || d.paged() != 0 {
		t.Errorf("%d requests by id, %d pages", requests, d.paged())
	}
}

// TestActivityRanksAtAReconnect, and in a full resync: the places go to those that were talked about last, whatever their age.
func TestActivityRanksAtAReconnect(t *testing.T) {
	for name, again := range map[string]func(d *driver){
		"reconnect": func(d *driver) {
			d.do(peer.Disconnected{Reason: "gone"})
			d.pass(time.Minute)
			d.do(peer.Connected{Limits: capacity.Limits{MaxSubscriptions: 10}})
		},
		"resync": func(d *driver) { d.pass(26 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			const n = 5000
			f, roots := many(t, n)
			d := newDriver(t, peer.Config{WholeFrom: 1 << 20})
			d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: 10})
			d.pass(10 * time.Minute)
			for i := range 100 {
				f.AddAll(f.Event(nostr.KindComment, key(5), (n-100)*86_400, nostr.Tag{"e", roots[i].ID.String()}))
			}
			f.AddAll(f.Event(nostr.KindComment, key(5), 160*86_400, nostr.Tag{"e", roots[150].ID.String()})).Step()
			d.do(peer.Wanted{Want: f.Wants[here]})
			again(d)
			d.pass(10 * time.Minute)
			follows := d.followed()
			for i := range 100 {
				if !follows(roots[i].ID) {
					t.Fatalf("root event %d is not followed: %+v", i, d.peer.Status())
				}
			}
			if name == "reconnect" && d.follows(roots[150].ID) { // in a resync it may find room that was left
				t.Error("what was talked about before the others were made is followed")
			}
			if !d.follows(roots[n-1].ID) {
				t.Error("the newest is not followed")
			}
		})
	}
}

// TestWhatIsTalkedAboutWhileItIsAsked in its turn is followed after that.
func TestWhatIsTalkedAboutWhileItIsAsked(t *testing.T) {
	const n = 3000
	f, roots := many(t, n)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: 6})
	d.pass(10 * time.Minute)
	held := false
	var waits []peer.Request
	d.hold = func(e peer.Effect) bool {
		r, ok := e.(peer.Request)
		if ok && held && r.Class == peer.Catchup && len(r.Filters[0].Tags) > 0 {
			waits = append(waits, r)
			return true
		}
		return false
	}
	d.pass(45 * time.Minute)
	held = true
	for len(waits) == 0 && d.clock.Mono < 2*time.Hour {
		d.pass(time.Second)
	}
	if len(waits) == 0 || d.peer.Status().SweptRoots == 0 {
		t.Fatalf("%d asked: %+v", len(waits), d.peer.Status())
	}
	var talked []*nostr.Event
	for i := range 50 {
		talked = append(talked, roots[i*30])
		f.AddAll(f.Event(nostr.KindComment, key(5), n*86_400, nostr.Tag{"e", roots[i*30].ID.String()}))
	}
	f.Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	if err := d.peer.Check(); err != nil {
		t.Fatal(err)
	}
	held = false
	for _, r := range waits {
		d.do(peer.Frame{Message: nostr.EOSE{Sub: r.Sub}})
	}
	d.pass(5 * time.Minute)
	if err := d.peer.Check(); err != nil {
		t.Fatal(err)
	}
	for i, e := range talked {
		if !d.follows(e.ID) {
			t.Errorf("%d is not followed", i)
		}
	}
	if !d.peer.AllConfirmed() || d.most > 6 {
		t.Errorf("%d at once, %+v", d.most, d.peer.Status())
	}
}

// TestRepositoriesRiseToo, which come one after the other to a relay that is full.
func TestRepositoriesRiseToo(t *testing.T) {
	f, _ := many(t, 3000)
	d := newDriver(t, peer.Config{})
	d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: 4})
	d.pass(10 * time.Minute)
	for i := range 5 {
		f.AddAll(f.Announce(key(10+i), "y", 1, []string{us, string(here)})).Step()
		d.do(peer.Wanted{Want: f.Wants[here]})
		d.pass(5 * time.Second)
	}
	d.pass(time.Minute)
	for i := range 5 {
		if asks(d.following())["[]#a "+address(key(10+i), "y")] == 0 {
			t.Errorf("repository %d is not followed", i)
		}
	}
	if !d.peer.AllConfirmed() {
		t.Errorf("%+v", d.peer.Status())
	}
}

// TestWhatIsNotConfirmedKeepsItsPlace, or it would be asked a second time when its turn comes.
func TestWhatIsNotConfirmedKeepsItsPlace(t *testing.T) {
	f, _ := many(t, 3000)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	d.hold = func(e peer.Effect) bool { r, ok := e.(peer.Request); return ok && r.Class == peer.Catchup }
	d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: 4})
	d.pass(time.Minute)
	f.AddAll(f.Issue(3000*86_400, address(key(0), "x"))).Step()
	d.do(peer.Wanted{Want: f.Wants[here]})
	for range 30 {
		d.pass(5 * time.Minute)
		if err := d.peer.Check(); err != nil {
			t.Fatalf("at %v: %v", d.clock.Mono, err)
		}
	}
}

// TestWhatRisesIsNoMoreThanIsBorne by a relay that bounds what all REQs ask for together.
func TestWhatRisesIsNoMoreThanIsBorne(t *testing.T) {
	f, roots := many(t, 1500)
	d := newDriver(t, peer.Config{})
	refused := 0
	d.refuse = func(r peer.Request) nostr.RelayMessage {
		all := map[string][]nostr.Filter{}
		for sub, o := range d.open {
			all[sub] = o.Filters
		}
		if costOf(all) <= 1500 {
			return nil
		}
		refused++
		return nostr.Closed{Sub: r.Sub, Reason: "blocked: too many subscriptions: their filters fill the memory set aside for a connection, close one first"}
	}
	d.connect(f.Wants[here], capacity.Limits{MaxSubscriptions: 200})
	d.pass(10 * time.Minute)
	say := func(of []*nostr.Event) {
		for _, e := range of {
			f.AddAll(f.Event(nostr.KindComment, key(5), 1500*86_400, nostr.Tag{"e", e.ID.String()}))
		}
		f.Step()
		d.do(peer.Wanted{Want: f.Wants[here]})
		d.pass(5 * time.Minute)
	}
	var some []*nostr.Event
	follows := d.followed()
	for i := 0; i < len(roots); i += 10 {
		if follows(roots[i].ID) {
			some = append(some, roots[i])
		}
	}
	say(some) // now no live REQ ranks below any other
	before := refused
	say(roots[:100])
	follows = d.followed()
	for i, e := range roots[:100] {
		if !follows(e.ID) {
			t.Errorf("%d is not followed", i)
		}
	}
	if refused != before || !d.peer.AllConfirmed() {
		t.Errorf("%d refusals and %d more, %+v", before, refused-before, d.peer.Status())
	}
}
