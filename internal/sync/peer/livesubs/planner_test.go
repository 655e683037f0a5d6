package livesubs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// relay is a live side whose REQs are sent and closed as it decides.
type relay struct {
	Planner
	t         *testing.T
	w         *want.Want
	repo      want.Item
	roots     []want.Item // the oldest first
	limits    capacity.Capacity
	filters   int // before small REQs are merged
	now       time.Duration
	confirmed itemset.Known
	asked     []itemset.Lot // polled, and asked now
	subs      int
	wanted    itemset.Set
}

// newRelay has a relay that bears so many REQs, of which one repository with so many root events is wanted: nothing waits yet.
func newRelay(t *testing.T, roots, subs int) *relay {
	f := wanttest.NewFold(t)
	f.AddAll(f.Announce(wanttest.Key(0), "x", 1, []string{wanttest.Us, wanttest.Relay(1)}))
	for at := range roots {
		f.AddAll(f.Issue(int64(at+1), wanttest.Address(wanttest.Key(0), "x")))
	}
	f.Step()
	r := &relay{t: t, w: f.Wants[want.URL(wanttest.Relay(1))], limits: capacity.Of(capacity.Limits{MaxSubscriptions: subs}, 10), filters: 1000}
	r.repo = r.w.Repos[0].Item
	r.w.Repos[0].EachRoot(func(it want.Item) { r.roots = append(r.roots, it) })
	slices.SortFunc(r.roots, func(a, b want.Item) int { return int(r.w.Rank(a) - r.w.Rank(b)) })
	return r
}

func (r *relay) facts() Facts {
	return Facts{Now: r.now, Want: r.w, Confirmed: &r.confirmed, Limits: &r.limits, Values: 10, MaxFilters: r.filters}
}

func (r *relay) lot(items ...want.Item) itemset.Lot {
	return itemset.Lot{Layer: r.w.Layer(items[0]), Items: slices.Clone(items)}
}

// queue has items wait.
func (r *relay) queue(items ...want.Item) {
	for _, it := range items {
		r.wanted.Put(it)
		r.Queue(r.lot(it))
	}
}

// make makes a move.
func (r *relay) make(m Move) {
	for _, x := range m.Unfollowed {
		r.polledNow(x)
	}
	if m.Load == nil {
		return
	}
	if !m.Overlap {
		for _, l := range m.Parts {
			r.Drop(l)
			for _, x := range l.Lots() {
				m.Load.Add(x)
			}
		}
	}
	r.subs++
	how := Sending{Sub: fmt.Sprint("l", r.subs), Now: backoff.Now{Mono: r.now}, RequestMode: demands.RequestMode{Kindless: true}, Values: m.Values, Limit: 1}
	for layer := want.LayerAnnouncements; layer <= want.LayerRoots; layer++ {
		if items := m.Load.Items(layer); len(items) > 0 {
			how.Filters = append(how.Filters, reqfilter.Of(r.w, layer, items, true, reqfilter.Bounds{Values: m.Values})...)
		}
	}
	r.Send(m.Load, how)
}

func (r *relay) polledNow(x Unfollowed) {
	if x.REQ != nil && slices.Contains(r.REQs(), x.REQ) {
		r.t.Errorf("REQ %s was polled and stands", x.REQ.Sub)
	}
	r.asked = append(r.asked, x.Lots...)
}

// tend has what waits followed as far as that goes. All REQs open, and then all that they follow is confirmed.
func (r *relay) tend() {
	r.t.Helper()
	for more := true; more; {
		m := r.Next(r.facts())
		r.make(m)
		more = m.More
		r.settle()
	}
}

// settle has all REQs open and replace their parts.
func (r *relay) settle() {
	r.t.Helper()
	for _, l := range r.REQs() {
		if !l.Open {
			l.Opened(r.now)
		}
	}
	for _, l := range r.REQs() {
		if l.Replaces(r.now + mergeLinger) {
			for _, p := range l.Absorb() {
				r.Drop(p)
			}
		}
		for it := range itemset.Each(l.Lots()) {
			r.confirmed.Put(it, it == r.repo)
		}
	}
	r.check()
}

// check looks whether each item stands in one place.
func (r *relay) check() {
	r.t.Helper()
	if err := r.Check(r.w); err != nil {
		r.t.Fatal(err)
	}
	places := map[want.Item]int{}
	count := func(lots ...itemset.Lot) {
		for it := range itemset.Each(lots) {
			places[it]++
		}
	}
	for _, l := range r.REQs() {
		count(l.Lots()...)
	}
	for _, w := range r.Waiting() {
		count(w.Lot)
	}
	for _, x := range r.Polls() {
		count(x.Lot)
	}
	count(r.asked...)
	for it := range r.wanted.Above(0) {
		if places[it] != 1 {
			r.t.Fatalf("item %d stands in %d places", it, places[it])
		}
	}
	if len(places) > r.wanted.Len()+1 {
		r.t.Fatalf("%d items have places, of %d", len(places), r.wanted.Len())
	}
}

// show tells how many items each REQ serves.
func (r *relay) show() string {
	var out []string
	for _, l := range r.REQs() {
		s := fmt.Sprint(len(itemset.ItemsOf(l.Lots())))
		if l.Merging() {
			s += "m"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func (r *relay) expect(reqs string, polled int) {
	r.t.Helper()
	n := len(itemset.ItemsOf(r.asked))
	for _, x := range r.Polls() {
		n += len(x.Items)
	}
	if got := r.show(); got != reqs || n != polled {
		r.t.Errorf("REQs for %s, %d are polled", got, n)
	}
}

// What waits goes into as few REQs as bear it, in the order in which it waits; what stands apart, into REQs of its own.
func TestWhatWaitsIsPacked(t *testing.T) {
	r := newRelay(t, 60, 19)
	r.queue(r.repo)
	r.wanted.Put(want.Announcements)
	r.Queue(itemset.Lot{Layer: want.LayerAnnouncements, Isolation: itemset.NeedsNoKinds, Items: []want.Item{want.Announcements}})
	r.queue(r.roots...)
	r.tend()
	r.expect("11 1 30 20", 0) // of ten filters, three for ten root events
	if l := r.REQs()[1]; l.Isolation != itemset.NeedsNoKinds || l.Lots()[0].Layer != want.LayerAnnouncements || r.REQs()[0].Isolation != itemset.Shared {
		t.Error("the announcements do not stand apart")
	}
	if len(r.Waiting()) > 0 || r.Wake(r.now) != backoff.Never {
		t.Errorf("%d lots wait, until %v", len(r.Waiting()), r.Wake(r.now))
	}
}

// Items wait until their time, and how often they were refused goes with them.
func TestWhatWaitsForItsTime(t *testing.T) {
	r := newRelay(t, 4, 19)
	r.wanted = itemset.Of(slices.Values(r.roots))
	r.Requeue(r.lot(r.roots[0]), time.Hour, 3)
	r.Requeue(r.lot(r.roots[1]), 2*time.Hour, 1)
	r.Requeue(r.lot(r.roots[2]), backoff.Never, 0)
	r.Queue(r.lot(r.roots[3]))
	r.tend()
	r.expect("1", 0)
	if r.Wake(0) != time.Hour {
		t.Errorf("wakes at %v", r.Wake(0))
	}
	r.PutForward(backoff.Never, 3*time.Hour)
	r.now = 3 * time.Hour
	if lots := r.TakeAll(2*time.Hour - 1); len(lots) != 1 || lots[0].Items[0] != r.roots[0] || len(r.Waiting()) != 2 {
		t.Errorf("taken %v, %d wait", lots, len(r.Waiting()))
	}
	r.wanted.Drop(r.roots[0])
	r.Requeue(r.lot(r.roots[0]), 0, 3)
	r.wanted.Put(r.roots[0])
	r.tend()
	r.expect("1 3", 0)
	if l := r.Newest(); l.Tries != 3 {
		t.Errorf("%d tries", l.Tries)
	}
	r.Newest().Calm(r.now + calmAfter - 1)
	if r.Newest().Tries != 3 {
		t.Error("calm at once")
	}
	if r.Newest().Calm(r.now + calmAfter); r.Newest().Tries != 0 {
		t.Error("what was followed for long is not calm")
	}
}

// Where the relay bears no more REQs, a small one is united with what is new; it is closed when that is open for a while.
func TestUnited(t *testing.T) {
	r := newRelay(t, 10, 4) // one live REQ, and room for one that merges
	for n, it := range r.roots[:3] {
		r.queue(it)
		m := r.Next(r.facts())
		if !m.More || (n > 0) != m.Overlap || len(m.Parts) != min(n, 1) {
			t.Fatalf("%d: %+v", n, m)
		}
		r.make(m)
		l := r.Newest()
		if n > 0 && (r.show() != fmt.Sprintf("%dm 1m", n) || l.Size.Items() != n+1 || !r.Moving()) {
			t.Fatalf("%d: %s", n, r.show())
		}
		if at := r.Wake(r.now); at != r.now+OpenAfter || l.Overdue(at-1) || !l.Overdue(at) {
			t.Errorf("wakes at %v", at)
		}
		if again := r.Next(r.facts()); again.More || again.Load != nil {
			t.Fatalf("%d: another move while REQs open", n)
		}
		l.Opened(r.now)
		if at := r.Wake(r.now); n > 0 && (at != r.now+mergeLinger || l.Replaces(at-1) || !l.Replaces(at)) {
			t.Errorf("replaces at %v", at)
		}
		r.settle()
		if r.show() != fmt.Sprint(n+1) || r.Moving() {
			t.Fatalf("%d: %s", n, r.show())
		}
	}
}

// What stands apart is united with what stands apart likewise, or gives way.
func TestNotUnitedWithWhatStandsApart(t *testing.T) {
	r := newRelay(t, 3, 5) // two live ones
	r.queue(r.roots[0])
	r.wanted.Put(want.Announcements)
	r.Queue(itemset.Lot{Layer: want.LayerAnnouncements, Isolation: itemset.NeedsNoKinds, Items: []want.Item{want.Announcements}})
	r.tend()
	r.queue(r.roots[1])
	m := r.Next(r.facts())
	if len(m.Parts) != 1 || m.Parts[0].Isolation != itemset.Shared || m.Load.Isolation != itemset.Shared {
		t.Fatalf("%+v", m)
	}
	r.make(m)
	r.settle()
	r.expect("1 2", 0)
}

// Where there is no room for two REQs to overlap, one is closed before the other is sent.
func TestUnitedWithoutRoom(t *testing.T) {
	r := newRelay(t, 2, 2)
	r.queue(r.roots[0])
	r.tend()
	r.queue(r.roots[1])
	m := r.Next(r.facts())
	if m.Overlap || len(m.Parts) != 1 || m.Load.Merging() {
		t.Fatalf("%+v", m)
	}
	r.make(m)
	r.expect("2", 0)
	r.settle()

	r = newRelay(t, 2, 4)
	r.queue(r.roots[0])
	r.tend()
	r.limits.BoundTotal(r.Bytes() * 2) // not what both ask for beside the first
	r.queue(r.roots[1])
	if m := r.Next(r.facts()); m.Overlap || len(m.Parts) != 1 {
		t.Fatalf("%+v", m)
	}
}

// The end of a part while it is being replaced; the end of what was to replace it; a merge that is called off.
func TestMergesThatEnd(t *testing.T) {
	merging := func() (r *relay, part, m *REQ) {
		r = newRelay(t, 2, 4)
		r.queue(r.roots[0])
		r.tend()
		r.queue(r.roots[1])
		r.make(r.Next(r.facts()))
		return r, r.REQs()[0], r.REQs()[1]
	}
	r, part, m := merging()
	r.Drop(part)
	if served := r.Lost(part, r.now); served || !r.Shrunk() || m.Merging() || m.Open {
		t.Error("the part of one that is not open is served")
	}
	r, part, m = merging()
	m.Opened(r.now)
	r.Drop(part)
	if served := r.Lost(part, r.now); !served || len(itemset.ItemsOf(m.Lots())) != 2 {
		t.Errorf("the part of one that is open is not served: %v", m.Lots())
	}
	r, part, m = merging()
	r.Drop(m)
	if served := r.Lost(m, r.now); served || part.Merging() || r.Wake(r.now) != r.now+backoff.FirstRetry {
		t.Errorf("the part is to be replaced, and that is tried again at %v", r.Wake(r.now))
	}
	r.Requeue(m.Lots()[0], 0, 0)
	if next := r.Next(r.facts()); next.More {
		t.Error("merged again at once")
	}
	r.now = r.Wake(r.now)
	if next := r.Next(r.facts()); !next.Overlap {
		t.Error("never merged again")
	}
	r, part, m = merging()
	if r.Merges(func(l *REQ) bool { return l.Sub == "else" }) || !r.Merges(func(l *REQ) bool { return l == part }) || !r.Merges(func(l *REQ) bool { return l == m }) {
		t.Error("who is merged")
	}
	if got := r.Cancel(r.now); got != m || part.Merging() || r.Wake(r.now) != r.now+OpenAfter {
		t.Errorf("cancelled %v", got)
	}
	r.Drop(m)
	if r.Cancel(r.now) != nil || r.Merges(func(*REQ) bool { return true }) {
		t.Error("cancelled twice")
	}
}

// Many small REQs are merged where their filters are too many and it saves some.
func TestManyFilters(t *testing.T) {
	for _, x := range []struct{ reqs, filters, left int }{{3, 8, 1}, {2, 5, 2}, {3, 9, 3}} {
		r := newRelay(t, 5, 19)
		r.filters = x.filters
		for _, it := range r.roots[:x.reqs] {
			r.queue(it)
			r.tend()
		}
		r.make(r.Merge(r.facts()))
		if again := r.Merge(r.facts()); again.Load != nil {
			t.Error("two merges at once")
		}
		r.settle()
		if r.Len() != x.left {
			t.Errorf("%d REQs, merged above %d filters: %s", x.reqs, x.filters, r.show())
		}
	}
	r := newRelay(t, 3, 19)
	r.filters = 8
	for _, it := range r.roots {
		r.queue(it)
		r.tend()
	}
	r.limits.BoundTotal(r.Bytes()*2 - 1)
	if m := r.Merge(r.facts()); m.Load != nil {
		t.Error("merged where the relay does not bear both")
	}
	r.limits = capacity.Of(capacity.Limits{}, 10)
	r.Cancel(0)
	r.mergeLater(0)
	if m := r.Merge(r.facts()); m.Load != nil {
		t.Error("merged after a merge that was refused")
	}
}

// A REQ that is much larger than what is new is left alone, where there are small ones.
func TestTheLargestIsLeftAlone(t *testing.T) {
	r := newRelay(t, 40, 5) // two live ones
	r.queue(r.roots[:20]...)
	r.tend()
	r.queue(r.roots[20])
	r.tend()
	for _, it := range r.roots[21:26] {
		r.queue(it)
		r.tend()
	}
	r.expect("20 6", 0)
}

// What is larger than a REQ even alone is polled, and what comes after it is followed.
func TestWhatFitsInNoREQ(t *testing.T) {
	r := newRelay(t, 2, 19)
	r.queue(r.repo)
	r.wanted.Put(r.roots[0])
	r.queue(r.roots[0])
	t1 := r.facts()
	t1.Values = 1
	limits := capacity.Of(capacity.Limits{}, 1)
	limits.Learn("too many filters", capacity.Refused{Filters: 6})
	t1.Limits = &limits
	m := r.Next(t1)
	r.make(m)
	if r.settle(); len(m.Unfollowed) != 1 || m.Unfollowed[0].REQ != nil || m.Load == nil {
		t.Errorf("%+v", m)
	}
	r.expect("1", 1)
}

// Where all REQs are full, what ranks lowest gives way: a REQ of it, or some of one. What was confirmed waits for its turn; what was not is asked.
func TestWhatGivesWay(t *testing.T) {
	r := newRelay(t, 100, 5) // two live ones of 30
	r.limits.FewerValues(10) // no more values in a filter than usual
	r.queue(r.roots[40:100]...)
	r.tend()
	r.expect("30 30", 0)
	r.queue(r.roots[:10]...) // older than all
	r.tend()
	r.expect("30 30", 10)
	if len(r.asked) == 0 {
		t.Error("what was never asked is not asked")
	}
	r = newRelay(t, 100, 5)
	r.limits.FewerValues(10)
	r.queue(r.roots[:60]...)
	r.tend()
	r.queue(r.roots[99]) // newer than all: the older half gives way
	m := r.Next(r.facts())
	if len(m.Unfollowed) != 1 || m.Unfollowed[0].REQ == nil || m.Unfollowed[0].Lots != nil || m.Load == nil {
		t.Fatalf("%+v", m)
	}
	r.make(m)
	r.settle()
	r.expect("30 1", 30)
	for _, x := range r.Polls() {
		if slices.Contains(x.Items, r.roots[30]) || x.At != r.now+PollInterval {
			t.Errorf("%v is polled at %v", x.Items, x.At)
		}
	}
}

// mixed has two full REQs that both have the newest and the oldest.
func mixed(t *testing.T) *relay {
	r := newRelay(t, 100, 5)
	r.limits.FewerValues(10)
	r.queue(r.roots[:29]...)
	r.queue(r.roots[99])
	r.queue(r.roots[29:58]...)
	r.queue(r.roots[98])
	r.tend()
	r.expect("30 30", 0)
	return r
}

// A REQ that has what ranks high as well is thinned, once in a minute, of as little as has to go.
func TestThinned(t *testing.T) {
	r := mixed(t)
	r.queue(r.roots[70:72]...)
	m := r.Next(r.facts())
	r.make(m)
	r.settle()
	r.expect("30 30", 2)
	if x := r.Polls(); len(x) != 1 || !slices.Equal(x[0].Items, r.roots[:2]) {
		t.Errorf("polled: %v", x)
	}
	r.queue(r.roots[73])
	r.tend()
	r.expect("30 30", 3)
	if len(r.asked) != 1 || r.Promotions() != 1 {
		t.Errorf("thinned twice in a minute, %d are to rise", r.Promotions())
	}
	// What was polled instead rises after that.
	r.Polled(r.asked[0], 0, r.now)
	r.confirmed.Put(r.roots[73], false)
	r.asked = nil
	if r.MayPromote(r.now) || r.Wake(r.now) != r.now+promoteInterval {
		t.Errorf("rises at %v", r.Wake(r.now))
	}
	r.now += promoteInterval
	up := r.Promote(r.facts(), nil)
	if !slices.Equal(up, []want.Item{r.roots[73]}) || r.Promotions() != 0 || r.MayPromote(r.now) {
		t.Fatalf("%v rise", up)
	}
	r.queue(up...)
	r.confirmed.Drop(r.roots[2])
	r.confirmed.Drop(r.roots[29])
	r.tend()
	r.expect("30 30", 3)
	for _, x := range r.Polls() {
		if slices.Contains(x.Items, r.roots[2]) || slices.Contains(x.Items, r.roots[29]) {
			t.Error("what is not confirmed gave way")
		}
	}
}

// Nothing is thinned of what ranks above what comes, nor for what the relay does not bear.
func TestNotThinned(t *testing.T) {
	r := mixed(t)
	r.confirmed = itemset.Known{}
	for _, it := range []want.Item{r.roots[98], r.roots[99]} {
		r.confirmed.Put(it, false)
	}
	r.queue(r.roots[70])
	r.tend()
	r.expect("30 30", 1)
	r = mixed(t)
	r.limits.BoundTotal(r.Bytes() - 350) // two root events less
	r.queue(r.roots[70])
	r.make(r.Next(r.facts()))
	r.check()
	r.expect("30 28", 3)
}

// Of what is talked about, what ranks above something that is followed rises, the highest first and so many at once; what is being asked, after that.
func TestRise(t *testing.T) {
	r := newRelay(t, 300, 19)
	follow := func(items ...want.Item) {
		load := &REQ{lots: []itemset.Lot{r.lot(items...)}}
		load.Size = load.sizeNow(r.w)
		r.make(Move{Load: load, Values: 10})
		r.wanted.Put(items[0])
	}
	follow(r.roots[10])
	poll := func(items ...want.Item) {
		for _, it := range items {
			r.wanted.Put(it)
			r.Polled(r.lot(it), 0, r.now)
		}
	}
	poll(r.roots[0:10]...)
	poll(r.roots[11:200]...)
	if r.MayPromote(r.now) {
		t.Error("something rises that nobody talks about")
	}
	for _, it := range r.roots[5:250] {
		r.Touch(it)
	}
	up := r.Promote(r.facts(), []want.Item{r.roots[240]})
	if len(up) != mostPromoted || up[0] != r.roots[199] || up[mostPromoted-1] != r.roots[100] {
		t.Fatalf("%d rise", len(up))
	}
	if !r.MayPromote(r.now) || r.Promotions() != 189-mostPromoted+1 {
		t.Errorf("%d are left", r.Promotions())
	}
	r.queue(up...)
	r.settle()
	up = r.Promote(r.facts(), []want.Item{r.roots[240]})
	if len(up) != 89 || up[88] != r.roots[11] || r.Promotions() != 1 || r.MayPromote(r.now) {
		t.Fatalf("then %d rise", len(up))
	}
	if poll(r.roots[240]); !r.MayPromote(r.now) {
		t.Error("what was asked is forgotten")
	}
	if up = r.Promote(r.facts(), nil); len(up) != 1 {
		t.Errorf("at last %d rise", len(up))
	}
	r.Touch(r.roots[1])
	if r.Unwanted(r.roots[1]); r.Promotions() != 0 {
		t.Error("what is wanted no more rises")
	}
}

// What had to give way with all of its REQ rises, where it ranks above something that another REQ follows.
func TestWhatGaveWayRises(t *testing.T) {
	r := newRelay(t, 40, 5) // two live ones
	r.queue(append([]want.Item{r.roots[0]}, r.roots[20:39]...)...)
	r.tend()
	r.queue(r.roots[1:19]...)
	r.tend()
	r.expect("20 18", 0)
	r.limits.BoundTotal(r.Bytes())
	r.queue(r.repo)
	r.tend()
	r.expect("20 1", 18)
	if up := r.Promote(r.facts(), nil); len(up) != 18 || up[0] != r.roots[18] {
		t.Errorf("%d rise", len(up))
	}
}

// What is polled comes in the order of time, when its turn has come.
func TestPollsInTheOrderOfTime(t *testing.T) {
	r := newRelay(t, 3, 19)
	for n, it := range r.roots {
		l := r.lot(it)
		l.Since = 7
		r.Polled(l, 0, time.Duration(n)*time.Minute)
	}
	for n, at := range []time.Duration{PollInterval - 1, PollInterval, PollInterval + 2*time.Minute - 1, PollInterval + 2*time.Minute} {
		for _, x := range r.Due(at) {
			if r.asked = append(r.asked, x.Lot); x.At > at || x.Since != itemset.AllStored {
				t.Errorf("at %v: %+v", at, x)
			}
		}
		if len(r.asked) != n || len(r.Polls()) != 3-n {
			t.Errorf("at %v: %d asked, %d wait", at, len(r.asked), len(r.Polls()))
		}
		if w := r.Wake(at); n < 3 && w != r.Polls()[0].At || n == 3 && w != backoff.Never {
			t.Errorf("at %v: wakes at %v", at, w)
		}
	}
	r.Polled(r.asked[0], PollInterval, PollInterval+time.Minute)
	if r.PollTook() != time.Minute {
		t.Errorf("the last one took %v", r.PollTook())
	}
}

// Where the relay turns out to bear fewer REQs, the smallest is closed; where it bears less of all together, what ranks lowest is polled.
func TestTheRelayBearsLess(t *testing.T) {
	r := newRelay(t, 60, 19)
	for _, items := range [][]want.Item{r.roots[20:40], r.roots[:5], r.roots[40:60]} {
		r.queue(items...)
		r.tend()
	}
	if r.Excess(3) != nil {
		t.Error("three are too many for three")
	}
	if l := r.Excess(2); l == nil || l.Sub != "l2" {
		t.Errorf("excess is %+v", l)
	}
	if _, ok := r.Unborne(r.facts()); ok {
		t.Error("something is too much")
	}
	r.limits.BoundTotal(r.Bytes() - 1)
	x, ok := r.Unborne(r.facts())
	if !ok || x.REQ.Sub != "l2" || x.Lots != nil || len(r.Polls()) != 1 || !r.Expendable(r.w) {
		t.Errorf("%+v", x)
	}
	if _, ok := r.Unborne(r.facts()); ok {
		t.Error("something is too much still")
	}
	r.check()
	r.limits.BoundTotal(1)
	for range 2 {
		if _, ok := r.Unborne(r.facts()); !ok {
			t.Error("nothing more gives way")
		}
	}
	if _, ok := r.Unborne(r.facts()); ok || r.Expendable(r.w) {
		t.Error("nothing is left, and gives way")
	}
	r.queue(r.repo) // the relay bears nothing: all is polled
	r.tend()
	r.expect("", 46)
}

// Where that is the only way, the root events of a REQ are given up, and then repositories; what else it has is told.
func TestGivenUp(t *testing.T) {
	r := newRelay(t, 3, 19)
	r.queue(append([]want.Item{r.repo}, r.roots...)...)
	r.make(r.Next(r.facts()))
	if _, _, ok := r.GiveUp(r.facts()); ok {
		t.Error("a REQ that is about to open is given up")
	}
	r.settle()
	x, rest, ok := r.GiveUp(r.facts())
	if !ok || x.REQ == nil || len(rest) != 1 || !slices.Equal(rest[0].Items, []want.Item{r.repo}) || len(r.Polls()) != 1 || r.Len() != 0 {
		t.Fatalf("%+v, rest %v, %d polls", x, rest, len(r.Polls()))
	}
	r.Queue(rest[0])
	r.tend()
	if x, rest, ok = r.GiveUp(r.facts()); !ok || rest != nil || len(r.Polls()) != 2 {
		t.Errorf("then %+v, rest %v, %d polls", x, rest, len(r.Polls()))
	}
	if _, _, ok = r.GiveUp(r.facts()); ok {
		t.Error("nothing is given up")
	}
}

// A repository, and a REQ that is about to open, are not given up.
func TestWhatIsNotGivenUp(t *testing.T) {
	r := newRelay(t, 1, 19)
	r.queue(r.repo)
	r.tend()
	r.queue(r.roots[0])
	r.make(r.Next(r.facts()))
	if r.Expendable(r.w) {
		t.Error("a repository or one that opens is given up")
	}
	if r.settle(); !r.Expendable(r.w) {
		t.Error("root events are not given up")
	}
}

// A merge that has not replaced its parts is no excess: it is cancelled before.
func TestExcessBesideAMerge(t *testing.T) {
	r := newRelay(t, 30, 5)
	r.queue(r.roots[:20]...)
	r.tend()
	r.queue(r.roots[20])
	r.tend()
	r.queue(r.roots[21])
	r.make(r.Next(r.facts()))
	if r.Excess(2) != nil {
		t.Error("the one that merges counts")
	}
	if l := r.Excess(1); l == nil || l.Sub != "l2" {
		t.Errorf("excess is %+v", l)
	}
}

// What is wanted no more leaves all places; REQs that serve nothing are told.
func TestShrink(t *testing.T) {
	r := newRelay(t, 9, 19)
	for n := range 3 {
		r.queue(r.roots[2*n : 2*n+2]...)
		r.tend()
	}
	r.queue(r.roots[6])
	r.Polled(r.lot(r.roots[7], r.roots[8]), 0, r.now)
	gone := itemset.Of(slices.Values([]want.Item{r.roots[0], r.roots[1], r.roots[2], r.roots[6], r.roots[7]}))
	for it := range gone.Above(0) {
		r.Unwanted(it)
		r.wanted.Drop(it)
	}
	if !r.Shrunk() {
		t.Fatal("nothing is to be taken out")
	}
	idle := r.Shrink(r.w, gone.Has)
	if len(idle) != 1 || idle[0].Sub != "l1" || r.Shrunk() {
		t.Fatalf("idle %v", idle)
	}
	r.Drop(idle[0])
	r.check()
	r.expect("1 2", 1)
	if len(r.Waiting()) != 0 {
		t.Error("what is gone waits")
	}
}

// Everything is asked anew: what is polled is tried live.
func TestAnew(t *testing.T) {
	r := newRelay(t, 5, 19)
	l := r.lot(r.roots[0])
	l.Since = 9
	r.Queue(l)
	r.make(r.Next(r.facts()))
	l = r.lot(r.roots[1], r.roots[2])
	l.Since = 9
	r.Requeue(l, time.Hour, 1)
	r.Polled(r.lot(r.roots[3]), 0, r.now)
	r.Newest().AskedAgain()
	if s := r.Newest().Lots()[0].Since; s != itemset.AllAgain {
		t.Errorf("asked since %v", s)
	}
	placed := r.Anew(func(it want.Item) bool { return it != r.roots[2] })
	if !slices.Equal(slices.Collect(placed.Above(0)), r.roots[:2]) || len(r.Polls()) > 0 {
		t.Errorf("placed %v", slices.Collect(placed.Above(0)))
	}
	if r.Newest().Lots()[0].Since != itemset.AllStored || r.Waiting()[0].Since != itemset.AllStored {
		t.Error("only what is new is asked")
	}
}

// A REQ for everything serves its items and is left alone by all that packs them.
func TestAWholeREQ(t *testing.T) {
	r := newRelay(t, 5, 19)
	l := NewWhole([]itemset.Lot{r.lot(r.roots[0])})
	r.Send(l, Sending{Sub: "w", Filters: []nostr.Filter{{}}, Values: 1})
	l.Opened(0)
	l.Add(r.lot(r.roots[1]))
	r.wanted = itemset.Of(slices.Values(r.roots[:2]))
	r.check()
	if !l.Whole || len(itemset.ItemsOf(l.Lots())) != 2 || !l.Holds(func(it want.Item) bool { return it == r.roots[1] }) || l.Holds(func(it want.Item) bool { return it == r.roots[2] }) {
		t.Errorf("%+v", l)
	}
	l.Without(func(it want.Item) bool { return it == r.roots[0] })
	if len(itemset.ItemsOf(l.Lots())) != 1 {
		t.Error("it serves what was taken out")
	}
}

// What a refusal as too large teaches is how large the REQ was.
func TestHowLargeAREQWas(t *testing.T) {
	r := newRelay(t, 15, 19)
	r.queue(r.roots...)
	r.tend()
	l := r.Newest()
	if got := l.Refused(false); got.Filters != 6 || got.Longest != 10 || got.Bytes != l.Size.Message(10) || l.Limit != 1 {
		t.Errorf("%+v", got)
	}
}

// Random lives: whatever happens, each item stands in one place.
func TestLives(t *testing.T) {
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		r := newRelay(t, 120, 2+rnd.IntN(8))
		r.filters = 10 + rnd.IntN(60)
		if rnd.IntN(2) == 0 {
			r.limits.FewerValues(10)
		}
		if rnd.IntN(2) == 0 {
			r.limits.BoundTotal(20_000 + rnd.IntN(60_000))
		}
		fresh := append([]want.Item{r.repo}, r.roots...)
		rnd.Shuffle(len(fresh), func(i, j int) { fresh[i], fresh[j] = fresh[j], fresh[i] })
		for len(fresh) > 0 {
			n := min(len(fresh), 1+rnd.IntN(20))
			r.queue(fresh[:n]...)
			fresh = fresh[n:]
			r.now += time.Duration(rnd.IntN(20)) * time.Minute
			switch l := r.Newest(); rnd.IntN(8) {
			case 0:
				if l != nil {
					r.Drop(l)
					if !r.Lost(l, r.now) {
						for _, x := range l.Lots() {
							r.Requeue(x, r.now+time.Minute, l.Tries+1)
						}
					}
				}
			case 1:
				if m := r.Cancel(r.now); m != nil {
					r.Drop(m)
					for _, x := range m.Lots() {
						r.Requeue(x, 0, 0)
					}
				}
			case 2:
				for _, it := range r.roots[:60] {
					r.Touch(it)
				}
			case 3:
				for _, x := range r.asked {
					for _, it := range x.Items {
						r.confirmed.Put(it, it == r.repo)
					}
					r.Polled(x, 0, r.now)
				}
				r.asked = nil
			case 4:
				for _, x := range r.Due(r.now) {
					r.asked = append(r.asked, x.Lot)
				}
			}
			r.check()
			if r.MayPromote(r.now) {
				for _, it := range r.Promote(r.facts(), itemset.ItemsOf(r.asked)) {
					r.confirmed.Drop(it)
					r.Queue(r.lot(it))
				}
			}
			for more := true; more; {
				m := r.Next(r.facts())
				r.make(m)
				more = m.More
			}
			r.check()
			r.make(r.Merge(r.facts()))
			if n, most := r.standing(), max(0, r.limits.Live()); n > most {
				t.Fatalf("seed %d: %d REQs, of %d", seed, n, most)
			}
			r.settle()
			for {
				x, ok := r.Unborne(r.facts())
				if !ok {
					break
				}
				r.polledNow(x)
			}
			r.check()
		}
	}
}
