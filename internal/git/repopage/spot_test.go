package repopage

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// refsFor returns refs with ids that tell them apart.
func refsFor(names ...string) *gitwire.Refs {
	refs := &gitwire.Refs{Head: "refs/heads/main"}
	slices.Sort(names)
	for i, name := range slices.Compact(names) {
		id, err := gitwire.ParseObjectID(fmt.Sprintf("%040x", i+1))
		if err != nil {
			panic(err)
		}
		refs.List = append(refs.List, gitwire.Ref{Name: name, ID: id})
	}
	return refs
}

func TestSpots(t *testing.T) {
	id := strings.Repeat("ab", 20)
	refs := refsFor("refs/heads/main", "refs/heads/a", "refs/tags/a/b", "refs/heads/a/b/c", "refs/tags/main", "refs/heads/"+id, "refs/nostr/x", "refs/heads/ü&?#", "refs/heads/%41")
	for path, want := range map[string]string{
		"main": "main||", "main/x/y": "main|x/y|", "HEAD/x": "HEAD|x|", "a": "a||", "a/x": "a|x|", "a/b": "a/b||", "a/b/c/d": "a/b/c|d|", "a/b/d": "a/b|d|", "a%2Fb%2Fd": "a/b|d|", "refs/tags/main/x": "refs/tags/main|x|",
		"refs/heads/" + id: "refs/heads/" + id + "||", id + "/x": id + "|x|fixed", id: id + "||fixed", "refs/nostr/x": "refs/nostr/x||", "%C3%BC%26%3F%23/x": "ü&?#|x|", "%2541": "%41||", "main/": "main||",
		"": "none", "none": "none", "refs/heads": "none", "refs": "none", "mai": "none", "%zz": "none", "main/a%00b": "none", "/main": "none", strings.Repeat("a/", 300): "none", "AB" + id[2:]: "none",
	} {
		got := "none"
		if s, ok := spotOf(refs, path); ok {
			got = s.Ref + "|" + s.Path + "|" + map[bool]string{true: "fixed"}[s.Fixed]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if s, _ := spotOf(refs, "main"); s.Commit != refs.List[slices.IndexFunc(refs.List, func(r gitwire.Ref) bool { return r.Name == "refs/heads/main" })].ID {
		t.Error("a tag is before a branch")
	}
}

// Whatever refs there are, the name that a page writes for one leads to that one again, with whatever path behind it that no longer ref begins.
func TestEveryRefIsFoundByItsName(t *testing.T) {
	words := []string{"a", "b", "main", "refs", "heads", "tags", "HEAD", strings.Repeat("ab", 20), "ü", "%41", "x y", "<b>", "שלום"}
	chance := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var names []string
		for range 1 + chance.IntN(8) {
			parts := []string{}
			for range 1 + chance.IntN(3) {
				parts = append(parts, words[chance.IntN(len(words))])
			}
			names = append(names, []string{"refs/heads/", "refs/tags/"}[chance.IntN(2)]+strings.Join(parts, "/"))
		}
		refs := refsFor(names...)
		for _, r := range refs.List {
			short := shortRef(refs, r)
			s, ok := spotOf(refs, escapePath(short))
			if !ok || s.Fixed || s.Commit != r.ID || s.Path != "" {
				t.Fatalf("%s as %s of %v: %+v, %v", r.Name, short, names, s, ok)
			}
			if s, ok = spotOf(refs, escapePath(short)+"/nowhere"); !ok || s.Commit != r.ID || s.Path != "nowhere" {
				t.Fatalf("below %s: %+v, %v", r.Name, s, ok)
			}
		}
	}
}

func FuzzPaths(f *testing.F) {
	refs := refsFor("refs/heads/main", "refs/heads/a/b")
	f.Add("main/a/b", "docs", "../x#y")
	f.Fuzz(func(t *testing.T, path, dir, to string) {
		if s, ok := spotOf(refs, path); ok && !s.Fixed {
			if again, ok := spotOf(refs, escapePath(s.Ref)+strings.TrimSuffix("/"+escapePath(s.Path), "/")); s.Path != "" && !strings.HasSuffix(s.Path, "/") && (!ok || again != s) {
				t.Errorf("%q: %+v, then %+v", path, s, again)
			}
		}
		if strings.ContainsAny(escapePath(path), "\"'<>&?#\\ \n\x00") {
			t.Errorf("%q is not escaped", path)
		}
		p := &Pages{}
		for _, link := range []func(string) string{p.linked("/home", "main", dir).Link, p.linked("/home", "main", dir).Picture} {
			if url0 := link(to); url0 != "" {
				u, err := url.Parse(url0)
				if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(u.Path, "/home/") {
					t.Errorf("%q in %q leads to %q", to, dir, url0)
				}
			}
		}
	})
}
