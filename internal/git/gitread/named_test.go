package gitread_test

import (
	"crypto/sha1"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitread"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// alike returns two commits whose ids begin with the same seven digits.
func alike(tree string) (a, b string) {
	before := map[string]string{}
	for i := 0; ; i++ {
		c := fmt.Sprintf("tree %s\nauthor A <a@example.com> 1 +0000\ncommitter A <a@example.com> 1 +0000\n\n%d\n", tree, i)
		begins := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "commit %d\x00%s", len(c), c)))[:7]
		if other, ok := before[begins]; ok {
			return other, c
		}
		before[begins] = c
	}
}

// The beginning of an id stands for the one commit that has it, where refs lead to that.
func TestNamed(t *testing.T) {
	w := newWorld(t, history)
	main, side, clash := w.ID("main"), w.ID("side"), w.ID("clash")
	one, two := alike(w.ID("main^{tree}").String())
	same := w.Parse(w.Git(one, "hash-object", "-t", "commit", "-w", "--stdin"))
	w.Git("", "update-ref", "refs/heads/one", same.String())
	alike := w.Parse(w.Git(two, "hash-object", "-t", "commit", "-w", "--stdin"))
	w.Git("", "update-ref", "refs/heads/two", alike.String())
	tag := w.Parse(w.Git("object "+main.String()+"\ntype commit\ntag v9\ntagger T <t@example.com> 1 +0000\n\nx\n", "hash-object", "-t", "tag", "-w", "--stdin"))
	w.Git("", "update-ref", "refs/tags/v9", tag.String())
	blob := w.ID("main:" + strings.Fields(w.Git("", "ls-tree", "-r", "--name-only", "main"))[0])
	w.Push()
	tips := []gitwire.ObjectID{main, same, alike}
	short := func(id gitwire.ObjectID, n int) string { return id.String()[:n] }
	if short(same, 7) != short(alike, 7) || same == alike {
		t.Fatal("they are not alike")
	}
	names := []string{short(main, 7), short(side, 12), short(same, 7), short(alike, 12), short(clash, 9), short(tag, 10), short(blob, 10), absent[:7],
		short(main, 6), main.String(), "HEAD", short(main, 7) + "\n", strings.ToUpper(short(main, 8)) + "G", "--batch"}
	got, err := w.r.Named(t.Context(), w.visit, names, tips)
	if want := map[string]gitwire.ObjectID{short(main, 7): main, short(side, 12): side, short(alike, 12): alike}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if w.charged < 2*5000 {
		t.Errorf("charged %d steps for two processes", w.charged)
	}
	var many []string
	for i := range gitread.MostNamed {
		many = append(many, fmt.Sprintf("%07x", i))
	}
	if got, err := w.r.Named(t.Context(), w.visit, append(many, short(main, 7)), tips); err != nil || len(got) > 0 {
		t.Errorf("one too many: %v, %v", got, err)
	}
	if got, err := w.r.Named(t.Context(), w.visit, append(many[1:], short(main, 7)), tips); err != nil || len(got) != 1 {
		t.Errorf("as many as there may be: %v, %v", got, err)
	}
}

// What lies beside the tips is not named, however much there is.
func TestNamedBesideALongHistory(t *testing.T) {
	var all strings.Builder
	for i := range gitread.MostCommits + 2 {
		fmt.Fprintf(&all, "commit refs/heads/long\ncommitter a <a@example.com> %d +0000\ndata 1\nx\n", 1000+i)
	}
	w := newWorld(t, history+all.String())
	main, long, first := w.ID("main"), w.ID("long"), w.ID(fmt.Sprintf("long~%d", gitread.MostCommits+1))
	for what, tips := range map[string][]gitwire.ObjectID{"none": {main}, "both": {main, long}} {
		names := []string{long.String()[:10], first.String()[:10], main.String()[:10]}
		got, err := w.r.Named(t.Context(), w.visit, names, tips)
		if _, ok := got[names[1]]; err != nil || ok != (what == "both") || got[names[2]] != main {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}
