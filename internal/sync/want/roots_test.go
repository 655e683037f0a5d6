package want_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// Root events come and go, and each is found by its own id, also where ids begin alike.
func TestRootEventsWhoseIDsBeginAlike(t *testing.T) {
	f, r := newFold(t), rand.New(rand.NewPCG(1, 2))
	for n := range 3 {
		f.AddAll(f.Announce(key(n), "x", 1, []string{us, relay(n)}))
	}
	at := map[int]map[nostr.ID]bool{0: {}, 1: {}, 2: {}} // per repository
	there := map[nostr.ID][]int{}
	for step := range 2000 {
		// Nearly all begin with one of three.
		id := nostr.ID{byte(r.IntN(3)), 31: byte(r.IntN(40))}
		if repos := there[id]; repos != nil {
			f.Remove(id)
			for _, n := range repos {
				delete(at[n], id)
			}
			delete(there, id)
		} else {
			repos := r.Perm(3)[:1+r.IntN(3)]
			e := f.Issue(int64(step), address(key(repos[0]), "x"))
			for _, n := range repos[1:] {
				e.Tags = append(e.Tags, nostr.Tag{"a", address(key(n), "x")})
			}
			e.ID = id
			f.AddAll(e, e)
			for _, n := range repos {
				at[n][id] = true
			}
			there[id] = repos
		}
		f.Remove(nostr.ID{0, 30: 1}) // that is not there
		if _, roots := f.Repositories(); roots != len(there) {
			t.Fatalf("step %d: %d root events, not %d", step, roots, len(there))
		}
		if r.IntN(4) > 0 {
			continue
		}
		f.Step()
		if err := f.Check(); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		for n, ids := range at {
			w := f.Wants[want.URL(relay(n))]
			got := slices.SortedFunc(slices.Values(wanttest.RootIDs(w, w.Repos[0])), nostr.ID.Compare)
			if want := slices.SortedFunc(maps.Keys(ids), nostr.ID.Compare); !slices.Equal(got, want) {
				t.Fatalf("step %d: relay %d is asked for %v, not %v", step, n, got, want)
			}
		}
	}
}

// A Want is read elsewhere while the fold goes on: the race detector sees whether anything in it is written.
func TestAWantIsReadWhileTheFoldGoesOn(t *testing.T) {
	f := newFold(t)
	f.AddAll(f.Announce(key(0), "x", 1, []string{us, relay(0)}))
	f.Step()
	var readers sync.WaitGroup
	for n := range 600 {
		f.AddAll(f.Issue(int64(n), address(key(0), "x")))
		if n%50 != 0 {
			continue
		}
		f.Step()
		if n%200 == 0 {
			f.SweepNames()
			f.Step()
		}
		w := f.Wants[want.URL(relay(0))]
		readers.Go(func() {
			for range 20 {
				if got := len(wanttest.RootIDs(w, w.Repos[0])); got != n+1 {
					t.Errorf("%d root events, not %d", got, n+1)
				}
				wanttest.Contents(w)
			}
		})
	}
	readers.Wait()
}
