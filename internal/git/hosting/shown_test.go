package hosting_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestTheNewestPullRequestsAreShown: a repository of 10,000 pull requests shows those who take all refs the newest thousand.
func TestTheNewestPullRequestsAreShown(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	e := w.announce(1, "busy", now)
	r := w.newRepo()
	tip := r.commit("one")
	w.state(1, "busy", now, "refs/heads/main", tip)
	r.must("push", w.cloneURL(e), "main")
	of := nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: "busy"}
	b := ok(w.store.Begin())
	row := ok(refdb.Read(b, of))
	const all = refs.MaxPulls
	for i := range all {
		id := nostr.ID{byte(i >> 8), byte(i)}
		row.Refs.PullRequests = append(row.Refs.PullRequests, refs.Pull{
			Stamp: nostr.Stamp{ID: id, CreatedAt: int64(i * 7 % all)}, Tip: ok(gitwire.ParseObjectID([]byte(tip))),
		})
	}
	row.Refs.Generation++
	if err := row.Write(b, false); err != nil {
		t.Fatal(err)
	}
	ok(b.Commit())
	for version, want := range map[string]int{"0": 1000, "2": all} {
		lines := strings.Split(strings.TrimSpace(r.must("-c", "protocol.version="+version, "ls-remote", w.cloneURL(e))), "\n")
		tips := slices.DeleteFunc(lines, func(l string) bool { return !strings.Contains(l, "refs/nostr/") })
		if len(tips) != want {
			t.Errorf("version %s: %d", version, len(tips))
		}
		for _, l := range tips {
			i := 0
			if _, err := fmt.Sscanf(l[strings.Index(l, "refs/nostr/"):], "refs/nostr/%04x", &i); err != nil || want < all && i*7%all < all-want {
				t.Fatalf("version %s: %s: %v", version, l, err)
			}
		}
	}
}
