package nip34_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestParseStateRefs(t *testing.T) {
	for _, tc := range []struct {
		name string
		tag  nostr.Tag
		keep bool
	}{
		{"branch", tag("refs/heads/main", oid), true},
		{"tag", tag("refs/tags/v1.0", oid), true},
		{"SHA-256", tag("refs/heads/main", oid2), true},
		{"parents after the first value", tag("refs/heads/main", oid, oid2, "x"), true},
		{"slashes", tag("refs/heads/a/b/c", oid), true},
		{"unicode", tag("refs/heads/größe", oid), true},
		{"a name that git refuses", tag("refs/heads/../../x", oid), true},
		{"no name", tag("refs/heads/", oid), true},
		{"no object id", tag("refs/heads/main", "--option"), true},
		{"no value", tag("refs/heads/main"), true},
		{"peeled", tag("refs/tags/v1.0^{}", oid), false},
		{"peeled, no object id", tag("refs/tags/v1.0^{}", "x"), false},
		{"peeled branch", tag("refs/heads/main^{}", oid), true},
		{"symbolic", tag("refs/heads/main", "ref: refs/heads/other"), false},
		{"pull", tag("refs/pull/1/head", oid), false},
		{"nostr", tag("refs/nostr/"+oid2, oid), false},
		{"the ref tag of others", tag("ref", "refs/heads/main", oid), false},
		{"no namespace", tag("main", oid), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := nip34.ParseState(event(nip34.KindState, tag("d", "d"), tc.tag))
			if err != nil {
				t.Fatal(err)
			}
			var want []nip34.Ref
			if tc.keep {
				want = []nip34.Ref{{Name: tc.tag.Name(), OID: tc.tag.Value()}}
			}
			if !slices.Equal(s.Refs, want) {
				t.Errorf("got %v", s.Refs)
			}
		})
	}
}

func TestParseStateHead(t *testing.T) {
	for _, tc := range []struct{ name, value, want string }{
		{"with ref", "ref: refs/heads/main", "refs/heads/main"},
		{"bare", "refs/heads/main", "refs/heads/main"},
		{"a tag", "ref: refs/tags/v1", ""},
		{"detached", oid, ""},
		{"without a space", "ref:refs/heads/main", "refs/heads/main"},
		{"something else", "ref: HEAD", ""},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := nip34.ParseState(event(nip34.KindState, tag("HEAD", tc.value)))
			if err != nil || s.Head != tc.want {
				t.Fatalf("got %+v, %v", s, err)
			}
		})
	}
}

func TestParseState(t *testing.T) {
	s, err := nip34.ParseState(event(nip34.KindState, tag("d", "a:b"), tag("refs/heads/b", oid), tag("HEAD", "x"),
		tag("refs/heads/a", "x"), tag("refs/heads/a", oid2), tag("refs/heads/b", oid2), tag("HEAD", "refs/heads/a"), tag("HEAD", "refs/heads/b")))
	if err != nil {
		t.Fatal(err)
	}
	want := []nip34.Ref{{Name: "refs/heads/b", OID: oid}, {Name: "refs/heads/a", OID: "x"}}
	if !slices.Equal(s.Refs, want) || s.Head != "refs/heads/a" {
		t.Errorf("got %v, HEAD %q", s.Refs, s.Head)
	}
	address := nip34.Address{Kind: nip34.KindState, PubKey: key("alice"), D: "a:b"}
	if s.Address != address || s.ID != id("event") || s.CreatedAt != 1000 {
		t.Errorf("got %+v", s)
	}
	if s, err := nip34.ParseState(event(nip34.KindState)); err != nil || s.Address.D != "" || s.Refs != nil || s.Head != "" {
		t.Errorf("empty state: %+v, %v", s, err)
	}
	_, err = nip34.ParseState(event(nip34.KindRepository))
	wantErr(t, err, nip34.ErrKind)
	_, err = nip34.ParseState(event(nip34.KindState, tag("d", strings.Repeat("x", nip34.MaxIdentifier+1))))
	wantErr(t, err, nip34.ErrIdentifier)
}

// A state that is read in part would say something else, so it is read whole or not at all.
func TestParseStateOfManyRefs(t *testing.T) {
	var all nostr.Tags
	for i := range nip34.MaxRefs {
		name := fmt.Sprintf("refs/tags/v%d", i)
		all = append(all, tag(name, oid), tag(name+"^{}", oid2))
	}
	s, err := nip34.ParseState(event(nip34.KindState, append(all, tag("HEAD", "refs/heads/main"), all[0])...))
	if err != nil || len(s.Refs) != nip34.MaxRefs || s.Head != "refs/heads/main" {
		t.Fatalf("%d refs: %v", nip34.MaxRefs, err)
	}
	for _, more := range []nostr.Tag{tag("refs/heads/main", oid), tag("refs/heads/main", "x")} {
		_, err = nip34.ParseState(event(nip34.KindState, append(all, more)...))
		wantErr(t, err, nip34.ErrRefs)
	}
}
