package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestASignalInTheMiddleOfACatchUp: the whole graspd ends well, soon, and the next one carries on.
func TestASignalInTheMiddleOfACatchUp(t *testing.T) {
	source := testkit.Serve(t)
	source.PageCap, source.Neg = 50, testkit.NegErr
	now := time.Now().Unix()
	owner, author := testkit.Key(1), testkit.Key(2)
	source.Store(testkit.Announcement(owner, now-10_000, "proj", "wss://relay.example.org", string(source.URL)))
	const issues = 600
	for i := range int64(issues) {
		source.Store(testkit.Issue(author, now-9000+i, testkit.RepositoryAddress(owner, "proj"), fmt.Sprint("issue ", i)))
	}
	dir := t.TempDir()
	args := []string{"--data", dir, "--domain", "relay.example.org", "--bootstrap", string(source.URL), "--sync-batch-window", "20ms"}
	shown := func(r *running, want int) int {
		c := dial(t, r.url)
		c.send(nostr.AppendReq(nil, "s", nostr.Filter{Kinds: []nostr.Kind{nip34.KindIssue}}))
		seen := make(map[nostr.ID]bool)
		for len(seen) < want {
			if m, is := c.next().(nostr.RelayEvent); is {
				seen[m.Event.ID] = true
			}
		}
		return len(seen)
	}
	first := serve(t, args...)
	shown(first, 60)
	if code := first.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if n := shown(serve(t, args...), issues-100); n < issues-100 { // of the stored ones no more than a page are shown
		t.Errorf("%d of %d issues", n, issues)
	}
}
