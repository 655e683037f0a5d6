package gitread

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

func TestCommitted(t *testing.T) {
	const head, tail = "tree x\nparent y\nauthor a <a@b> 5 +0000\n", "encoding x\ngpgsig -----\n committer a <b> 7 +0000\n\ncommitter a <b> 8 +0000\n"
	for line, want := range map[string]int64{
		"committer a <a@b> 1700000000 +0100\n": 1700000000, "committer <> 0 +0000\n": 0, "committer a <b> > <c> 9 -0000\n": 9,
		"committer a <b>\n": -1, "committer a <b> x +0000\n": -1, "committer a <b> -5 +0000\n": -1, "committer a <b> 99999999999999999999 +0\n": -1,
		"committer a <b> 253402300800 +0\n": -1, "committer a <b> 253402300799 +0\n": 253402300799, "committer a <b> 6\n": 6, "": -1,
	} {
		got := int64(-1)
		if at := parseCommit(gitwire.ObjectID{}, []byte(head+line+tail)).Committer.When; !at.IsZero() {
			got = at.Unix()
		}
		if got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}

// TestNamesThatAreMuchWork: the library tries each space of a line that begins a file, and goes from there to the next slash. A patch of 128 KiB kept a
// processor busy for seconds.
func TestNamesThatAreMuchWork(t *testing.T) {
	const hunk = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	for what, name := range map[string]string{
		"spaces": strings.Repeat(" ", 128<<10), "tabs": strings.Repeat("\t", 128<<10), "words": strings.Repeat("a ", 64<<10),
		"many lines": strings.Repeat(strings.Repeat(" ", 2000)+"\ndiff --git a/", 64),
	} {
		if _, _, err := ParsePatch("diff --git a/x" + name + "y\n" + hunk); err == nil || !strings.Contains(err.Error(), "too many spaces") {
			t.Errorf("%s: they are looked through: %v", what, err)
		}
	}
	for what, line := range map[string]string{
		"a name with spaces": "diff --git a/My Documents/to do/a b c.txt b/My Documents/to do/a b c.txt", "a long one": "diff --git a/" + strings.Repeat("x", 5000) + " b/y",
	} {
		d, _, err := ParsePatch(line + "\n" + hunk)
		if err != nil || len(d.Files) != 1 || len(d.Files[0].Hunks) != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
	many := strings.Repeat("diff --git a/one two/three four.go b/one two/three four.go\n--- a/one two/three four.go\n+++ b/one two/three four.go\n@@ -1 +1 @@\n-a\n+b\n", 1000)
	if d, _, err := ParsePatch(many); err != nil || len(d.Files) != 1000 {
		t.Errorf("many files: %v", err)
	}
}
