package refs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestReadState(t *testing.T) {
	s, err := refs.ReadState(event("s", "bob", 7, nip34.KindState, tag("d", "a:b"), tag("HEAD", "ref: refs/heads/dev"),
		tag("refs/tags/v1", hexOID("2")), tag("refs/tags/v1^{}", hexOID("3")), tag("refs/heads/main", hexOID("1")),
		tag("refs/heads/alias", "ref: refs/heads/main"), tag("refs/notes/commits", hexOID("4")), tag("refs/heads/main", hexOID("5"))))
	if err != nil {
		t.Fatal(err)
	}
	if s.ID != id("s") || s.CreatedAt != 7 || s.Author != key("bob") || s.D != "a:b" || s.Head != "refs/heads/dev" || s.Flaw != "" {
		t.Errorf("got %+v", s)
	}
	if !s.Refs.Equal(set("main=1 tags/v1=2")) {
		t.Errorf("refs %v", s.Refs)
	}
}

func TestReadStateRefuses(t *testing.T) {
	if _, err := refs.ReadState(event("s", "bob", 7, nip34.KindRepository)); !errors.Is(err, nip34.ErrKind) {
		t.Error(err)
	}
	e := event("s", "bob", 7, nip34.KindState)
	for i := range nip34.MaxRefs + 1 {
		e.Tags = append(e.Tags, tag(fmt.Sprintf("refs/heads/%d", i), hexOID("1")))
	}
	if _, err := refs.ReadState(e); !errors.Is(err, nip34.ErrRefs) {
		t.Error(err)
	}
	e.Tags = e.Tags[1:]
	if s, err := refs.ReadState(e); err != nil || len(s.Refs) != nip34.MaxRefs || s.Flaw != "" {
		t.Errorf("%d refs, %v", len(s.Refs), err)
	}
}

// What no repository can be is data: it is told, and nothing of it gets further.
func TestFlaws(t *testing.T) {
	main := tag("refs/heads/main", hexOID("1"))
	atX := func(value string) string {
		return `it has refs/heads/x at '` + value + `', which is the id of no object here (40 lower-case hex digits)`
	}
	for _, tc := range []struct {
		name string
		tags nostr.Tags
		want string
	}{
		{"none", nostr.Tags{main}, ""},
		{"empty", nil, ""},
		{"no object id", nostr.Tags{main, tag("refs/heads/x", "abc123")}, atX("abc123")},
		{"no value", nostr.Tags{main, tag("refs/heads/x")}, atX("")},
		{"no object", nostr.Tags{main, tag("refs/heads/x", strings.Repeat("0", 40))}, atX(strings.Repeat("0", 40))},
		{"SHA-256", nostr.Tags{main, tag("refs/heads/x", strings.Repeat("ab", 32))}, atX(strings.Repeat("ab", 32))},
		{"a digit short", nostr.Tags{main, tag("refs/heads/x", hexOID("1")[1:])}, atX(hexOID("1")[1:])},
		{"capitals", nostr.Tags{main, tag("refs/heads/x", strings.ToUpper(hexOID("1")))}, atX(strings.ToUpper(hexOID("1")))},
		{"option", nostr.Tags{main, tag("refs/heads/x", "--upload-pack=x")}, atX("--upload-pack=x")},
		{"revision", nostr.Tags{main, tag("refs/heads/x", "main^{tree}")}, atX("main^{tree}")},
		{"name", nostr.Tags{main, tag("refs/heads/a..b", hexOID("1"))}, `'refs/heads/a..b' is no ref name that git takes`},
		{"name that looks like an option", nostr.Tags{main, tag("refs/heads/-x", hexOID("1"))}, `'refs/heads/-x' begins with a dash after refs/heads/`},
		{"escape sequence", nostr.Tags{tag("refs/heads/\x1b[2J", hexOID("1"))}, `'refs/heads/\x1b[2J' is no ref name that git takes`},
		{"first of several", nostr.Tags{tag("refs/heads/x", "abc123"), tag("refs/heads/..", hexOID("1"))}, atX("abc123")},
		{"peeled", nostr.Tags{main, tag("refs/tags/v^{}", "x")}, ""},
		{"file and directory", nostr.Tags{tag("refs/heads/a/b/c", hexOID("1")), tag("refs/heads/a-b", hexOID("1")), tag("refs/heads/a", hexOID("2"))},
			"it has both refs/heads/a and refs/heads/a/b/c, which exclude each other"},
		{"tag and directory", nostr.Tags{tag("refs/tags/a", hexOID("1")), tag("refs/tags/a/b", hexOID("1"))}, "it has both refs/tags/a and refs/tags/a/b, which exclude each other"},
		{"no directory", nostr.Tags{tag("refs/heads/a/b", hexOID("1")), tag("refs/heads/ab", hexOID("1")), tag("refs/tags/a", hexOID("2"))}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := refs.ReadState(event("s", "bob", 7, nip34.KindState, tc.tags...))
			if err != nil || s.Flaw != tc.want {
				t.Errorf("got %q, %v", s.Flaw, err)
			}
		})
	}
}
