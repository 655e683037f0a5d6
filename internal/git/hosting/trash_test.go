package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/gitrepo/gitfake"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// littered is a disk whose trash has things of one MiB each.
type littered struct {
	*gitfake.Fake
	things int
	free   *uint64
}

func (l *littered) ShrinkTrash(_ context.Context, enough func(bytes int64) bool) error {
	for ; l.things > 0 && !enough(int64(l.things)<<20); l.things-- {
		*l.free += 1 << 20
	}
	return nil
}

// TestTheTrashGoesFirst: before somebody is refused for want of disk, or as there is as much git data as there may be.
func TestTheTrashGoesFirst(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	err := w.door.Exclusively(t.Context(), "", func(turn *ingest.Exclusive) error {
		r := refdb.Repository{Of: nip34.Address{Kind: nip34.KindRepository, PubKey: key(1), D: "tool"}, Dir: refdb.Dir{1}, Bytes: 5 << 20}
		return turn.SetRow(refdb.RowName(r.Of), r.Append(nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		push  int64 // MiB
		total int64
		disk  store.Disk // in MiB
		left  int        // of ten
	}{
		"enough room":                   {1, 0, store.Disk{Free: 100, Floor: 50}, 10},
		"near the floor":                {1, 0, store.Disk{Free: 97, Floor: 50}, 7},
		"at the floor":                  {1, 0, store.Disk{Free: 50, Floor: 50}, 0},
		"no room for large packs":       {16, 0, store.Disk{Free: 110, Floor: 50}, 6},
		"few inodes":                    {1, 0, store.Disk{Free: 200, Floor: 50, Inodes: store.Inodes{All: 1000, Free: 99}, InodeFloor: 50}, 0},
		"enough inodes":                 {1, 0, store.Disk{Free: 200, Floor: 50, Inodes: store.Inodes{All: 1000, Free: 100}, InodeFloor: 50}, 10},
		"a file system without inodes":  {1, 0, store.Disk{Free: 200, Floor: 50, InodeFloor: 50}, 10},
		"all that git data may take":    {1, 12, store.Disk{Free: 200, Floor: 50}, 7},
		"less than git data may take":   {1, 15, store.Disk{Free: 200, Floor: 50}, 10},
		"more without what is in trash": {1, 4, store.Disk{Free: 200, Floor: 50}, 0},
	} {
		disk := test.disk
		disk.Free, disk.Floor = disk.Free<<20, disk.Floor<<20
		trash := &littered{gitfake.New(), 10, &disk.Free}
		h := hosting.New(hosting.Config{Disk: trash, Store: w.store, Service: w.service,
			Limits: hosting.Limits{Push: test.push << 20, Total: test.total << 20}, Space: func() *store.Disk { return &disk }})
		if err := h.ShrinkTrash(t.Context()); err != nil || trash.things != test.left {
			t.Errorf("%s: %d are left (%v), want %d", name, trash.things, err, test.left)
		}
	}
}

// TestManyPacksAreLookedAt: also where nobody fetches.
func TestManyPacksAreLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	pushes := func(d string, at int64) {
		t.Helper()
		w.state(1, "tool", at, "refs/heads/main", r.commit(d))
		r.must("push", w.cloneURL(repo), "main")
	}
	pushes("one", now)
	more := func(many int) {
		t.Helper()
		one := ok(filepath.Glob(filepath.Join(w.dir, "*/*/*/objects/pack/*.pack")))[0]
		for n := range many {
			for _, ending := range []string{".pack", ".rev", ".idx"} { // not every git writes .rev
				err := os.Link(strings.TrimSuffix(one, ".pack")+ending, filepath.Join(filepath.Dir(one), fmt.Sprintf("pack-%040x", many<<16|n)+ending))
				if err != nil && !(errors.Is(err, fs.ErrNotExist) && ending == ".rev") {
					t.Fatal(err)
				}
			}
		}
	}
	more(49)
	pushes("two", now+1)
	w.eventually("the packs are combined", func() bool { return w.host.Stats().Combined > 0 })
	more(1000)
	w.state(1, "tool", now+2, "refs/heads/main", r.commit("three"))
	r.fails("push again in a minute", "push", w.cloneURL(repo), "main")
	w.eventually("the packs are combined once more", func() bool { return w.host.Stats().Combined > 1 })
	r.must("push", w.cloneURL(repo), "main")
}

// packed is a disk whose repositories have so many packs.
type packed struct {
	*gitfake.Fake
	n int64
}

func (p packed) Size(gitrepo.ID) (bytes, packs int64, err error) { return 0, p.n, nil }

// TestFewPacksWaitForAFetch: they make looking for objects no slower.
func TestFewPacksWaitForAFetch(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	of := nip34.Address{Kind: nip34.KindRepository, PubKey: key(1), D: "tool"}
	for _, n := range []int64{1, 50, 51, 999, 1000} {
		h := hosting.New(hosting.Config{Disk: packed{gitfake.New(), n}, Store: w.store, Service: w.service})
		if err := h.Crowded(of, refdb.Dir{1}); (err != nil) != (n == 1000) {
			t.Errorf("to %d packs: %v", n, err)
		}
		if got, ok := h.Visited(); ok != (n > 50) || ok && got != of {
			t.Errorf("with %d packs %v is looked at: %v", n, got, ok)
		}
	}
}
