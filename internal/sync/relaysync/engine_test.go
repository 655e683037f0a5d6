package relaysync_test

import (
	"testing"
	"time"

	"github.com/graspd/graspd/internal/test/testkit"
)

// TestFillsFromABootstrapRelay carries announcements, roots and comments from a
// scripted relay into the store, stored ones and live ones.
func TestFillsFromABootstrapRelay(t *testing.T) {
	for name, neg := range map[string]testkit.NegMode{
		"negentropy": testkit.NegWorks, "notice": testkit.NegNotice, "closed": testkit.NegClosed, "neg-err": testkit.NegErr,
		"neg-error": testkit.NegError, "silence": testkit.NegSilent,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, "wss://boot.example.net")
				boot := w.net.Relay("wss://boot.example.net")
				boot.Neg = neg
				now := time.Now().Unix()
				owner, author := testkit.Key(1), testkit.Key(2)
				at := testkit.RepositoryAddress(owner, "proj")
				ann := testkit.Announcement(owner, now-1000, "proj", ours, "wss://boot.example.net")
				foreign := testkit.Announcement(owner, now-1000, "elsewhere", "wss://other.example.com")
				issue := testkit.Issue(author, now-900, at, "it breaks")
				comment := testkit.Comment(author, now-800, issue, "it does")
				boot.Store(ann, foreign, issue, comment)

				w.start()
				defer w.stop()
				w.settle()
				w.wantStored(ann, issue, comment)
				w.wantAbsent(foreign)

				live := testkit.Issue(author, time.Now().Unix(), at, "another")
				boot.Add(live)
				wait(time.Second)
				w.wantStored(live)
				wait(10 * time.Second)
				reply := testkit.Comment(author, time.Now().Unix(), live, "yes")
				boot.Add(reply)
				wait(time.Second)
				w.wantStored(reply)
			})
		})
	}
}
