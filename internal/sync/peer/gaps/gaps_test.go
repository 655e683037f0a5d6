package gaps

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// start is when the connections of these tests opened.
var start = time.Unix(1_700_000_000, 0)

// after is the reading of both clocks so long after start.
func after(d time.Duration) backoff.Now { return backoff.Now{Mono: d, Wall: start.Add(d)} }

// TestWhatALiveREQShouldHaveBrought is what its filters match, from a minute after it opened on.
func TestWhatALiveREQShouldHaveBrought(t *testing.T) {
	f := wanttest.NewFold(t)
	repo := wanttest.Address(wanttest.Key(0), "x")
	issue := f.Issue(2, repo)
	f.AddAll(f.Announce(wanttest.Key(0), "x", 1, []string{wanttest.Us, wanttest.Relay(1)}), issue).Step()
	w := f.Wants[want.URL(wanttest.Relay(1))]
	item := w.Repos[0].Item
	root := want.Item(0)
	w.Repos[0].EachRoot(func(it want.Item) { root = it })
	var times Times
	times.Follow([]itemset.Lot{{Items: []want.Item{item}}}, after(0), after(0))
	times.Follow([]itemset.Lot{{Items: []want.Item{root}}}, after(0), after(time.Hour))
	at := func(d time.Duration, kind nostr.Kind, tag nostr.Tag) *nostr.Event {
		return &nostr.Event{Kind: kind, CreatedAt: start.Add(d).Unix(), Tags: nostr.Tags{tag}}
	}
	about, answers := nostr.Tag{"a", repo}, nostr.Tag{"E", issue.ID.String()}
	for name, c := range map[string]struct {
		e      *nostr.Event
		kinds  demands.Mode
		missed bool
	}{
		"before it opened":                    {at(59*time.Second, nostr.KindComment, about), demands.NoKinds, false},
		"after it opened":                     {at(60*time.Second, nostr.KindComment, about), demands.NoKinds, true},
		"of another repository":               {at(time.Hour, nostr.KindComment, nostr.Tag{"a", wanttest.Address(wanttest.Key(1), "x")}), demands.NoKinds, false},
		"of a kind that it names":             {at(time.Hour, nostr.KindComment, about), demands.AllKinds, true},
		"of a kind that it does not name":     {at(time.Hour, 31234, about), demands.AllKinds, false},
		"before the later REQ of its item":    {at(time.Hour+59*time.Second, nostr.KindComment, answers), demands.NoKinds, false},
		"after the later REQ of its item":     {at(time.Hour+60*time.Second, nostr.KindComment, answers), demands.NoKinds, true},
		"of an item that is followed earlier": {at(30*time.Minute, nostr.KindComment, about), demands.NoKinds, true},
	} {
		if got := times.Missed(w, c.kinds, []want.Item{item, root}, c.e); got != c.missed {
			t.Errorf("%s: missed %v", name, got)
		}
	}
}

// TestWhatALiveREQForEverythingShouldHaveBrought counts from when it opened, and from when the clock was set.
func TestWhatALiveREQForEverythingShouldHaveBrought(t *testing.T) {
	var times Times
	times.Restart(1000)
	for _, c := range []struct {
		since, created int64
		missed         bool
	}{{500, 1059, false}, {500, 1060, true}, {2000, 2059, false}, {2000, 2060, true}} {
		if got := times.MissedByAll(c.since, &nostr.Event{CreatedAt: c.created}); got != c.missed {
			t.Errorf("open since %d: an event of %d is missed: %v", c.since, c.created, got)
		}
	}
}

// TestWhatMayStillBeOnItsWayIsNoGap.
func TestWhatMayStillBeOnItsWayIsNoGap(t *testing.T) {
	if OldEnough(&nostr.Event{CreatedAt: start.Unix() - 59}, after(0)) || !OldEnough(&nostr.Event{CreatedAt: start.Unix() - 60}, after(0)) {
		t.Error("a minute is what an event takes to arrive")
	}
}

// TestGapsAreToldSparingly: ten an hour one by one, the rest as a sum that is as grave as the gravest.
func TestGapsAreToldSparingly(t *testing.T) {
	var g Gaps
	if g.Due() != backoff.Never {
		t.Errorf("without a gap an hour is over at %v", g.Due())
	}
	for i := range 15 {
		by := "catchup"
		if i == 12 {
			by = "daily"
		}
		if tell := g.Note(after(time.Duration(i)*time.Minute), by, i == 12, &nostr.Event{ID: nostr.ID{byte(i)}, CreatedAt: int64(i)}); tell != (i < 10) {
			t.Errorf("gap %d is told: %v", i, tell)
		}
	}
	if rest, _ := g.End(time.Hour - 1); rest != 0 || g.Due() != time.Hour {
		t.Errorf("%d are summed up within the hour, which is over at %v", rest, g.Due())
	}
	if rest, grave := g.End(time.Hour); rest != 5 || !grave {
		t.Errorf("%d are summed up, grave: %v", rest, grave)
	}
	if rest, _ := g.End(3 * time.Hour); rest != 0 || g.Due() != backoff.Never {
		t.Errorf("%d are summed up once more", rest)
	}
	last := g.Last()
	if len(last) != MostGaps || last[0].ID != (nostr.ID{5}) || last[7].By != "daily" || last[9].By != "catchup" || !last[9].Found.Equal(start.Add(14*time.Minute)) {
		t.Errorf("what is kept is %+v", last)
	}
	if !g.Note(after(4*time.Hour), "daily", true, &nostr.Event{}) || g.Due() != 5*time.Hour {
		t.Errorf("the next hour is over at %v", g.Due())
	}
}
