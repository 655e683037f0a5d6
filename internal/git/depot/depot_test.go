package depot_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitrepo"
)

// packed is a pack on a disk, with bytes of which nobody here asks what they mean.
func packed(t *testing.T, n byte, length int) (gitrepo.Packed, []byte) {
	t.Helper()
	dir, body := t.TempDir(), make([]byte, length)
	_, _ = rand.NewChaCha8([32]byte{n}).Read(body)
	for suffix, b := range map[string][]byte{".pack": body, ".idx": {n, 1, 2}} {
		if err := os.WriteFile(filepath.Join(dir, "x"+suffix), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return gitrepo.Packed{Name: refdb.PackName{n}, Suffixes: []string{".pack", ".idx"}, In: os.DirFS(dir), At: "x"}, body
}

func over(t *testing.T, m objects.Store) *depot.Depot {
	t.Helper()
	return at(t, m, time.Now)
}

func at(t *testing.T, m objects.Store, now func() time.Time) *depot.Depot {
	t.Helper()
	s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem(), Rules: policy.Rules{}.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return depot.New(depot.Config{Objects: m, Rows: s, Term: 7, Now: now, Pause: time.Microsecond})
}

// fetched returns a file as it was fetched.
func fetched(t *testing.T, d *depot.Depot, p refdb.Pack, i int) ([]byte, error) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := d.Fetch(t.Context(), p, p.Files[i], f); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	return b, nil
}

func TestWhatWasPutIsFetched(t *testing.T) {
	for _, length := range []int{1, 8 << 20, 20<<20 + 1} {
		m, now := new(objecttest.Memory), time.Unix(1e9, 0)
		d := at(t, m, func() time.Time { return now })
		x, body := packed(t, 3, length)
		put, done, err := d.Put(t.Context(), []gitrepo.Packed{x})
		if err != nil || len(put) != 1 {
			t.Fatal(put, err)
		}
		p := put[0]
		if p.Name != x.Name || p.Term != 7 || p.Files[0].Bytes != int64(length) || p.Files[1] != (refdb.File{Suffix: ".idx", Bytes: 3, Sum: p.Files[1].Sum}) {
			t.Errorf("%+v", p)
		}
		for i, want := range [][]byte{body, {3, 1, 2}} {
			if got, err := fetched(t, d, p, i); err != nil || !bytes.Equal(got, want) {
				t.Errorf("file %d of %d bytes: %d bytes come, %v", i, length, len(got), err)
			}
		}
		if !d.Held(p.Object()) {
			t.Error("nothing holds what was just put")
		}
		if done(); d.Held(p.Object()) {
			t.Error("it is held for ever")
		}
		again, done, err := d.Put(t.Context(), []gitrepo.Packed{x})
		if done(); err != nil || again[0].Object() != p.Object() {
			t.Errorf("what was just put is put again: %v", err)
		}
		now = now.Add(11 * time.Minute)
		again, done, err = d.Put(t.Context(), []gitrepo.Packed{x})
		if done(); err != nil || again[0].Object() == p.Object() {
			t.Errorf("a late put has the names of the first one: %v", err)
		}
		if problems, err := d.Verify(t.Context(), p); err != nil || len(problems) > 0 {
			t.Errorf("%q, %v", problems, err)
		}
	}
}

// TestAStoreThatMisbehaves: what Put says to be there is there, however requests and answers are lost.
func TestAStoreThatMisbehaves(t *testing.T) {
	for seed := range uint64(30) {
		m := &objecttest.Memory{Fault: objecttest.Random(seed, 0)}
		d := over(t, m)
		x, body := packed(t, byte(seed), 100)
		put, done, err := d.Put(t.Context(), []gitrepo.Packed{x})
		if err != nil {
			if !errors.Is(err, depot.ErrUnanswered) || len(put) > 0 {
				t.Errorf("seed %d: %v, %v", seed, put, err)
			}
			continue
		}
		defer done()
		m.Fault = nil
		m.Deliver()
		if got, err := fetched(t, d, put[0], 0); err != nil || !bytes.Equal(got, body) {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestAStoreThatIsAway: Put and Fetch end, and say so.
func TestAStoreThatIsAway(t *testing.T) {
	m := new(objecttest.Memory)
	d := over(t, m)
	x, _ := packed(t, 3, 100)
	put, done, err := d.Put(t.Context(), []gitrepo.Packed{x})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	m.Fault = func(objecttest.Request) objecttest.Fault { return objecttest.Fault{Lost: true} }
	y, _ := packed(t, 4, 100)
	if _, _, err := d.Put(t.Context(), []gitrepo.Packed{y}); !errors.Is(err, depot.ErrUnanswered) {
		t.Error(err)
	}
	if _, err := fetched(t, d, put[0], 0); !errors.Is(err, depot.ErrUnanswered) {
		t.Error(err)
	}
	if _, err := d.Verify(t.Context(), put[0]); !errors.Is(err, depot.ErrUnanswered) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.Put(ctx, []gitrepo.Packed{y}); !errors.Is(err, context.Canceled) || errors.Is(err, depot.ErrUnanswered) {
		t.Error(err)
	}
}

// TestDamagedObjects: what is not as it was put is told, and nobody gets it.
func TestDamagedObjects(t *testing.T) {
	for name, c := range map[string]struct {
		instead string
		says    string
	}{
		"gone": {"", "is gone"}, "shorter": {"01234567890123456789012345678", "has 29 bytes, and not 30"}, "longer": {"0123456789012345678901234567890", "has 31 bytes, and not 30"},
		"other bytes": {"012345678901234567890123456789", "is damaged"},
	} {
		m := new(objecttest.Memory)
		d := over(t, m)
		x, body := packed(t, 3, 30)
		put, done, err := d.Put(t.Context(), []gitrepo.Packed{x})
		if err != nil {
			t.Fatal(err)
		}
		done()
		object := put[0].Object() + ".pack"
		if err := m.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if c.instead != "" {
			if o, err := m.Put(t.Context(), object, strings.NewReader(c.instead)); o != objects.Done {
				t.Fatal(err)
			}
		}
		problems, err := d.Verify(t.Context(), put[0])
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0], object) || !strings.Contains(problems[0], c.says) {
			t.Errorf("%s: %q, %v", name, problems, err)
		}
		if _, err := fetched(t, d, put[0], 0); !errors.Is(err, depot.ErrDamaged) && name != "longer" {
			t.Errorf("%s: %v", name, err)
		}
		if n, first := d.Damaged(); name != "longer" && (n != 1 || !strings.HasPrefix(first, object+": ")) {
			t.Errorf("%s: %d are damaged, %s", name, n, first)
		}
		if err := m.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if o, err := m.Put(t.Context(), object, bytes.NewReader(body)); o != objects.Done {
			t.Fatal(err)
		}
		if _, err := fetched(t, d, put[0], 0); err != nil {
			t.Errorf("%s: once it is whole again: %v", name, err)
		}
		if n, first := d.Damaged(); n != 0 {
			t.Errorf("%s: %d are still damaged, %s", name, n, first)
		}
	}
}

// TestObjectsAreListedOnce: by the names of packs, page by page, and removed with all their files.
func TestObjectsAreListedOnce(t *testing.T) {
	m := new(objecttest.Memory)
	d := over(t, m)
	want := map[string]bool{}
	var some []gitrepo.Packed
	for i := range byte(4) {
		x, _ := packed(t, i, 10)
		some = append(some, x)
	}
	put, done, err := d.Put(t.Context(), some)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for _, p := range put {
		want[p.Object()] = true
	}
	names, after, err := d.List(t.Context(), "")
	if err != nil || after != "" || len(names) != len(want) {
		t.Fatal(names, after, err)
	}
	for _, n := range names {
		if !want[n] {
			t.Errorf("%s", n)
		}
	}
	if err := d.Remove(t.Context(), names[0]); err != nil {
		t.Fatal(err)
	}
	left, _, err := d.List(t.Context(), "")
	if page, err2 := m.List(t.Context(), "packs/", "", 100); errors.Join(err, err2) != nil || len(left) != 3 || len(page) != 6 {
		t.Errorf("%q, %v", left, page)
	}
}

// TestFetchesAreInParts that come at once, but not too many.
func TestFetchesAreInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		m := &objecttest.Memory{Fault: func(objecttest.Request) objecttest.Fault { return objecttest.Fault{Delay: time.Second} }}
		d := over(t, counting{m, func(n int) {
			mu.Lock()
			defer mu.Unlock()
			now += n
			most = max(most, now)
		}})
		x, body := packed(t, 3, 50<<20)
		put, done, err := d.Put(t.Context(), []gitrepo.Packed{x})
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if got, err := fetched(t, d, put[0], 0); err != nil || !bytes.Equal(got, body) {
			t.Error(err)
		}
		if most != 4 {
			t.Errorf("%d parts come at once", most)
		}
	})
}

// counting is told of the reads that are under way.
type counting struct {
	*objecttest.Memory
	add func(int)
}

func (c counting) Get(ctx context.Context, name string, from int64, n int) ([]byte, error) {
	c.add(1)
	defer c.add(-1)
	return c.Memory.Get(ctx, name, from, n)
}

// TestPutAgain: who fills a store finds there what an earlier try has put, by what it has; another file of a pack is another object.
func TestPutAgain(t *testing.T) {
	m, puts := new(objecttest.Memory), 0
	m.Fault = func(q objecttest.Request) objecttest.Fault {
		if q.Op == "put" {
			puts++
		}
		return objecttest.Fault{}
	}
	x, body := packed(t, 3, 100)
	var first refdb.Pack
	for try := range 3 {
		d := depot.New(depot.Config{Objects: m, Again: true, Pause: time.Microsecond})
		if try == 2 { // other bytes, as an index may have for one pack
			other := t.TempDir()
			for suffix, b := range map[string][]byte{".pack": body, ".idx": {3, 1, 9}} {
				if err := os.WriteFile(filepath.Join(other, "x"+suffix), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			x.In = os.DirFS(other)
		}
		puts = 0
		put, done, err := d.Put(t.Context(), []gitrepo.Packed{x})
		if done(); err != nil {
			t.Fatal(err)
		}
		switch {
		case try == 0:
			first = put[0]
		case try == 1 && (put[0].Object() != first.Object() || puts != 0):
			t.Errorf("%d are put again, as %s and not %s", puts, put[0].Object(), first.Object())
		case try == 2 && (put[0].Object() == first.Object() || puts != 2):
			t.Errorf("another index has the name of the first one, %d puts", puts)
		}
		for i, want := range [][]byte{body, {3, 1, 2}} {
			if try == 2 && i == 1 {
				want = []byte{3, 1, 9}
			}
			if got, err := fetched(t, d, put[0], i); err != nil || !bytes.Equal(got, want) {
				t.Errorf("file %d of try %d: %v", i, try, err)
			}
		}
	}
}
