package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storecheck"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// lived makes a store with a history in memory, in several tables and a log.
func lived(t testing.TB, seed uint64, commits int) (store.Options, string) {
	t.Helper()
	o := store.Options{Dir: "data/store", FS: vfs.NewMem(), TableBytes: 64 << 10, Now: func() time.Time { return time.Unix(storetest.Start, 0) }, Rules: "a"}
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	w := storetest.NewWorld(seed)
	for i := range commits {
		commitSome(t, s, w, storetest.Start+int64(i))
		if i%20 == 10 {
			if err := s.KeepNotes(map[string][]byte{fmt.Sprint("note ", i): {1, byte(i)}, "all": {byte(i)}}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return o, told(t, o)
}

// told is what a store tells that is not open.
func told(t testing.TB, o store.Options) string {
	t.Helper()
	o.ReadOnly = true
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return whole(t, s)
}

// whole is contents with all else that a store tells.
func whole(t testing.TB, s *store.Store) string {
	t.Helper()
	text := contents(t, s)
	v := s.View()
	defer v.Close()
	for _, d := range []string{"", "x", "y:z", "é"} {
		all, err := v.Announcements(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			text += fmt.Sprintf("announced %q %s\n", d, e.ID)
		}
	}
	for p, err := range v.Pairs(t.Context(), everything, true) {
		if err != nil {
			t.Fatal(err)
		}
		k, err := v.Known(p.ID)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("known %s %+v\n", p.ID, k)
	}
	for after := store.Seq(0); ; {
		entries, _, err := s.Since(after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			break
		}
		for _, x := range entries {
			if after = x.Seq; x.Event != nil {
				text += fmt.Sprintf("entry %d %s %s\n", x.Seq, x.Event.ID, x.Source)
			}
			if x.Waits != nil {
				w, err := v.Waiting(x.Waits.ID)
				text += fmt.Sprintf("waits %d %s %+v %v\n", x.Seq, x.Waits.ID, w.Wait, err)
			}
		}
	}
	purging, err := v.Purging()
	if err != nil {
		t.Fatal(err)
	}
	notes, err := s.Notes()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		text += fmt.Sprintf("note %s %x\n", name, notes[name])
	}
	return text + fmt.Sprintln("purging", purging)
}

// repaired repairs and returns what the store tells then.
func repaired(t testing.TB, o store.Options) (storecheck.Repaired, string) {
	t.Helper()
	r, err := storecheck.Repair(t.Context(), o, storecheck.CheckOptions{})
	if err != nil {
		t.Fatalf("%v; %+v", err, r)
	}
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check(t, s)
	return r, whole(t, s)
}

func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			return fmt.Sprintf("line %d: %q, %q", i, x[i], strings.Join(y[min(i, len(y)-1):min(i+1, len(y))], ""))
		}
	}
	return ""
}

// TestRepairOfASoundStore: a repair of a store that lacks nothing changes nothing.
func TestRepairOfASoundStore(t *testing.T) {
	for seed := range seeds(4) {
		o, before := lived(t, seed, 40)
		r, after := repaired(t, o)
		if d := difference(before, after); d != "" {
			t.Errorf("seed %d: %s", seed, d)
		}
		if len(r.Problems) > 0 || r.LeftOut > 0 || r.Salvaged != nil || r.Events == 0 {
			t.Errorf("seed %d: %+v", seed, r)
		}
		if _, err := o.FS.Stat(r.Old); err != nil || !strings.HasPrefix(r.Old, "data/store.broken-") {
			t.Errorf("the old store: %q, %v", r.Old, err)
		}
	}
}

// TestRepairWithoutTheEngine: where the engine finds no way to its files, they hold all the same.
func TestRepairWithoutTheEngine(t *testing.T) {
	for seed := range seeds(4) {
		o, before := lived(t, seed, 40)
		removeLike(t, o, "marker.manifest")
		refused(t, o)
		r, after := repaired(t, o)
		if d := difference(before, after); d != "" || r.Salvaged == nil || len(r.Problems) > 0 {
			t.Errorf("seed %d: %+v, %s", seed, r, d)
		}
	}
}

// TestRepairOfTablesWithOlderVersions: where somebody was reading when a table was written, it holds what was replaced,
// too; that is no damage, and the newest counts.
func TestRepairOfTablesWithOlderVersions(t *testing.T) {
	o, _ := lived(t, 5, 10)
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var views []*store.View
	for i := range 4 {
		note := bytes.Repeat([]byte{byte(i)}, 3000)
		if err := s.KeepNotes(map[string][]byte{"again": note, fmt.Sprint(i): note}, nil); err != nil {
			t.Fatal(err)
		}
		fill(s, storetest.Start+i, 1)
		views = append(views, s.View())
	}
	store.Compact(s)
	for _, v := range views {
		v.Close()
	}
	before := whole(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	removeLike(t, o, "marker.manifest")
	r, after := repaired(t, o)
	if d := difference(before, after); d != "" || r.Salvaged == nil || len(r.Problems) > 0 {
		t.Errorf("%+v, %s", r, d)
	}
}

// TestRepairWithUnfinishedDeletions: what a deletion names that was under way stays away after a repair, and the deletion goes on.
func TestRepairWithUnfinishedDeletions(t *testing.T) {
	o := store.Options{Dir: "data/store", FS: vfs.NewMem(), Now: func() time.Time { return time.Unix(storetest.Start, 0) }, DeleteAtOnce: 2}
	s := open(t, o)
	var here, later []*nostr.Event
	var tags []nostr.Tag
	for i := range 20 {
		e := storetest.Event(1, storetest.Start, 1, fmt.Sprint(i))
		if i%2 == 0 {
			here = append(here, e)
		} else {
			later = append(later, e)
		}
		tags = append(tags, nostr.Tag{"e", e.ID.String()})
	}
	all := append(slices.Clone(here), storetest.Deletion(1, storetest.Start, tags...))
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if out, err := b.Add(e, store.Live); out != policy.Accept || err != nil {
			t.Fatal(out, err)
		}
	}
	if _, err := b.Commit(); err != nil || b.Unfinished() != 1 {
		t.Fatal(b.Unfinished(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r, _ := repaired(t, o)
	if len(r.Problems) > 0 || r.Events == 0 {
		t.Errorf("%+v", r)
	}
	s = open(t, o)
	defer s.Close()
	if b, err = s.Begin(); err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	for i, e := range later {
		if out, err := b.Add(e, store.Live); out != policy.Deleted || err != nil {
			t.Errorf("event %d: %v, %v", i, out, err)
		}
	}
	if more, err := b.Purge(1000); more || err != nil || b.Unfinished() != 0 {
		t.Errorf("%v, %v", more, err)
	}
	for i, e := range append(here, later...) {
		if out, err := b.Add(e, store.Live); out != policy.Deleted || err != nil {
			t.Errorf("event %d in the end: %v, %v", i, out, err)
		}
	}
}

// TestRepairOfAnotherFormat: what another version wrote is left alone, also where only the files can be read.
func TestRepairOfAnotherFormat(t *testing.T) {
	for _, format := range []uint32{1, 8} {
		for _, readable := range []bool{true, false} {
			o, _ := lived(t, 6, 5)
			s := open(t, o)
			store.SetFormat(s, format)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if !readable {
				removeLike(t, o, "marker.manifest")
			}
			before := files(t, o)
			if r, err := storecheck.Repair(t.Context(), o, storecheck.CheckOptions{}); !errors.Is(err, store.ErrFormat) {
				t.Errorf("format %d: %+v, %v", format, r, err)
			}
			if !readable && !maps.EqualFunc(before, files(t, o), bytes.Equal) {
				t.Error("something changed")
			}
		}
	}
}

// TestRepairOnADiskThatFails: a disk that cannot be read is no damage that the files would be searched for.
func TestRepairOnADiskThatFails(t *testing.T) {
	o, before := lived(t, 6, 5)
	b := &breaker{which: func(op errorfs.Op) bool { return isManifest(op) && op.Kind == errorfs.OpOpen }, err: syscall.EIO}
	b.on.Store(true)
	failing := o
	failing.FS = errorfs.Wrap(o.FS, errorfs.InjectorFunc(b.hook))
	if r, err := storecheck.Repair(t.Context(), failing, storecheck.CheckOptions{}); !errors.Is(err, syscall.EIO) || r.Salvaged != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if d := difference(before, told(t, o)); d != "" {
		t.Error(d)
	}
}

func list(t testing.TB, o store.Options, like string) (paths []string) {
	t.Helper()
	names, err := o.FS.List(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.Contains("/"+name, like) {
			paths = append(paths, o.FS.PathJoin(o.Dir, name))
		}
	}
	if len(paths) == 0 {
		t.Fatalf("no %s among %q", like, names)
	}
	return paths
}

func removeLike(t testing.TB, o store.Options, like string) {
	t.Helper()
	for _, path := range list(t, o, like) {
		if err := o.FS.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// files is everything in the store's directory by name, but the lock and the engine's settings.
func files(t testing.TB, o store.Options) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, path := range list(t, o, "") {
		if b := read(t, o.FS, path); !strings.HasSuffix(path, "LOCK") {
			all[path] = b
		}
	}
	return all
}

func read(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t testing.TB, fs vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
}

// refused opens a damaged store, which must fail with an error of one line, and checks that nothing that was there is
// gone or another.
func refused(t testing.TB, o store.Options) error {
	t.Helper()
	before := files(t, o)
	s, err := store.Open(o)
	if err == nil {
		s.Close()
		t.Error("a damaged store opens")
		return nil
	}
	after := files(t, o)
	for path, b := range before {
		if !bytes.Equal(after[path], b) {
			t.Errorf("%s is not what it was", path)
		}
	}
	return err
}

// lostEntries is how many entries that a store told of it tells of no more.
func lostEntries(before, after string) (lost int) {
	for _, line := range strings.Split(before, "\n") {
		if strings.HasPrefix(line, "entry ") && !strings.Contains(after, line+"\n") {
			lost++
		}
	}
	return lost
}
