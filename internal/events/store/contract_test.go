package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storecheck"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// memory is a disk in memory, real is a directory.
type (
	memory struct{ fs vfs.FS }
	real   struct{ dir string }
)

func (m memory) Fresh(testing.TB) storetest.Disk { return memory{vfs.NewMem()} }

func (m memory) Open(t testing.TB, o store.Options) storetest.Store {
	o.Dir, o.FS = "data", m.fs
	return checked(t, o)
}

func (r real) Fresh(t testing.TB) storetest.Disk { return real{t.TempDir()} }

func (r real) Open(t testing.TB, o store.Options) storetest.Store {
	o.Dir = r.dir
	return checked(t, o)
}

// checked opens a store that is checked from end to end when it is closed.
func checked(t testing.TB, o store.Options) storetest.Store {
	t.Helper()
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return checkedStore{storetest.Of(s), s, t}
}

type checkedStore struct {
	storetest.Store
	s *store.Store
	t testing.TB
}

func (c checkedStore) Close() error {
	check(c.t, c.s)
	return c.s.Close()
}

// check wants a store that is open for writing to be sound, and to count by kind what waits.
func check(t testing.TB, s *store.Store) {
	t.Helper()
	v := s.View()
	defer v.Close()
	report, err := storecheck.Check(context.Background(), v)
	if err != nil {
		t.Errorf("check: %v", err)
	}
	for _, p := range report.Problems {
		t.Errorf("check: %s", p)
	}
	var kinds store.WaitsByKind
	of := map[nostr.Kind]*int64{
		nip34.KindRepository: &kinds.Announcements, nip34.KindState: &kinds.States,
		nip34.KindPullRequest: &kinds.PullRequests, nip34.KindPullRequestUpdate: &kinds.Updates,
	}
	err = v.EachWait(func(w store.Waiting) error {
		if n := of[w.Event.Kind]; n != nil {
			*n++
		}
		return nil
	})
	if got := s.Stats().WaitingByKind; err != nil || got != kinds {
		t.Errorf("waiting by kind: %+v, counted %+v, %v", got, kinds, err)
	}
}

func TestContractInMemory(t *testing.T) { storetest.Run(t, memory{}) }

func TestContractOnDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("fsync")
	}
	storetest.Run(t, real{})
}

// TestRandomHistories compares the store with the naive one: the indexes with looking at everything.
func TestRandomHistories(t *testing.T) {
	for seed := range seeds(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			storetest.Compare(t, seed, 60, memory{}, new(storetest.ModelDisk))
		})
	}
}
