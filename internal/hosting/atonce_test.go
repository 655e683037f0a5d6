package hosting_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/githttp"
	"github.com/graspd/graspd/internal/gitwire"
	"github.com/graspd/graspd/internal/hosting"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// Of pushes that are under way at once, which all found room when they began, no more come in than there is room for; and what
// did not come in does not count.
func TestPushesAtOnceKeepToTheBounds(t *testing.T) {
	for name, limits := range map[string]hosting.Limits{
		"may have no more": {Repositories: 1}, "and may have 2 KiB here": {Author: 2000}, "as much git data as it may": {Total: 2000},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, limits)
			r := w.newRepo()
			tip := r.commit("one")
			r.must("repack", "-adq")
			packs, err := filepath.Glob(filepath.Join(r.dir, ".git/objects/pack/*.pack"))
			if err != nil || len(packs) != 1 {
				t.Fatal(packs, err)
			}
			pack := string(ok(os.ReadFile(packs[0])))
			push := func(e *nostr.Event, progress func(string)) githttp.PushResult {
				return w.host.Push(t.Context(), githttp.PushCall{
					Of:       nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: e.Tags.D()},
					Push:     &gitwire.Push{Commands: []gitwire.Command{{Ref: "refs/heads/main", New: ok(gitwire.ParseObjectID([]byte(tip)))}}},
					Pack:     strings.NewReader(pack),
					Progress: progress,
				})
			}
			var repos []*nostr.Event
			for _, d := range []string{"one", "two"} {
				repos = append(repos, w.announce(1, d, now))
				w.state(1, d, now, "refs/heads/main", tip)
			}
			got := push(repos[0], func(string) { // all is proven
				if got := push(repos[1], func(string) {}); got.Unpack != "" || got.Outcomes[0].Refused != "" {
					t.Errorf("the one that is faster: %+v", got)
				}
			})
			if !strings.Contains(got.Unpack, name) {
				t.Errorf("the one that is slower: %+v", got)
			}
			w.served(repos[1])
			w.waits(repos[0])
			if n, bytes, err := w.host.Kept(); n != 1 || bytes <= 0 || bytes > 2000 || err != nil {
				t.Errorf("%d repositories with %d bytes, %v", n, bytes, err)
			}
		})
	}
}
