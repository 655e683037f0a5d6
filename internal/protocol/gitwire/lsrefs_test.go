package gitwire_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestLsRefsIsGits asks git and this package the same random questions about random repositories.
func TestLsRefsIsGits(t *testing.T) {
	for seed := range uint64(8) {
		r := seeded(seed)
		dir := randomRepository(t, r)
		refs := refsOf(t, dir)
		for i := range 6 {
			body := randomLsRefs(r, refs)
			want, errs, err := tryGit("", []string{"GIT_PROTOCOL=version=2"}, body, append(offer[:len(offer):len(offer)], "upload-pack", "--stateless-rpc", dir)...)
			if err != nil {
				t.Fatal(err, errs)
			}
			q, err := gitwire.ParseRequest(strings.NewReader(body), 2)
			if err != nil || q.LsRefs == nil {
				t.Fatalf("%q: %v", body, err)
			}
			if got := string(q.LsRefs.AppendAnswer(nil, refs)); got != want {
				differ(t, fmt.Sprintf("seed %d, question %d, %q", seed, i, unframe(body)), got, want)
			}
		}
	}
}

func randomLsRefs(r *rand.Rand, refs *gitwire.Refs) string {
	lines := []string{"command=ls-refs\n", "agent=x", "object-format=sha1", "delim"}
	for _, flag := range []string{"peel", "symrefs\n", "unborn"} {
		if r.IntN(3) > 0 {
			lines = append(lines, flag)
		}
	}
	for range r.IntN(2) * r.IntN(6) {
		prefix := []string{"HEAD", "refs/heads/", "refs/", "", "refs/tags/", "H", "refs/heads/b", "refs/nostr/", "refs/none", "x"}[r.IntN(10)]
		if len(refs.List) > 0 && r.IntN(2) == 0 {
			name := refs.List[r.IntN(len(refs.List))].Name
			prefix = name[:len(name)-r.IntN(3)]
		}
		lines = append(lines, "ref-prefix "+prefix)
	}
	return frames(append(lines, "flush")...)
}

var some = gitwire.Refs{Head: "refs/heads/main", List: []gitwire.Ref{
	{Name: "refs/heads/a", ID: id("a")}, {Name: "refs/heads/main", ID: id("1")},
	{Name: "refs/tags/v1", ID: id("2"), Peeled: id("1")}, {Name: "refs/tags/v10", ID: id("3")},
}}

func TestLsRefs(t *testing.T) {
	one, unborn := hexOf("1"), clone(&some)
	unborn.Head = "refs/heads/none"
	none := clone(&some)
	none.Head = ""
	for _, c := range []struct {
		name string
		args []string
		refs *gitwire.Refs
		want []string
	}{
		{"all", nil, &some, []string{one + " HEAD\n", hexOf("a") + " refs/heads/a\n", one + " refs/heads/main\n", hexOf("2") + " refs/tags/v1\n", hexOf("3") + " refs/tags/v10\n"}},
		{"a prefix", []string{"ref-prefix refs/tags/v1"}, &some, []string{hexOf("2") + " refs/tags/v1\n", hexOf("3") + " refs/tags/v10\n"}},
		{"prefixes out of order, and one within another", []string{"ref-prefix refs/tags/v10", "ref-prefix HEAD", "ref-prefix refs/heads/m", "ref-prefix refs/heads/main"}, &some,
			[]string{one + " HEAD\n", one + " refs/heads/main\n", hexOf("3") + " refs/tags/v10\n"}},
		{"an empty prefix", []string{"ref-prefix refs/tags/v10", "ref-prefix "}, &some,
			[]string{one + " HEAD\n", hexOf("a") + " refs/heads/a\n", one + " refs/heads/main\n", hexOf("2") + " refs/tags/v1\n", hexOf("3") + " refs/tags/v10\n"}},
		{"a prefix of nothing", []string{"ref-prefix refs/x"}, &some, nil},
		{"a prefix that is too long for a name", []string{"ref-prefix " + strings.Repeat("x", 60000)}, &some, nil},
		{"peeled", []string{"peel", "ref-prefix refs/tags/"}, &some, []string{hexOf("2") + " refs/tags/v1 peeled:" + one + "\n", hexOf("3") + " refs/tags/v10\n"}},
		{"symrefs", []string{"symrefs", "ref-prefix HEAD"}, &some, []string{one + " HEAD symref-target:refs/heads/main\n"}},
		{"an unborn HEAD", []string{"symrefs", "unborn", "ref-prefix HEAD"}, unborn, []string{"unborn HEAD symref-target:refs/heads/none\n"}},
		{"an unborn HEAD, not asked for", []string{"symrefs", "ref-prefix HEAD"}, unborn, nil},
		{"an unborn HEAD without where it points", []string{"unborn", "ref-prefix HEAD"}, unborn, nil},
		{"an unborn HEAD of another prefix", []string{"symrefs", "unborn", "ref-prefix refs/tags/v10"}, unborn, []string{hexOf("3") + " refs/tags/v10\n"}},
		{"no HEAD", []string{"symrefs", "unborn", "ref-prefix HEAD"}, none, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := frames(slices.Concat([]string{"command=ls-refs", "delim"}, c.args, []string{"flush"})...)
			q, err := gitwire.ParseRequest(strings.NewReader(body), 2)
			if err != nil {
				t.Fatal(err)
			}
			got := unframe(string(q.LsRefs.AppendAnswer([]byte("0001"), c.refs)))
			if want := slices.Concat([]string{"delim"}, c.want, []string{"flush", ""}); !slices.Equal(got, want) {
				t.Errorf("got %q\nnot %q", got, want)
			}
			if again, err := gitwire.ParseRequest(strings.NewReader(string(q.AppendTo(nil))), 2); err != nil || string(again.LsRefs.AppendAnswer([]byte("0001"), c.refs)) != string(q.LsRefs.AppendAnswer([]byte("0001"), c.refs)) {
				t.Errorf("written again it asks something else: %v", err)
			}
		})
	}
}

// As git, from so many prefixes on none is regarded.
func TestLsRefsOfTooManyPrefixes(t *testing.T) {
	for n, want := range map[int]int{gitwire.MaxPrefixes - 1: 1, gitwire.MaxPrefixes: 6, gitwire.MaxPrefixes + 1: 6} {
		body := frames("command=ls-refs", "delim") + strings.Repeat(frames("ref-prefix refs/heads/z"), n) + "0000"
		q, err := gitwire.ParseRequest(strings.NewReader(body), 2)
		if err != nil {
			t.Fatal(err)
		}
		if got := unframe(string(q.LsRefs.AppendAnswer(nil, &some))); len(got)-1 != want {
			t.Errorf("%d prefixes: %q", n, got)
		}
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{"HEAD": "1", "refs/heads/a": "a", "refs/tags/v10": "3"} {
		if ref, ok := some.Find(name); !ok || ref.ID != id(want) || ref.Name != name {
			t.Errorf("%s: %+v, %v", name, ref, ok)
		}
	}
	for _, name := range []string{"", "refs/heads/b", "refs/tags/v", "a"} {
		if ref, ok := some.Find(name); ok {
			t.Errorf("%q: %+v", name, ref)
		}
	}
	if ref, ok := (&gitwire.Refs{}).Find("HEAD"); ok {
		t.Errorf("%+v", ref)
	}
	if some.List[1].Name != "refs/heads/main" {
		t.Error("Find changes the refs")
	}
	named := gitwire.Refs{List: []gitwire.Ref{{Name: "refs/heads/x", ID: id("1")}, {Name: "refs/tags/x", ID: id("2"), Peeled: id("3")}, {Name: "refs/tags/y", ID: id("4")}}}
	for name, want := range map[string]string{"x": "1", "refs/tags/x": "3", "y": "4", "refs/heads/x": "1"} {
		if ref, ok := named.Named(name); !ok || ref.Tip() != id(want) {
			t.Errorf("%s: %+v, %v", name, ref, ok)
		}
	}
	if ref, ok := named.Named("z"); ok {
		t.Errorf("%+v", ref)
	}
}
