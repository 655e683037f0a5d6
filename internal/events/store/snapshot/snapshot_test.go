package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/snapshot"
	"github.com/graspd/graspd/internal/events/store/storetest"
)

// rig is a store with a log in a bucket.
type rig struct {
	t      testing.TB
	bucket *objecttest.Memory
	log    *bucketlog.Log
	fs     *vfs.MemFS
	s      *store.Store
	events int64
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, bucket: new(objecttest.Memory), fs: vfs.NewMem()}
	r.log = bucketlog.New(r.bucket)
	r.s = r.open(r.fs)
	t.Cleanup(func() { r.s.Close() })
	r.lead()
	return r
}

func (r *rig) open(fs vfs.FS) *store.Store {
	r.t.Helper()
	s, err := store.Open(store.Options{Dir: "data", FS: fs, Log: r.log})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) lead() {
	r.t.Helper()
	if _, err := r.s.Lead(fmt.Append(nil, "leader ", r.s.LogPlace().Term)); err != nil {
		r.t.Fatal(err)
	}
}

// fill makes so many commits.
func (r *rig) fill(n int) {
	r.t.Helper()
	for range n {
		r.events++
		b, err := r.s.Begin()
		if err != nil {
			r.t.Fatal(err)
		}
		if out, err := b.Add(storetest.Event(1, r.events, 1, strings.Repeat("x", 1000)), store.Direct); err != nil || out != policy.Accept {
			r.t.Fatal(out, err)
		}
		if _, err := b.Commit(); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) make(word string) snapshot.Snapshot {
	r.t.Helper()
	m := snapshot.Maker{Objects: r.bucket, FS: r.fs, Word: word}
	s, err := m.Make(r.t.Context(), r.s, "copy")
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// has is what a store has.
func has(t testing.TB, s *store.Store) string {
	t.Helper()
	var b strings.Builder
	for after := store.Seq(0); ; {
		entries, _, err := s.Since(after, 100)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return b.String()
		}
		for _, x := range entries {
			after = x.Seq
			fmt.Fprintln(&b, x.Seq, x.Event.ID)
		}
	}
}

// wantRestored restores a snapshot on an empty disk, where the store then has all of the log.
func (r *rig) wantRestored(s snapshot.Snapshot) {
	r.t.Helper()
	fs := vfs.NewMem()
	if err := (snapshot.Restorer{Objects: r.bucket, FS: fs}).Restore(r.t.Context(), s, "data"); err != nil {
		r.t.Fatal(err)
	}
	o := r.open(fs)
	defer o.Close()
	if o.LogPlace() != r.s.LogPlace() || has(r.t, o) != has(r.t, r.s) {
		r.t.Errorf("a restored store is at %v, and not at %v with the same content", o.LogPlace(), r.s.LogPlace())
	}
}

func (r *rig) names(prefix string) (names []string) {
	r.t.Helper()
	page, err := r.bucket.List(r.t.Context(), prefix, "", objects.MaxList)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, x := range page {
		names = append(names, x.Name)
	}
	return names
}

func TestASnapshotIsRestored(t *testing.T) {
	r := newRig(t)
	r.fill(20)
	if _, err := snapshot.Newest(t.Context(), r.bucket); !errors.Is(err, snapshot.ErrNone) {
		t.Error(err)
	}
	s := r.make("a")
	if s.Place != r.s.LogPlace() || s.Bytes() < 20*100 || time.Since(s.Made) > time.Minute {
		t.Errorf("%+v", s)
	}
	if there, err := r.fs.List(""); err != nil || slices.Contains(there, "copy") {
		t.Errorf("the copy is left: %v, %v", there, err)
	}
	r.wantRestored(s)
	r.fill(20)
	r.wantRestored(s) // and what the log has after it
	newest, err := snapshot.Newest(t.Context(), r.bucket)
	if err != nil || newest.Place != s.Place || !slices.Equal(newest.Files, s.Files) || newest.Made.Unix() != s.Made.Unix() {
		t.Errorf("%+v, %v", newest, err)
	}
	r.wantRestored(newest)
	second := r.make("b")
	all, wrong, err := snapshot.All(t.Context(), r.bucket)
	if err != nil || len(wrong) != 0 || len(all) != 2 || all[0].Place != second.Place || all[1].Place != s.Place {
		t.Errorf("%v, %v, %v", all, wrong, err)
	}
}

// TestNothingHalf: whatever goes wrong with requests, a snapshot that is listed can be restored, and a restore gives all or nothing.
func TestNothingHalf(t *testing.T) {
	made, restored := 0, 0
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.fill(20)
			r.bucket.Fault = objecttest.Random(seed, 3*time.Second)
			m := snapshot.Maker{Objects: r.bucket, FS: r.fs, Word: "w"}
			ctx, end := context.WithTimeout(t.Context(), time.Duration(1+seed)*8*time.Second)
			defer end()
			_, err := m.Make(ctx, r.s, "copy")
			if err == nil {
				made++
			}
			fs := vfs.NewMem()
			for range 3 {
				s, err := snapshot.Newest(t.Context(), r.bucket)
				if err != nil {
					continue
				}
				ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
				err = snapshot.Restorer{Objects: r.bucket, FS: fs}.Restore(ctx, s, "data")
				end()
				if there, _ := fs.Stat("data"); (there != nil) != (err == nil) {
					t.Errorf("seed %d: there %v, %v", seed, there != nil, err)
				}
				if errors.Is(err, snapshot.ErrDamaged) || errors.Is(err, objects.ErrNone) {
					t.Errorf("seed %d: %v", seed, err)
				}
				if err == nil {
					restored++
					break
				}
			}
			r.bucket.Fault = nil
			r.bucket.Deliver()
			if s, err := snapshot.Newest(t.Context(), r.bucket); err == nil {
				r.wantRestored(s)
			} else if made > 0 && !errors.Is(err, snapshot.ErrNone) {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
	}
	if made < 5 || made > 39 || restored < 5 {
		t.Errorf("%d were made, %d restored", made, restored)
	}
}

// TestWhatIsDamagedIsNotTaken: where an object of a snapshot is gone, shorter, longer or has another content, nothing is restored.
func TestWhatIsDamagedIsNotTaken(t *testing.T) {
	r := newRig(t)
	r.fill(5)
	s := r.make("a")
	for _, name := range r.names("snapshot-files/") {
		b, err := r.bucket.Get(t.Context(), name, 0, objects.MaxPart)
		if err != nil {
			t.Fatal(err)
		}
		for what, other := range map[string][]byte{"gone": nil, "short": b[:max(len(b), 1)-1], "long": append(bytes.Clone(b), 1), "other": nil} {
			if len(b) == 0 { // nobody asks for it
				continue
			}
			if what == "other" {
				other = bytes.Clone(b)
				other[len(b)/2] ^= 1
			}
			if err := r.bucket.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			want := objects.ErrNone
			if other != nil {
				want = snapshot.ErrDamaged
				put(t, r.bucket, name, other)
			}
			fs := vfs.NewMem()
			err := snapshot.Restorer{Objects: r.bucket, FS: fs}.Restore(t.Context(), s, "data")
			if what == "long" { // its beginning is right
				want = nil
			}
			if !errors.Is(err, want) {
				t.Errorf("%s is %s: %v", name, what, err)
			}
			if there, _ := fs.Stat("data"); (there != nil) != (want == nil) {
				t.Errorf("%s is %s: something is there", name, what)
			}
			if err := r.bucket.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			put(t, r.bucket, name, b)
		}
	}
	r.wantRestored(s)
	elsewhere := s // its files are right, and are of another place
	elsewhere.Place.Position++
	fs := vfs.NewMem()
	if err := (snapshot.Restorer{Objects: r.bucket, FS: fs}).Restore(t.Context(), elsewhere, "data"); !errors.Is(err, snapshot.ErrDamaged) {
		t.Error(err)
	}
	if there, err := fs.List(""); err != nil || len(there) > 0 {
		t.Errorf("left: %q, %v", there, err)
	}
}

func put(t testing.TB, o objects.Store, name string, b []byte) {
	t.Helper()
	if out, err := o.Put(t.Context(), name, bytes.NewReader(b)); out != objects.Done {
		t.Fatal(out, err)
	}
}

// spoiled is an object store that gives back something else of one object, or says that it is there and has it not.
type spoiled struct {
	objects.Store
	name  string
	loses bool
}

func (s spoiled) Get(ctx context.Context, name string, from int64, n int) ([]byte, error) {
	b, err := s.Store.Get(ctx, name, from, n)
	if strings.HasPrefix(name, s.name) && err == nil && len(b) > 0 {
		b[0]++
	}
	return b, err
}

func (s spoiled) Put(ctx context.Context, name string, body objects.Body) (objects.Outcome, error) {
	if s.loses && strings.HasPrefix(name, s.name) {
		return objects.Done, nil
	}
	return s.Store.Put(ctx, name, body)
}

// TestASnapshotIsReadBack: a snapshot is not there where the object store does not give back what was put.
func TestASnapshotIsReadBack(t *testing.T) {
	for _, prefix := range []string{"snapshot-files/", "snapshots/"} {
		for _, loses := range []bool{false, true} {
			r := newRig(t)
			r.fill(3)
			m := snapshot.Maker{Objects: spoiled{r.bucket, prefix, loses}, FS: r.fs, Word: "a"}
			if _, err := m.Make(t.Context(), r.s, "copy"); err == nil {
				t.Errorf("%s, loses %v: it is said to be there", prefix, loses)
			}
			if prefix == "snapshot-files/" && len(r.names("snapshots/")) > 0 {
				t.Errorf("%s, loses %v: it is listed", prefix, loses)
			}
		}
	}
}

// cut is an object store that fails for good after some requests.
type cut struct {
	objects.Store
	left *atomic.Int64
}

var errCut = errors.New("cut")

func (c cut) Get(ctx context.Context, name string, from int64, n int) ([]byte, error) {
	if c.left.Add(-1) < 0 {
		return nil, errCut
	}
	return c.Store.Get(ctx, name, from, n)
}

// TestARestoreGoesOn: what is there already is not fetched again; what is wrong, or of another snapshot, is.
func TestARestoreGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.fill(5)
		old := r.make("old")
		r.fill(50)
		s := r.make("new")
		fs := vfs.NewCrashableMem()
		if err := fs.MkdirAll("data.restoring", 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"000999.sst", s.Files[0].Name} {
			f, err := fs.Create("data.restoring/"+name, vfs.WriteCategoryUnspecified)
			if err == nil {
				_, err = io.WriteString(f, "rubbish")
			}
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
		var left atomic.Int64
		left.Store(2)
		err := snapshot.Restorer{Objects: cut{r.bucket, &left}, FS: fs}.Restore(t.Context(), old, "data")
		if !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		gets := map[string]int{}
		for cuts := 0; ; cuts++ {
			left.Store(3)
			r.bucket.Fault = func(q objecttest.Request) objecttest.Fault {
				if q.Op == "get" {
					gets[q.Name]++
				}
				return objecttest.Fault{}
			}
			err := snapshot.Restorer{Objects: cut{r.bucket, &left}, FS: fs}.Restore(t.Context(), s, "data")
			if err == nil {
				fs = fs.CrashClone(vfs.CrashCloneCfg{}) // all of it is durable
				if there, err := fs.List("data"); err != nil || slices.Contains(there, "000999.sst") {
					t.Errorf("it has %q, %v", there, err)
				}
				if cuts == 0 || len(gets) < 3 {
					t.Errorf("%d cuts, %d objects", cuts, len(gets))
				}
				break
			}
			if !errors.Is(err, errCut) || cuts > 30 {
				t.Fatal(err)
			}
		}
		for name, n := range gets {
			if n > 1 {
				t.Errorf("%s was fetched %d times", name, n)
			}
		}
		r.bucket.Fault = nil
		o := r.open(fs)
		defer o.Close()
		if has(t, o) != has(t, r.s) {
			t.Error("it has something else")
		}
		if err := (snapshot.Restorer{Objects: r.bucket, FS: fs}).Restore(t.Context(), s, "data"); err == nil {
			t.Error("a store is overwritten")
		}
		full := errors.New("full")
		err = snapshot.Restorer{Objects: r.bucket, FS: vfs.NewMem(), Room: func(n int64) error {
			if n != s.Bytes() {
				t.Errorf("asked for %d bytes", n)
			}
			return full
		}}.Restore(t.Context(), s, "data")
		if !errors.Is(err, full) {
			t.Error(err)
		}
	})
}

// TestTrim: the log goes below the older of two snapshots but for the beginnings of terms, and so do older snapshots; from each snapshot that stays
// everything can be had.
func TestTrim(t *testing.T) {
	r := newRig(t)
	trim := func() snapshot.Trimmed {
		x, err := snapshot.Trim(t.Context(), r.bucket, r.s.LogPlace())
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	r.fill(3) // up to 4
	first := r.make("a")
	if x := trim(); x != (snapshot.Trimmed{}) {
		t.Errorf("with one snapshot: %+v", x)
	}
	r.reopen()
	r.lead() // 5
	r.fill(4)
	second := r.make("b") // 9
	r.fill(2)
	put(t, r.bucket, "snapshot-files/00000000000000000002-x/left", nil)
	put(t, r.bucket, "snapshot-files/00000000000000000010-x/under-way", nil)
	if x := trim(); x.Below != 4 || x.Commits != 2 || x.Objects != 1 {
		t.Errorf("%+v", x)
	}
	r.wantRestored(first)
	r.wantRestored(second)
	third := r.make("c") // 11
	r.fill(1)
	files := len(first.Files)
	if x := trim(); x.Below != 9 || x.Commits != 4 || x.Objects > files+1 || x.Objects < 2 {
		t.Errorf("%+v", x)
	}
	var want []string
	for _, at := range []int{1, 5, 9, 10, 11, 12} {
		want = append(want, fmt.Sprintf("log/%020d", at))
	}
	if got := r.names("log/"); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := r.names("snapshots/"); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if !slices.Contains(r.names("snapshot-files/"), "snapshot-files/00000000000000000010-x/under-way") {
		t.Error("the files of a snapshot are removed that is newer than those that stay")
	}
	r.wantRestored(second)
	r.wantRestored(third)
	if x := trim(); x.Commits != 0 || x.Objects != 0 {
		t.Errorf("again: %+v", x)
	}
	behind := r.s.LogPlace()
	behind.Position = 8
	if x, err := snapshot.Trim(t.Context(), r.bucket, behind); err != nil || x.Below != 0 {
		t.Errorf("by a store that is behind: %+v, %v", x, err)
	}
}

// TestTrimSeesAllThereIs, also where a list of it takes several requests.
func TestTrimSeesAllThereIs(t *testing.T) {
	r := newRig(t)
	for _, word := range []string{"a", "b"} {
		r.fill(2)
		r.make(word)
	}
	const left = objects.MaxList + 10
	for i := range left {
		put(t, r.bucket, fmt.Sprintf("snapshot-files/%020d-x/%04d", 1, i), nil)
	}
	if x, err := snapshot.Trim(t.Context(), r.bucket, r.s.LogPlace()); err != nil || x.Objects != left {
		t.Errorf("%+v, %v", x, err)
	}
}

func (r *rig) reopen() {
	r.t.Helper()
	if err := r.s.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.s = r.open(r.fs)
}

// TestSnapshotsThatDoNotCount: of another history, of a log that is not there, of another version, and what is no list.
func TestSnapshotsThatDoNotCount(t *testing.T) {
	r, other, longer := newRig(t), newRig(t), newRig(t)
	r.fill(3)
	other.events = 100
	other.fill(3)
	longer.fill(4)
	s := r.make("a")
	own := r.names("snapshots/")[0]
	for _, x := range []*rig{other, longer} {
		x.make("b")
		for _, name := range append(x.names("snapshots/"), x.names("snapshot-files/")...) {
			b, err := x.bucket.Get(t.Context(), name, 0, objects.MaxPart)
			if err != nil {
				t.Fatal(err)
			}
			put(t, r.bucket, name, b)
		}
	}
	list, err := r.bucket.Get(t.Context(), own, 0, objects.MaxPart)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string][]byte{
		"3-0000000000000001": []byte("{"),
		"3-0000000000000002": bytes.Replace(list, []byte(`"format":1`), []byte(`"format":2`), 1),
		"3-0000000000000003": list, // under another name
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		put(t, r.bucket, "snapshots/0000000000000000000"+name, at[name])
	}
	all, wrong, err := snapshot.All(t.Context(), r.bucket)
	if err != nil || len(all) != 1 || all[0].Place != s.Place || len(wrong) != len(at) {
		t.Errorf("%v, %v, %v", all, wrong, err)
	}
	formats := 0
	for _, err := range wrong {
		if errors.Is(err, snapshot.ErrFormat) {
			formats++
		} else if !errors.Is(err, snapshot.ErrDamaged) {
			t.Error(err)
		}
	}
	if formats != 1 {
		t.Errorf("%d of another format", formats)
	}
	for _, x := range []struct{ is, bad string }{{`"under":"snapshot-files/`, `"under":"log/`}, {`"name":"`, `"name":"../`}, {`"size":`, `"size":-`}} {
		if err := r.bucket.Delete(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		put(t, r.bucket, own, bytes.ReplaceAll(list, []byte(x.is), []byte(x.bad)))
		if all, _, err := snapshot.All(t.Context(), r.bucket); err != nil || len(all) > 0 {
			t.Errorf("%s: %v, %v", x.bad, all, err)
		}
	}
	alone := vfs.NewMem()
	o, err := store.Open(store.Options{Dir: "data", FS: alone})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := (snapshot.Maker{Objects: r.bucket, FS: alone, Word: "c"}).Put(t.Context(), "data"); err == nil {
		t.Error("a snapshot of a store without a log")
	}
}

func TestDue(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		s    snapshot.Sight
		want bool
	}{
		{snapshot.Sight{}, false},
		{snapshot.Sight{Log: 1}, true},
		{snapshot.Sight{Any: true, Since: 30 * day}, false},
		{snapshot.Sight{Any: true, Log: 1, Since: day - 1}, false},
		{snapshot.Sight{Any: true, Log: 1, Since: day}, true},
		{snapshot.Sight{Any: true, Log: 1 << 30, Store: 1}, false},
		{snapshot.Sight{Any: true, Log: 1<<30 + 1, Store: 4 << 30}, true},
		{snapshot.Sight{Any: true, Log: 2 << 30, Store: 8 << 30}, false},
		{snapshot.Sight{Any: true, Log: 2<<30 + 1, Store: 8 << 30}, true},
		{snapshot.Sight{Any: true, Log: 1, Since: -day}, false},
	} {
		if c.s.Due() != c.want {
			t.Errorf("%+v", c.s)
		}
	}
}

// TestTheFirstEntryOfALog: a store that was alone goes into a bucket: who restores it goes on from there, and nobody else takes its first entry.
func TestTheFirstEntryOfALog(t *testing.T) {
	bucket, fs := new(objecttest.Memory), vfs.NewMem()
	log := bucketlog.New(bucket)
	alone := &rig{t: t, bucket: bucket, log: log, fs: fs}
	var err error
	if alone.s, err = store.Open(store.Options{Dir: "data", FS: fs}); err != nil {
		t.Fatal(err)
	}
	alone.fill(7)
	before := has(t, alone.s)
	if err := alone.s.Close(); err != nil {
		t.Fatal(err)
	}
	first, err := store.Enlist(store.Options{Dir: "data", FS: fs}, []byte("init"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Enlist(store.Options{Dir: "data", FS: fs}, []byte("again")); !errors.Is(err, store.ErrLogged) {
		t.Errorf("it is enlisted twice: %v", err)
	}
	s, err := snapshot.Maker{Objects: bucket, FS: fs, Word: "init"}.Put(t.Context(), "data")
	if err != nil || s.Place.Position != 1 || s.Place.Chain != first.Chain || s.Place.Began != 1 {
		t.Fatal(s.Place, err)
	}
	if _, err := snapshot.Newest(t.Context(), bucket); !errors.Is(err, snapshot.ErrNone) {
		t.Errorf("it counts before the log has its place: %v", err)
	}
	if err := commitlog.Settle(t.Context(), log, first, commitlog.Chain{}); err != nil {
		t.Fatal(err)
	}
	if by, is, err := store.BeginsTerm(first); err != nil || !is || string(by) != "init" {
		t.Errorf("%q, %v, %v", by, is, err)
	}
	if _, err := store.Open(store.Options{Dir: "data", FS: fs}); !errors.Is(err, store.ErrLogged) {
		t.Errorf("it opens without its log: %v", err)
	}
	if _, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem(), Log: log}); !errors.Is(err, commitlog.ErrDamaged) {
		t.Errorf("an empty store takes the entry: %v", err)
	}
	alone.s = alone.open(fs)
	defer func() { alone.s.Close() }()
	alone.lead()
	alone.fill(2)
	if at := alone.s.LogPlace(); at.Term != 2 || at.Position != 4 || at.Began != 2 || !strings.HasPrefix(has(t, alone.s), before) {
		t.Errorf("%+v", at)
	}
	alone.wantRestored(s)

	gone := vfs.NewMem()
	if err := (snapshot.Restorer{Objects: bucket, FS: gone}).Restore(t.Context(), s, "data"); err != nil {
		t.Fatal(err)
	}
	if err := alone.open(gone).Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.StandAlone(store.Options{Dir: "data", FS: gone}); err != nil {
		t.Fatal(err)
	}
	o, err := store.Open(store.Options{Dir: "data", FS: gone})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if has(t, o) != has(t, alone.s) || o.LogPlace() != (store.Place{}) {
		t.Error("the store that stands alone has something else")
	}
	v := o.View()
	defer v.Close()
	if by, err := v.Leader(); err != nil || by != nil {
		t.Errorf("it knows a leader: %q, %v", by, err)
	}
}
