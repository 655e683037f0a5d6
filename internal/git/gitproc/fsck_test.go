package gitproc_test

import (
	_ "embed"
	"os/exec"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitproc"
)

//go:embed testdata/msgids.txt
var knownChecks string

// known is one of git's checks, as its source has it.
type known struct {
	class, since string
	refs         bool
}

func readKnown(t *testing.T) map[string]known {
	t.Helper()
	all := map[string]known{}
	for line := range strings.Lines(knownChecks) {
		if f := strings.Fields(line); f[0] != "#" {
			all[f[0]] = known{class: f[1], since: f[2], refs: len(f) > 3}
		}
	}
	return all
}

// Every check of objects that a release of git knows has its decision, with a reason; and git is told of none that an older one would not
// know, or lets nobody choose.
func TestEveryCheckOfObjectsIsDecided(t *testing.T) {
	git := readKnown(t)
	decided := map[string]bool{}
	for _, c := range gitproc.ObjectChecks() {
		k, ok := git[c.ID]
		switch {
		case !ok || k.refs || decided[c.ID]:
			t.Errorf("%s: git has no such check of objects, or it is decided twice", c.ID)
		case c.Why == "" || c.Of == "":
			t.Errorf("%s: without a reason", c.ID)
		case !c.Refused && (k.since != "2.39.5" || k.class == "fatal"):
			t.Errorf("%s: some git ends when it is told to ignore it", c.ID)
		}
		decided[c.ID] = true
	}
	for id, k := range git {
		if !k.refs && !decided[id] {
			t.Errorf("%s (%s, %s) is not decided", id, k.class, k.since)
		}
	}
}

// What endangers whoever fetches is refused, and what histories of real projects have is taken.
func TestWhatEndangersIsRefused(t *testing.T) {
	refused := map[string]bool{}
	for _, c := range gitproc.ObjectChecks() {
		refused[c.ID] = c.Refused
	}
	for _, id := range strings.Fields(`hasDot hasDotdot hasDotgit fullPathname emptyName nullSha1 duplicateEntries treeNotSorted gitmodulesSymlink
		gitmodulesName gitmodulesPath gitmodulesUpdate gitmodulesUrl gitattributesLineLength`) {
		if !refused[id] {
			t.Errorf("%s is taken", id)
		}
	}
	for _, id := range strings.Fields(`missingSpaceBeforeEmail missingSpaceBeforeDate missingEmail badEmail badName badDate badTimezone
		zeroPaddedFilemode zeroPaddedDate multipleAuthors nulInCommit missingTaggerEntry`) {
		if refused[id] {
			t.Errorf("%s is refused", id)
		}
	}
}

// What the installed git knows is in the list, and it knows what it is told of.
func TestTheInstalledGitKnowsTheChecks(t *testing.T) {
	known := readKnown(t)
	out, err := exec.Command("git", "help", "--config-for-completion").Output()
	if err != nil {
		t.Skipf("git does not list its settings: %v", err)
	}
	installed := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		id, is := strings.CutPrefix(strings.TrimSpace(line), "fsck.")
		if !is || id == "skipList" || strings.HasPrefix(id, "<") {
			continue
		}
		installed[id] = true
		if _, ok := known[id]; !ok {
			t.Errorf("git knows %s: add it to testdata/msgids.txt and decide", id)
		}
	}
	if len(installed) < 50 {
		t.Fatalf("git lists %d checks", len(installed))
	}
	for _, c := range gitproc.ObjectChecks() {
		if !c.Refused && !installed[c.ID] {
			t.Errorf("git does not know %s", c.ID)
		}
	}
	// It gets as far as the pack.
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", "--bare", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	err = open(t, gitproc.Config{}).Run(t.Context(), gitproc.IndexPack(1<<20), gitproc.Run{
		At: gitproc.Dirs{Repository: dir}, In: strings.NewReader("no pack at all, but long enough for its head"),
	})
	mentions(t, err, "signature mismatch")
}
