package gitwire_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func TestCheckRefName(t *testing.T) {
	long := "refs/heads/" + strings.Repeat("x", gitwire.MaxRefName-len("refs/heads/"))
	for _, name := range []string{
		"refs/heads/main", "refs/heads/a/b/c", "refs/tags/v1.0", "refs/nostr/" + strings.Repeat("0", 64), "refs/heads/x-", "refs/heads/a/-b", "refs/heads/a./b", "refs/heads/\u00fc", "refs/heads/@",
		"refs/heads/{", "refs/heads/a@b", "refs/heads/a.lock.b", "refs/heads/lock", "refs/heads/refs/heads/x", "refs/-/x", "refs/pull/1/head", "refs/heads/\xff", "refs/heads/%20", "refs/heads/HEAD", long,
	} {
		if err := gitwire.CheckRefName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"": "does not begin with refs/", "HEAD": "does not begin", "main": "does not begin", "heads/main": "does not begin", "-x": "does not begin", "Refs/heads/x": "does not begin", "/refs/heads/x": "does not begin",
		"refs/": "no ref name", "refs/config": "no ref name", "refs/heads": "no ref name", "refs/heads/": "no ref name", "refs//x": "no ref name", "refs/heads//x": "no ref name", "refs/heads/x/": "no ref name",
		"refs/heads/.x": "no ref name", "refs/heads/x/.y": "no ref name", "refs/heads/x.": "no ref name", "refs/heads/a..b": "no ref name", "refs/heads/x.lock": "no ref name", "refs/heads/x.lock/y": "no ref name",
		"refs/heads/a b": "no ref name", "refs/heads/a\tb": "no ref name", "refs/heads/a\nb": "no ref name", "refs/heads/a\x00b": "no ref name", "refs/heads/a\x7fb": "no ref name", "refs/heads/x\x1f": "no ref name",
		"refs/heads/a~1": "no ref name", "refs/heads/a^": "no ref name", "refs/heads/a:b": "no ref name", "refs/heads/?": "no ref name", "refs/heads/*": "no ref name", "refs/heads/[": "no ref name", "refs/heads/a\\b": "no ref name",
		"refs/heads/@{1}": "no ref name", "refs/../heads/x": "no ref name", "refs/heads/../x": "no ref name",
		"refs/heads/-x": "begins with a dash after refs/heads/", "refs/tags/--all": "after refs/tags/", "refs/nostr/-": "begins with a dash",
		long + "x": "has 251 bytes, 250 at most",
	} {
		if err := gitwire.CheckRefName(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestCheckRefNameIsGits asks git about random names, made of what its rules are about. A push is taken by git when what follows
// refs/ is well formed.
func TestCheckRefNameIsGits(t *testing.T) {
	parts := []string{"a", "b", ".", "..", "/", "@", "{", "@{", ".lock", "lock", "-", "*", " ", "~", "^", ":", "?", "[", "\\", "\x7f", "\x01", "\u00fc", "\xff", "x", "heads/"}
	r := seeded(7)
	taken := 0
	for range 200 {
		name := []string{"", "heads/"}[r.IntN(2)]
		for range 1 + r.IntN(5) {
			if r.IntN(3) == 0 {
				name += parts[r.IntN(len(parts))]
			} else {
				name += []string{"a", "b", "/", "x.", "c/d", "-"}[r.IntN(6)]
			}
		}
		if strings.HasPrefix(name, "-") { // an option of git check-ref-format
			continue
		}
		_, _, err := tryGit("", nil, "", "check-ref-format", name)
		want := err == nil
		_, short, _ := strings.Cut(name, "/")
		if got := gitwire.CheckRefName("refs/" + name); (got == nil) != (want && !strings.HasPrefix(short, "-")) {
			t.Errorf("%q: %v; git takes it: %v", name, got, want)
		}
		if want {
			taken++
		}
	}
	if taken < 40 || taken > 160 {
		t.Errorf("git takes %d of 200 names: they tell little", taken)
	}
}
