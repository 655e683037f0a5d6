package peer_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// gapWorld is a peer and a relay that shows nothing live, from the moment of connecting on.
type gapWorld struct {
	*driver
	mint
	f       *fold
	daily   time.Duration // when the full resync comes, rounded up to a second
	stored  []*nostr.Event
	brought map[nostr.ID]bool
}

func newGapWorld(t *testing.T, roots int) *gapWorld {
	f, w := small(t, roots)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	g := &gapWorld{driver: d, mint: mint{N: 1 << 32}, f: f, daily: d.dailyAt(w), brought: map[nostr.ID]bool{}}
	d.serve = func(_ string, filters []nostr.Filter) (out []*nostr.Event) {
		for _, f := range filters {
			for _, e := range g.stored {
				if f.Matches(e) && !g.brought[e.ID] && *f.Limit > 0 {
					g.brought[e.ID] = true
					out = append(out, e)
				}
			}
		}
		return out
	}
	d.connect(w, capacity.Limits{})
	return g
}

// root returns the id of a root event.
func (g *gapWorld) root(n int) string {
	w := g.f.Wants[here]
	return wanttest.RootIDs(w, w.Repos[0])[n].String()
}

// has adds an event to the relay that was created so long after the connection began.
func (g *gapWorld) has(at time.Duration, tag, value string) *nostr.Event {
	e := g.mint.Event(nostr.KindComment, key(9), epoch.Add(at).Unix(), nostr.Tag{tag, value})
	g.stored = append(g.stored, e)
	return e
}

// told returns what the log says of gaps: the ids of events, and sums.
func (g *gapWorld) told(l peer.Level) (ids []string, sums []int) {
	for _, r := range g.reports {
		if len(r.Args) == 0 || r.Level != l {
			continue
		}
		switch r.Args[0] {
		case "event":
			ids = append(ids, r.Args[1].(string))
		case "count":
			sums = append(sums, r.Args[1].(int))
		}
	}
	return ids, sums
}

func TestGapsFoundByTheResync(t *testing.T) {
	g := newGapWorld(t, 2)
	repo := address(key(0), "x")
	for _, e := range []*nostr.Event{
		g.has(-time.Hour, "A", repo), g.has(59*time.Second, "A", repo), g.has(g.daily-60*time.Second, "E", g.root(1)),
		g.has(g.daily+time.Hour, "E", g.root(0)), // by a clock that is ahead
	} {
		defer func() {
			if !g.brought[e.ID] {
				t.Errorf("event of %d was not found", e.CreatedAt)
			}
		}()
	}
	var want []string
	for _, e := range []*nostr.Event{
		g.has(60*time.Second, "a", repo), g.has(g.daily-61*time.Second, "q", repo), g.has(3*time.Hour, "E", g.root(1)), g.has(4*time.Hour, "e", g.root(0)),
	} {
		want = append(want, e.ID.String())
	}
	state := g.mint.Event(30618, key(0), epoch.Add(time.Hour).Unix(), nostr.Tag{"d", "x"})
	g.stored = append(g.stored, state)
	want = append(want, state.ID.String())
	g.pass(g.daily + 10*time.Minute)
	got, _ := g.told(peer.LevelError)
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("told of %d gaps, want %d: %v, %v", len(got), len(want), got, want)
	}
	if n := g.peer.Status().Counters.Gaps; n != uint64(len(want)) {
		t.Errorf("counted %d", n)
	}
	var kept []string
	for _, gap := range g.peer.Details().Gaps {
		if gap.By != "daily" || gap.Found.Before(gap.Created.Add(time.Minute)) || gap.Created.Before(epoch) {
			t.Errorf("kept %+v", gap)
		}
		kept = append(kept, gap.ID.String())
	}
	if slices.Sort(kept); !slices.Equal(kept, want) {
		t.Errorf("kept %v, want %v", kept, want)
	}
	if warned, _ := g.told(peer.LevelWarn); len(warned) > 0 {
		t.Errorf("warned of %v", warned)
	}
}

// What is found while the first catch-up goes on is a gap by the same rule, and less grave.
func TestGapsFoundByCatchUp(t *testing.T) {
	g := &gapWorld{brought: map[nostr.ID]bool{}, mint: mint{N: 1 << 32}}
	_, w := small(t, 1)
	g.driver = newDriver(t, peer.Config{NoNegentropy: true})
	serving := false
	g.refuse = func(r peer.Request) nostr.RelayMessage {
		if f := r.Filters[0]; !serving && r.Class != peer.Live && len(f.Tags) > 0 && f.Tags[0].Name == 'A' {
			return nostr.Notice{Text: "busy"}
		}
		return nil
	}
	g.serve = func(_ string, filters []nostr.Filter) (out []*nostr.Event) {
		for _, e := range g.stored {
			if filters[0].Matches(e) && !g.brought[e.ID] && *filters[0].Limit > 0 {
				g.brought[e.ID] = true
				out = append(out, e)
			}
		}
		return out
	}
	g.connect(w, capacity.Limits{})
	gap, history := g.has(2*time.Minute, "A", address(key(0), "x")), g.has(-time.Hour, "A", address(key(0), "x"))
	g.pass(200 * time.Second)
	serving = true
	g.pass(10 * time.Minute)
	if got, _ := g.told(peer.LevelWarn); !g.brought[history.ID] || !slices.Equal(got, []string{gap.ID.String()}) {
		t.Errorf("warned of %v, want %v", got, gap.ID)
	}
}

// An item counts as followed from when its own live REQ opened, whatever REQs
// it is moved to later.
func TestGapsOfItemsThatCameLater(t *testing.T) {
	g := newGapWorld(t, 1)
	g.pass(time.Hour)
	for range 60 { // until small REQs are merged, more than once
		g.f.AddAll(g.f.Issue(5000, address(key(0), "x"))).Step()
		g.do(peer.Wanted{Want: g.f.Wants[here]})
		g.pass(time.Minute)
	}
	if n := g.peer.Status().LiveREQs; n > 30 {
		t.Fatalf("nothing was merged: %d live REQs", n)
	}
	late := 30
	opened := time.Hour + time.Duration(late-1)*time.Minute
	g.has(30*time.Minute, "E", g.root(late))
	g.has(opened+59*time.Second, "E", g.root(late))
	want := []string{
		g.has(opened+60*time.Second, "E", g.root(late)).ID.String(),
		g.has(opened+10*time.Minute, "E", g.root(late)).ID.String(),
		g.has(30*time.Minute, "E", g.root(0)).ID.String(),
	}
	g.pass(g.daily)
	got, _ := g.told(peer.LevelError)
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("told of %v, want %v", got, want)
	}
}

// What was missed while the connection was down, or before a live REQ was
// opened again, is no gap.
func TestNoGapsWhereNothingWasFollowed(t *testing.T) {
	g := newGapWorld(t, 1)
	g.pass(2 * time.Hour)
	g.do(peer.Disconnected{Reason: "reset"})
	g.has(2*time.Hour+time.Minute, "E", g.root(0))
	g.pass(10 * time.Minute)
	g.do(peer.Connected{})
	g.pass(time.Hour)
	before := time.Hour
	for _, sub := range slices.Sorted(maps.Keys(g.open)) {
		if r := g.open[sub]; r.Class == peer.Live {
			g.do(peer.Frame{Message: nostr.Closed{Sub: sub, Reason: "error: shutting down"}})
		}
	}
	g.has(2*time.Hour+11*time.Minute+before, "E", g.root(0))
	e := g.has(2*time.Hour+9*time.Minute+before, "E", g.root(0)) // it was followed then, but nobody knows any more
	g.pass(30 * time.Hour)
	if n := g.peer.Gaps(); n != 0 || !g.brought[e.ID] {
		t.Errorf("%d gaps", n)
	}
}

func TestNoGapsWhereTheClockWasSet(t *testing.T) {
	g := newGapWorld(t, 1)
	g.pass(2 * time.Hour)
	g.clock.Wall = g.clock.Wall.Add(10 * time.Hour)
	e := g.has(5*time.Hour, "E", g.root(0))
	g.do(peer.Tick{})
	if n := g.peer.Gaps(); n != 0 || !g.brought[e.ID] {
		t.Errorf("%d gaps", n)
	}
}

// Polled items have no live REQ, so nothing is missing from it.
func TestPolledItemsHaveNoGaps(t *testing.T) {
	f, w := small(t, 3000)
	d := newDriver(t, peer.Config{NoNegentropy: true})
	m := mint{N: 1 << 32}
	var e *nostr.Event
	found := false
	d.serve = func(_ string, filters []nostr.Filter) []*nostr.Event {
		if e != nil && !found && *filters[0].Limit > 0 && filters[0].Matches(e) {
			found = true
			return []*nostr.Event{e}
		}
		return nil
	}
	d.connect(w, capacity.Limits{MaxSubscriptions: 5})
	d.pass(30 * time.Minute)
	oldest := f.Wants[here]
	e = m.Event(nostr.KindComment, key(9), epoch.Add(20*time.Minute).Unix(), nostr.Tag{"E", wanttest.RootIDs(oldest, oldest.Repos[0])[0].String()})
	d.pass(2 * time.Hour)
	if d.peer.Status().SweptRoots == 0 || !found || d.peer.Gaps() != 0 {
		t.Errorf("%d gaps, found %v, %d polled", d.peer.Gaps(), found, d.peer.Status().SweptRoots)
	}
}

// Ten gaps an hour are told one by one, the rest as a sum.
func TestGapsAreToldSparingly(t *testing.T) {
	g := newGapWorld(t, 1)
	for i := range 25 {
		g.has(time.Hour+time.Duration(i)*time.Minute, "E", g.root(0))
	}
	g.pass(g.daily + time.Minute)
	lines, sums := g.told(peer.LevelError)
	if len(lines) != 10 || len(sums) != 0 || g.peer.Gaps() != 25 {
		t.Fatalf("%d lines, sums %v, %d gaps", len(lines), sums, g.peer.Gaps())
	}
	g.do(peer.Disconnected{Reason: "reset"}) // the hour ends all the same
	g.pass(59 * time.Minute)
	if lines, sums = g.told(peer.LevelError); len(lines) != 10 || !slices.Equal(sums, []int{15}) {
		t.Errorf("%d lines, sums %v", len(lines), sums)
	}
	g.pass(3 * time.Hour)
	if _, sums = g.told(peer.LevelError); len(sums) != 1 {
		t.Errorf("sums %v", sums)
	}
	g.do(peer.Connected{})
	at := g.clock.Mono
	g.pass(3 * time.Hour)
	g.has(at+time.Hour, "E", g.root(0))
	g.pass(26 * time.Hour)
	if lines, _ = g.told(peer.LevelError); len(lines) != 11 {
		t.Errorf("%d lines after another day", len(lines))
	}
}
