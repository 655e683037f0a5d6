package nip34_test

import (
	"slices"
	"strings"
	"testing"

	"graspd/internal/nip34"
	"graspd/internal/nostr"
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
		{"peeled", tag("refs/tags/v1.0^{}", oid), false},
		{"symbolic", tag("refs/heads/main", "ref: refs/heads/other"), false},
		{"pull", tag("refs/pull/1/head", oid), false},
		{"nostr", tag("refs/nostr/"+oid2, oid), false},
		{"the ref tag of others", tag("ref", "refs/heads/main", oid), false},
		{"no namespace", tag("main", oid), false},
		{"no name", tag("refs/heads/", oid), false},
		{"no value", tag("refs/heads/main"), false},
		{"39 digits", tag("refs/heads/main", oid[1:]), false},
		{"upper case", tag("refs/heads/main", strings.ToUpper(oid2)), false},
		{"no hex", tag("refs/heads/main", "g"+oid[1:]), false},
		{"dot dot", tag("refs/heads/../../x", oid), false},
		{"dots in a name", tag("refs/heads/a..b", oid), false},
		{"hidden", tag("refs/heads/.x", oid), false},
		{"dot at the end", tag("refs/heads/x.", oid), false},
		{"double slash", tag("refs/heads//x", oid), false},
		{"slash at the end", tag("refs/heads/x/", oid), false},
		{"lock", tag("refs/heads/x.lock", oid), false},
		{"space", tag("refs/heads/a b", oid), false},
		{"newline", tag("refs/heads/a\nb", oid), false},
		{"NUL", tag("refs/heads/a\x00b", oid), false},
		{"DEL", tag("refs/heads/a\x7fb", oid), false},
		{"reflog", tag("refs/heads/a@{1}", oid), false},
		{"glob", tag("refs/heads/*", oid), false},
		{"backslash", tag(`refs/heads/a\b`, oid), false},
		{"too long", tag("refs/heads/"+strings.Repeat("x", 2000), oid), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := nip34.ParseState(event(nip34.KindState, tag("d", "d"), tc.tag))
			if err != nil {
				t.Fatal(err)
			}
			var want []nip34.Ref
			if tc.keep {
				want = []nip34.Ref{{Name: tc.tag[0], OID: tc.tag[1]}}
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
		{"no name", "ref: refs/heads/", ""},
		{"hostile", "ref: refs/heads/../../config", ""},
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
		tag("refs/heads/a", oid2), tag("refs/heads/b", oid2), tag("HEAD", "refs/heads/a"), tag("HEAD", "refs/heads/b")))
	if err != nil {
		t.Fatal(err)
	}
	want := []nip34.Ref{{Name: "refs/heads/b", OID: oid}, {Name: "refs/heads/a", OID: oid2}}
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
