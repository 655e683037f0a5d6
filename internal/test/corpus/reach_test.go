package corpus_test

import (
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
)

// asked is what a sync asks for, as filters without bounds, by layer.
func asked(held []*nostr.Event) [4][]nostr.Filter {
	var addresses, states, ds, roots []string
	for _, e := range held {
		if e.Kind == nip34.KindRepository {
			a, _ := nip34.AddressOf(e)
			addresses, ds = append(addresses, a.String()), append(ds, a.D)
			a.Kind = nip34.KindState
			states = append(states, a.String())
		}
	}
	tags := func(name byte, values []string, kinds ...nostr.Kind) nostr.Filter {
		return nostr.Filter{Kinds: kinds, Tags: []nostr.TagFilter{{Name: name, Values: values}}}
	}
	byAddress := tags('a', addresses)
	for _, e := range held {
		if nip34.Is(e.Kind, nip34.Root) && byAddress.Matches(e) {
			roots = append(roots, e.ID.String())
		}
	}
	return [4][]nostr.Filter{
		1: {{Kinds: []nostr.Kind{nip34.KindRepository}}},
		2: {byAddress, tags('A', addresses), tags('q', addresses), tags('d', ds, nip34.KindRepository, nip34.KindState), tags('a', states, nostr.KindDeletion)},
		3: {tags('e', roots), tags('E', roots), tags('q', roots)},
	}
}

func TestLayer(t *testing.T) {
	author := nostr.PubKey{1}
	event := func(id byte, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
		return &nostr.Event{ID: nostr.ID{id}, PubKey: author, Kind: kind, Tags: tags}
	}
	address := nip34.Address{Kind: nip34.KindRepository, PubKey: author, D: "d"}
	repository, state, foreign := address.String(), "30618:"+author.String()+":d", "30617:"+author.String()+":other"
	held := []*nostr.Event{
		event(1, nip34.KindIssue, nostr.Tag{"a", repository}), // roots may stand before their repository
		event(2, nip34.KindRepository, nostr.Tag{"d", "d"}),
		event(3, nip34.KindPullRequestUpdate, nostr.Tag{"E", nostr.ID{1}.String()}),
		event(4, nip34.KindIssue, nostr.Tag{"a", foreign}),
		event(5, nip34.KindIssue, nostr.Tag{"q", repository}),
		event(6, nostr.KindComment, nostr.Tag{"a", repository}),
	}
	reach := corpus.NewReach(slices.Values(held))
	to := func(id byte) string { return nostr.ID{id}.String() }
	for _, tt := range []struct {
		name string
		e    *nostr.Event
		want int
	}{
		{"announcement", event(9, nip34.KindRepository), 1},
		{"state", event(9, nip34.KindState, nostr.Tag{"d", "d"}), 2},
		{"state of another", event(9, nip34.KindState, nostr.Tag{"d", "other"}), 0},
		{"a", event(9, nostr.KindNote, nostr.Tag{"x"}, nostr.Tag{"a", repository}), 2},
		{"A", event(9, nostr.KindNote, nostr.Tag{"A", repository}), 2},
		{"q of a repository", event(9, nostr.KindNote, nostr.Tag{"q", repository}), 2},
		{"u", event(9, nostr.KindNote, nostr.Tag{"u", repository}), 0},
		{"a as second value", event(9, nostr.KindNote, nostr.Tag{"a", foreign, repository}), 0},
		{"deletion of a state", event(9, nostr.KindDeletion, nostr.Tag{"a", state}), 2},
		{"deletion that quotes a state", event(9, nostr.KindDeletion, nostr.Tag{"q", state}), 0},
		{"reaction to a state", event(9, nostr.KindReaction, nostr.Tag{"a", state}), 0},
		{"both", event(9, nostr.KindNote, nostr.Tag{"e", to(1)}, nostr.Tag{"a", repository}), 2},
		{"e", event(9, nostr.KindNote, nostr.Tag{"e", to(1)}), 3},
		{"E", event(9, nostr.KindNote, nostr.Tag{"E", to(1)}), 3},
		{"q of a root", event(9, nostr.KindNote, nostr.Tag{"q", to(1)}), 3},
		{"e of an update that names no repository", event(9, nostr.KindReaction, nostr.Tag{"e", to(3)}), 0},
		{"e of an issue elsewhere", event(9, nostr.KindReaction, nostr.Tag{"e", to(4)}), 0},
		{"e of an issue that only quotes a repository", event(9, nostr.KindReaction, nostr.Tag{"e", to(5)}), 0},
		{"e of a comment", event(9, nostr.KindReaction, nostr.Tag{"e", to(6)}), 0},
		{"nothing", event(9, nostr.KindNote), 0},
	} {
		if got := reach.Layer(tt.e); got != tt.want {
			t.Errorf("%s: layer %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestLayersAreWhatTheFiltersFind(t *testing.T) {
	o := options(60, 400, 1200, 100)
	o.Older = true
	c := corpus.Generate(o)
	var held []*nostr.Event
	for e := range c.Events(corpus.Served) {
		held = append(held, e)
	}
	reach, layers := corpus.NewReach(c.Events(corpus.Served)), asked(held)
	counts := map[corpus.What][4]int{}
	for _, it := range c.Items {
		want := 0
		for layer := 3; layer >= 1; layer-- {
			for _, f := range layers[layer] {
				if f.Matches(it.Event) {
					want = layer
				}
			}
		}
		got := reach.Layer(it.Event)
		if got != want {
			t.Errorf("%v %s: layer %d, the filters of layer %d find it", it.What, it.Event.ID, got, want)
		}
		if it.Fate == corpus.Served {
			n := counts[it.What]
			n[got]++
			counts[it.What] = n
		}
	}
	for _, tt := range []struct {
		what     corpus.What
		layers   []int
		unlikely []int
	}{
		{corpus.Announcement, []int{1}, []int{0, 2, 3}}, {corpus.Maintainer, []int{1}, []int{0, 2, 3}}, {corpus.State, []int{2}, []int{0, 1, 3}},
		{corpus.Issue, []int{2}, []int{0, 1, 3}}, {corpus.Patch, []int{2}, []int{0, 1, 3}}, {corpus.PullRequestUpdate, []int{2, 3}, []int{0, 1}},
		{corpus.Comment, []int{2, 3}, []int{0, 1}}, {corpus.Status, []int{2, 3}, []int{0, 1}}, {corpus.Reaction, []int{0, 2, 3}, []int{1}},
		{corpus.Quote, []int{2, 3}, []int{0, 1}}, {corpus.Deletion, []int{0, 2}, []int{1}},
	} {
		for _, l := range tt.layers {
			if counts[tt.what][l] == 0 {
				t.Errorf("no %v in layer %d: %v", tt.what, l, counts[tt.what])
			}
		}
		for _, l := range tt.unlikely {
			if counts[tt.what][l] > 0 {
				t.Errorf("a %v in layer %d: %v", tt.what, l, counts[tt.what])
			}
		}
	}
}
