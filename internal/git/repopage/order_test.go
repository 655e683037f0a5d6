package repopage

import (
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func TestVersionsAreOrderedByTheirNumbers(t *testing.T) {
	want := []string{"", "1", "1.9", "1.10", "01a", "2", "10", strings.Repeat("9", 70), strings.Repeat("1", 300), "v", "v1", "v1.2-rc", "v1.2-rc2", "v1.2-rc10", "v1.2.0", "v1.10", "v18446744073709551616", "w0"}
	refs := &gitwire.Refs{Head: "refs/heads/main"}
	for _, name := range slices.Backward(want) {
		refs.List = append(refs.List, gitwire.Ref{Name: "refs/tags/" + name}, gitwire.Ref{Name: "refs/heads/" + name})
	}
	var got []string
	for _, r := range inOrder(refs, "refs/tags/", versionKey, 1) {
		got = append(got, strings.TrimPrefix(r.Name, "refs/tags/"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if all := inOrder(refs, "refs/tags/", versionKey, -1); all[0].Name != "refs/tags/w0" || len(all) != len(want) {
		t.Errorf("%d, %s first", len(all), all[0].Name)
	}
	refs.Head = "refs/heads/v1"
	if all := inOrder(refs, "refs/heads/", strings.ToUpper, 1); all[0].Name != refs.Head || all[1].Name != "refs/heads/" || len(all) != len(want) {
		t.Errorf("%d, %s first, then %s", len(all), all[0].Name, all[1].Name)
	}
}

// A key is made once of each name and has little more bytes: names of which each differs from all others in the zeros before their numbers took seconds.
func TestKeysOfVersionsAreShort(t *testing.T) {
	for _, name := range []string{strings.Repeat("1.", 125), strings.Repeat("a", 250), strings.Repeat("0", 250), strings.Repeat("01", 125)} {
		if n := len(versionKey(name)); n > 3*len(name) {
			t.Errorf("%.10s: %d bytes", name, n)
		}
	}
	if a, b := versionKey("a007b"), versionKey("a7b"); a != b {
		t.Errorf("%q, %q", a, b)
	}
}
