package repopage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestDiffsAreBoundedInLines: a page takes work for every line, so empty lines count too, whether a patch can be read or not.
func TestDiffsAreBoundedInLines(t *testing.T) {
	for name, diff := range map[string]string{
		"what cannot be read": "diff --git a/a b/a\n@@ -1 +1,9000 @@\n" + strings.Repeat("\n", 2000), "additions": "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,2000 @@\n" + strings.Repeat("+\n", 2000),
		"long lines": "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,20 @@\n" + strings.Repeat("+"+strings.Repeat("x", 100_000)+"\n", 20),
	} {
		patch := func(i int) *nostr.Event {
			return &nostr.Event{ID: nostr.ID{1, byte(i)}, CreatedAt: int64(i), Content: fmt.Sprintf("Subject: [PATCH %d/90] x\n\ntext\n%s", i, diff)}
		}
		var more []*nostr.Event
		for i := range 90 {
			more = append(more, patch(i+1))
		}
		lines, bytes, cut := 0, 0, 0
		for _, r := range revisions(patch(0), more, func(nostr.PubKey) string { return "" }, func(nostr.ID) string { return "" }) {
			for _, p := range r.Patches {
				f := p.Diff.Files[0]
				for _, l := range f.Lines {
					bytes += len(l.Text)
				}
				if lines += len(f.Lines); f.Note != "" {
					cut++
				}
			}
		}
		if lines > mostAllLines+91 || bytes > mostAllText+2*mostLineText || lines < mostAllLines/2 && bytes < mostAllText/2 || cut < 51 {
			t.Errorf("%s: %d lines, %d bytes, %d patches are cut", name, lines, bytes, cut)
		}
	}
}
