package nip34_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestReferences(t *testing.T) {
	a1, a2, a3 := repo("alice", "d"), repo("bob", "d:e"), nip34.Address{Kind: 10317, PubKey: key("carol")}
	state := nip34.Address{Kind: nip34.KindState, PubKey: key("alice"), D: "d"}
	for _, tc := range []struct {
		name      string
		tags      nostr.Tags
		addresses []nip34.Address
		ids       []nostr.ID
	}{
		{"nothing", nil, nil, nil},
		{"empty and short tags", nostr.Tags{{}, {"a"}, {"e"}, {"q"}, {"a", ""}}, nil, nil},
		{"all of a, A and q", nostr.Tags{tag("a", a1.String()), tag("A", a2.String()), tag("q", a3.String())},
			[]nip34.Address{a1, a2, a3}, nil},
		{"all of e, E and q", nostr.Tags{tag("e", id("1").String()), tag("E", id("2").String()), tag("q", id("3").String())},
			nil, []nostr.ID{id("1"), id("2"), id("3")}},
		{"each once", nostr.Tags{tag("a", a1.String()), tag("A", a1.String()), tag("q", a1.String()),
			tag("e", id("1").String()), tag("E", id("1").String()), tag("q", id("1").String())},
			[]nip34.Address{a1}, []nostr.ID{id("1")}},
		{"any addressable kind", nostr.Tags{tag("a", state.String())}, []nip34.Address{state}, nil},
		{"missing colon", nostr.Tags{tag("a", "10317:"+key("carol").String())}, []nip34.Address{a3}, nil},
		{"an id in a, an address in e", nostr.Tags{tag("a", id("1").String()), tag("e", a1.String())}, nil, nil},
		{"other tags", nostr.Tags{tag("u", a1.String()), tag("p", id("1").String()), tag("d", a1.String()),
			tag("event", id("1").String())}, nil, nil},
		{"only the first value", nostr.Tags{tag("e", "x", id("1").String()), tag("a", "", a1.String())}, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := nip34.References(event(1, tc.tags...))
			if !slices.Equal(got.Addresses, tc.addresses) || !slices.Equal(got.IDs, tc.ids) {
				t.Fatalf("got %v and %v", got.Addresses, got.IDs)
			}
		})
	}
}

func TestReferencesAreBounded(t *testing.T) {
	e := event(1)
	for i := range 500 {
		e.Tags = append(e.Tags, tag("e", id(fmt.Sprint(i)).String()), tag("a", repo("alice", fmt.Sprint(i)).String()))
	}
	got := nip34.References(e)
	if n := len(got.Addresses) + len(got.IDs); n != nip34.MaxReferences {
		t.Errorf("%d references", n)
	}
	if n := len(nip34.Repositories(e)); n != nip34.MaxReferences {
		t.Errorf("%d repositories", n)
	}
	late := event(1, slices.Repeat(nostr.Tags{tag("t", "x")}, nip34.MaxTags)...)
	late.Tags = append(late.Tags, tag("e", id("1").String()), tag("a", repo("alice", "d").String()))
	got = nip34.References(late)
	if len(got.Addresses)+len(got.IDs)+len(nip34.Repositories(late)) != 0 {
		t.Errorf("looked past %d tags: %v", nip34.MaxTags, got)
	}
	if got := nip34.References(event(1, late.Tags[1:]...)); len(got.IDs) != 1 {
		t.Errorf("did not look at %d tags", nip34.MaxTags)
	}
}

// All a tags count, not only the first: a root belongs to every repository that it names.
func TestRepositories(t *testing.T) {
	a1, a2 := repo("alice", "d"), repo("bob", "d")
	e := event(1621, tag("a", "30618:"+key("alice").String()+":d"), tag("a", a1.String(), "wss://hint"), tag("a", "nonsense"),
		tag("A", repo("carol", "d").String()), tag("q", repo("dave", "d").String()), tag("a", a2.String()), tag("a", a1.String()))
	if got := nip34.Repositories(e); !slices.Equal(got, []nip34.Address{a1, a2}) {
		t.Fatalf("got %v", got)
	}
}

// TestReferencesAreDistinct: values are told once, be they few or many.
func TestReferencesAreDistinct(t *testing.T) {
	for _, n := range []int{1, 2, 15, 16, 17, 18, 100} {
		e := event(1)
		for i := range 3 * n {
			e.Tags = append(e.Tags, tag("e", id(fmt.Sprint(i%n)).String()), tag("a", repo("alice", fmt.Sprint(i%n)).String()))
		}
		refs := nip34.References(e)
		if len(refs.IDs) != n || len(refs.Addresses) != n || len(nip34.Repositories(e)) != n {
			t.Errorf("of %d: %d ids, %d addresses, %d repositories", n, len(refs.IDs), len(refs.Addresses), len(nip34.Repositories(e)))
		}
		for i := range n {
			if refs.IDs[i] != id(fmt.Sprint(i)) || refs.Addresses[i] != repo("alice", fmt.Sprint(i)) {
				t.Errorf("%d of %d has another place", i, n)
			}
		}
	}
}
