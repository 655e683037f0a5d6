package repopage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/gitrepo/repotest"
)

// BenchmarkPages measures pages of a folder of 20,000 entries, once git has read it: one that somebody has seen before, and others, of which
// every fortieth is the first of a commit.
func BenchmarkPages(b *testing.B) {
	var files []string
	for i := range 20_000 {
		files = append(files, fmt.Sprintf("100644 d/%05d", i), "x")
	}
	history := repotest.Commit("main", "Many", 1000, "", files...)
	for i := range 100 {
		history += repotest.Commit("main", "More", 2000+i, "", fmt.Sprintf("100644 d/%05d", i), "y")
	}
	w := newCode(b, history)
	ids := strings.Fields(w.repo.Git("", "rev-list", "main"))
	b.Run("again", func(b *testing.B) {
		w.see("tree/main/d")
		for b.Loop() {
			w.get(w.path+"/tree/main/d", browser)
		}
	})
	b.Run("another", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			w.get(fmt.Sprintf("%s/tree/%s/d?page=%d", w.path, ids[n/40%len(ids)], 1+n%40), browser)
		}
	})
}
