package coverage_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
	"github.com/graspd/graspd/internal/test/testkit/itertest"
)

var here = want.URL(wanttest.Relay(1))

// repositories is a Want of two repositories, the first with a root event.
func repositories(t *testing.T) *want.Want {
	f := wanttest.NewFold(t)
	for i, d := range []string{"x", "y"} {
		f.AddAll(f.Announce(wanttest.Key(i), d, 1, []string{wanttest.Us, string(here)}))
	}
	f.AddAll(f.Issue(2, wanttest.Address(wanttest.Key(0), "x"))).Step()
	return f.Wants[here]
}

func all(want.Item) bool { return true }

// window is n events from the number from on, of which the relay lacks the first ones; each has the value at that place.
func window(from, n, lacking int, value int16) coverage.Window {
	var items []negentropy.Item
	w := coverage.Window{Lacks: map[[32]byte]struct{}{}}
	for i := range n {
		x := negentropy.Item{Time: uint64(from + i), ID: [32]byte{0: byte((from + i) >> 8), 1: byte(from + i)}}
		if items = append(items, x); i < lacking {
			w.Lacks[x.ID] = struct{}{}
		}
		w.Values = append(w.Values, value)
	}
	w.Set = negentropy.NewSet(items)
	return w
}

// asked is what the filters for the repository x told: its address as a and as q, in both the same events.
func asked(w *want.Want, windows ...coverage.Window) []coverage.Filter {
	at := w.Repository(w.Repos[0].Item).Addresses
	tallies := []*coverage.Tally{{Complete: true}, {Complete: true}}
	for _, y := range tallies {
		for _, x := range windows {
			y.Add(x, 1, slices.Values(tallies))
		}
	}
	return []coverage.Filter{{Tag: 'a', Values: at, Tally: tallies[0]}, {Tag: 'q', Values: at, Tally: tallies[1]}}
}

func TestAnEventCountsOnce(t *testing.T) {
	w := repositories(t)
	var b coverage.Book
	b.Begin()
	b.Want(w)
	b.Add(w, want.LayerRepositories, all, asked(w, window(1, 10, 3, 0), window(1, 10, 3, 0), window(20, 5, 5, -1)))
	if s, _ := b.Total(); s != (coverage.Count{}) || !b.Filling() {
		t.Errorf("before the end of the catch-up %+v counts", s)
	}
	b.End(w)
	ord := w.Repos[0].Ord
	if s, lacking := b.Total(); s != (coverage.Count{Here: 10, Lacks: 3}) || b.Of(ord) != s || lacking != 1 || b.Filling() {
		t.Errorf("%+v of %d, %+v", s, lacking, b.Of(ord))
	}
	// A new revision is asked in place of the former one.
	b.Add(w, want.LayerRepositories, all, asked(w, window(1, 10, 1, 0)))
	if b.Of(ord) != (coverage.Count{Here: 10, Lacks: 1}) {
		t.Errorf("asked again: %+v", b.Of(ord))
	}
	paged := asked(w, window(1, 10, 9, 0))
	paged[1].Tally.Complete = false
	b.Add(w, want.LayerRepositories, all, paged)
	if b.Of(ord) != (coverage.Count{Here: 10, Lacks: 1}) {
		t.Errorf("what was paged counts: %+v", b.Of(ord))
	}
}

// What a relay lacks of everything is told per repository once it is known what the events name.
func TestAttribution(t *testing.T) {
	w := repositories(t)
	x, y := w.Repos[0], w.Repos[1]
	begin := func() *coverage.Book {
		b := new(coverage.Book)
		b.Begin()
		b.Add(w, want.LayerRepositories, all, asked(w, window(1, 10, 3, 0)))
		b.End(w)
		return b
	}
	about := nostr.Tag{"a", w.Repository(x.Item).Addresses[0]}
	root := nostr.Tag{"e", wanttest.RootIDs(w, x)[0].String()}
	named := [][]string{
		coverage.NamesOf(&nostr.Event{Tags: []nostr.Tag{about, about, root}}),
		coverage.NamesOf(&nostr.Event{Tags: []nostr.Tag{{"a", w.Repository(y.Item).Addresses[0]}}}),
		coverage.NamesOf(&nostr.Event{Kind: nip34.KindState, Tags: []nostr.Tag{{"d", "x"}}}),
		coverage.NamesOf(&nostr.Event{Kind: nostr.KindNote, Tags: []nostr.Tag{{"d", "x"}}}),
	}
	lacks := []nostr.ID{{1}, {2}, {3}, {4}}

	b := begin()
	if !b.Compared(w, lacks, true) {
		t.Fatal("nothing is asked")
	}
	b.Ask("w1")
	b.Attributed("w0", w, all, nil, false)
	if b.Of(x.Ord).Lacks != 3 {
		t.Error("an answer to another question counts")
	}
	b.Attributed("w1", w, all, named, false)
	if b.Of(x.Ord) != (coverage.Count{Here: 10 + 1, Lacks: 2 + 1}) {
		t.Errorf("%+v", b.Of(x.Ord))
	}
	if b.Of(y.Ord) != (coverage.Count{}) {
		t.Errorf("what was never asked by items: %+v", b.Of(y.Ord))
	}
	b.Attributed("w1", w, all, nil, false)
	if b.Of(x.Ord).Lacks != 3 {
		t.Error("a second answer counts")
	}

	if b := begin(); b.Compared(w, nil, true) || b.Of(x.Ord) != (coverage.Count{Here: 10}) {
		t.Errorf("nothing is lacked: %+v", b.Of(x.Ord))
	}
	b = begin()
	b.Ask("w1")
	b.Begin()
	b.Attributed("w1", w, all, nil, false)
	if b.End(w); b.Of(x.Ord) != (coverage.Count{}) {
		t.Errorf("what was asked before everything was asked again counts: %+v", b.Of(x.Ord))
	}
	for _, lost := range []func(*coverage.Book){
		func(b *coverage.Book) { b.Compared(w, lacks, false) },
		func(b *coverage.Book) { b.Ask("w1"); b.Unanswered() },
		func(b *coverage.Book) { b.Ask("w1"); b.Attributed("w1", w, all, nil, true) },
	} {
		b := begin()
		b.Begin()
		lost(b)
		if !b.Filling() {
			t.Error("a question that will not be answered is open")
		}
		b.End(w)
		if b.Of(x.Ord) != (coverage.Count{Here: 10, Lacks: 3}) {
			t.Errorf("not known: %+v", b.Of(x.Ord))
		}
	}
}

func TestTheOperatorIsToldOnceAnHour(t *testing.T) {
	w := repositories(t)
	var b coverage.Book
	b.Begin()
	b.End(w)
	if b.Tell(w, 0) != nil {
		t.Error("told of nothing")
	}
	b.Add(w, want.LayerRepositories, all, asked(w, window(1, 10, 3, 0)))
	for _, c := range []struct {
		at   time.Duration
		told bool
	}{{0, true}, {time.Minute, false}, {59 * time.Minute, false}, {time.Hour, true}} {
		if r := b.Tell(w, c.at); (r != nil) != c.told || r != nil && r != w.Repos[0] {
			t.Errorf("at %v: %v", c.at, r)
		}
	}
	if b.Forget(); b.Of(w.Repos[0].Ord) != (coverage.Count{}) {
		t.Error("figures outlive what is wanted")
	}
	b.Add(w, want.LayerRepositories, all, nil)
	if b.Tell(w, time.Hour) != nil {
		t.Error("told of nothing")
	}
}

// Values that are not those of the set tell nothing.
func TestValuesOfAnotherSet(t *testing.T) {
	w := window(1, 3, 2, 0)
	if !w.Told() || len(w.Lacking()) != 2 {
		t.Errorf("%v, %v", w.Told(), w.Lacking())
	}
	if w.Values = w.Values[1:]; w.Told() {
		t.Error("one value is missing")
	}
}

// Whoever goes through what is kept may stop anywhere.
func TestTheSequenceOfFiguresEndsWithItsReader(t *testing.T) {
	w := repositories(t)
	var b coverage.Book
	b.Begin()
	b.Add(w, want.LayerRepositories, all, asked(w, window(1, 10, 3, 0)))
	itertest.Seq(t, func(context.Context) iter.Seq[uint32] { return b.Kept() })
}
