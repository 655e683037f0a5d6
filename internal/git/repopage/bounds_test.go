package repopage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestDiffsAreBoundedInLines: a page takes work for every line, so empty lines count too.
func TestDiffsAreBoundedInLines(t *testing.T) {
	patch := func(i int) *nostr.Event {
		return &nostr.Event{ID: nostr.ID{1, byte(i)}, CreatedAt: int64(i), Content: fmt.Sprintf("Subject: [PATCH %d/90] x\n\ntext\ndiff --git a/a b/a\n%s", i, strings.Repeat("\n", 2000))}
	}
	var more []*nostr.Event
	for i := range 90 {
		more = append(more, patch(i+1))
	}
	lines, cut := 0, 0
	for _, r := range revisions(patch(0), more, func(nostr.PubKey) string { return "" }, func(nostr.ID) string { return "" }) {
		for _, p := range r.Patches {
			lines += len(p.Diff)
			if p.Cut {
				cut++
			}
		}
	}
	if lines > mostDiffs/lineBytes+mostDiffLines || lines < mostDiffs/lineBytes/2 || cut != 91 {
		t.Errorf("%d lines, %d patches are cut", lines, cut)
	}
}

// TestLargeProfilesHaveNoName: a page reads the profiles of up to mostPeople people.
func TestLargeProfilesHaveNoName(t *testing.T) {
	if name := nameIn(`{"name":"Ann","about":"` + strings.Repeat("x", mostProfile-100) + `"}`); name != "Ann" {
		t.Errorf("%q", name)
	}
	if name := nameIn(`{"name":"Ann","about":"` + strings.Repeat("x", mostProfile) + `"}`); name != "" {
		t.Errorf("of a large profile: %q", name)
	}
}
