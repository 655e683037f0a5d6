package repopage_test

import (
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip19"
)

// TestWhatIsMergedIsNotOfferedToMerge: the commands stand on the page until all of the pull request is in its branch.
func TestWhatIsMergedIsNotOfferedToMerge(t *testing.T) {
	w := newReviewed(t, change("main", "", "begin", "f", "a\n")+change("topic", "main", "the work", "f", "b\n")+change("other", "main", "other work", "g", "b\n")+
		change("main", "+topic", "Merge it", "f", "b\n"))
	merged, open := w.pull("topic"), w.pull("other")
	w.put(merged, open)
	w.serves(ref(merged), "topic", ref(open), "other")
	has(t, w.look("pulls/"+nip19.Note(open.ID)), "git merge", "ngit pr merge", "git push")
	lacks(t, w.look("pulls/"+nip19.Note(merged.ID)), "git merge", "ngit pr merge", "git push")
}
