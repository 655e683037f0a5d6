package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
)

// breaker is a disk on which some operations fail while it is on.
type breaker struct {
	on    atomic.Bool
	which func(errorfs.Op) bool
	err   error
}

func (b *breaker) hook(op errorfs.Op) error {
	if b.on.Load() && b.which(op) {
		return b.err
	}
	return nil
}

func isWAL(op errorfs.Op) bool   { return strings.HasSuffix(op.Path, ".log") }
func isTable(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".sst") }
func isManifest(op errorfs.Op) bool {
	return strings.Contains(filepath.Base(op.Path), "MANIFEST")
}

// TestDiskFailures: whatever fails, no commit is acknowledged that a restart would not find, the store says so from
// then on, readers go on with what is durable, and a restart on a disk that works finds everything that was
// acknowledged.
func TestDiskFailures(t *testing.T) {
	sync := func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	}
	write := func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileWriteAt }
	for _, c := range []struct {
		name  string
		which func(errorfs.Op) bool
		err   error
	}{
		{"log write", func(op errorfs.Op) bool { return isWAL(op) && write(op) }, syscall.EIO},
		{"log sync", func(op errorfs.Op) bool { return isWAL(op) && sync(op) }, syscall.EIO},
		{"log create", func(op errorfs.Op) bool { return isWAL(op) && op.Kind == errorfs.OpCreate }, syscall.ENOSPC},
		{"table create", func(op errorfs.Op) bool { return isTable(op) && op.Kind == errorfs.OpCreate }, syscall.EIO},
		{"table write", func(op errorfs.Op) bool { return isTable(op) && write(op) }, syscall.ENOSPC},
		{"table sync", func(op errorfs.Op) bool { return isTable(op) && sync(op) }, syscall.EIO},
		{"manifest write", func(op errorfs.Op) bool { return isManifest(op) && write(op) }, syscall.EIO},
		{"manifest sync", func(op errorfs.Op) bool { return isManifest(op) && sync(op) }, syscall.EIO},
		{"every write", func(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite }, syscall.ENOSPC},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &breaker{which: c.which, err: c.err}
			mem := vfs.NewCrashableMem()
			var log bytes.Buffer
			o := store.Options{Dir: "data", FS: errorfs.Wrap(mem, errorfs.InjectorFunc(b.hook)), TableBytes: 64 << 10,
				Logger: slog.New(slog.NewTextHandler(&log, nil))}
			s, err := store.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			acked := fill(s, 0, 5)
			if len(acked) != 5 {
				t.Fatalf("%d commits before the failure", len(acked))
			}
			b.on.Store(true)
			more := fill(s, 5, 400)
			acked = append(acked, more...)
			if len(more) == 400 {
				t.Fatal("nothing failed")
			}
			if _, err := s.Begin(); !errors.Is(err, store.ErrFailed) || !errors.Is(err, c.err) {
				t.Errorf("begin after the failure: %v", err)
			}
			if err := s.Failure(); !errors.Is(err, store.ErrFailed) {
				t.Errorf("failure: %v", err)
			}
			if got := len(readAll(t, s)); got != len(acked) {
				t.Errorf("%d events visible, %d acknowledged", got, len(acked))
			}
			disk := mem.CrashClone(vfs.CrashCloneCfg{})
			s.Close() // reports the failure or not, but returns
			if n := strings.Count(log.String(), "storage failed"); n != 1 {
				t.Errorf("the failure was logged %d times:\n%s", n, log.String())
			}

			s = open(t, store.Options{Dir: "data", FS: disk})
			check(t, s)
			have := readAll(t, s)
			for _, content := range acked {
				if !have[content] {
					t.Errorf("%s was acknowledged and is not there", content)
				}
			}
			if n := len(fill(s, 1000, 2)); n != 2 {
				t.Errorf("%d commits after the restart", n)
			}
		})
	}
}

// fill commits one event after the other until one fails, and returns those that were acknowledged.
func fill(s *store.Store, from, n int) (acked []string) {
	for i := from; i < from+n; i++ {
		b, err := s.Begin()
		if err != nil {
			return acked
		}
		content := fmt.Sprint(i)
		e := storetest.Event(1, int64(1000+i), 1, content, []string{"t", strings.Repeat("x", 2000)})
		out, err := b.Add(e, store.Live)
		if err == nil && out == policy.Accept {
			_, err = b.Commit()
		}
		if err != nil {
			b.Discard()
			return acked
		}
		acked = append(acked, content)
	}
	return acked
}

func readAll(t testing.TB, s *store.Store) map[string]bool {
	t.Helper()
	v := s.View()
	defer v.Close()
	have := map[string]bool{}
	for row, err := range v.Query(t.Context(), everything) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := row.Event()
		if err != nil {
			t.Fatal(err)
		}
		have[e.Content] = true
	}
	return have
}

func TestFloorOfFreeDisk(t *testing.T) {
	var free atomic.Uint64
	free.Store(10 << 20)
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem(), Floor: 1 << 20, FreeSpace: func() (uint64, error) { return free.Load(), nil }})
	if n := len(fill(s, 0, 3)); n != 3 {
		t.Fatalf("%d commits with room", n)
	}
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Add(storetest.Event(1, 1, 1, "no room"), store.Live); err != nil {
		t.Fatal(err)
	}
	free.Store(1<<20 + 10) // what is in the batch no longer fits above the floor
	if _, err := b.Commit(); !errors.Is(err, store.ErrFull) {
		t.Errorf("commit: %v", err)
	}
	free.Store(1<<20 - 1)
	if _, err := s.Begin(); !errors.Is(err, store.ErrFull) {
		t.Errorf("begin: %v", err)
	}
	if have := readAll(t, s); len(have) != 3 || have["no room"] {
		t.Errorf("%v is there", have)
	}
	free.Store(10 << 20)
	if n := len(fill(s, 3, 3)); n != 3 || s.Failure() != nil {
		t.Errorf("%d commits when there is room again; %v", n, s.Failure())
	}
	check(t, s)
}

// TestFloorOfFreeInodes: nothing is written where few are left, whatever room there is; a file system that has no number of them
// has no bound.
func TestFloorOfFreeInodes(t *testing.T) {
	var now atomic.Pointer[store.Inodes]
	have := func(free, all uint64) { now.Store(&store.Inodes{Free: free, All: all}) }
	have(1_000_000, 2_000_000)
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem(), FreeInodes: func() (store.Inodes, error) { return *now.Load(), nil }})
	if n := len(fill(s, 0, 3)); n != 3 || s.Room() != nil {
		t.Fatalf("%d commits with room", n)
	}
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Add(storetest.Event(1, 1, 1, "no room"), store.Live); err != nil {
		t.Fatal(err)
	}
	have(store.DefaultInodeFloor-1, 2_000_000)
	if _, err := b.Commit(); !errors.Is(err, store.ErrFull) || !errors.Is(err, store.ErrNoInodes) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Begin(); !errors.Is(err, store.ErrNoInodes) {
		t.Errorf("begin: %v", err)
	}
	if err := s.Room(); !errors.Is(err, store.ErrNoInodes) {
		t.Errorf("room: %v", err)
	}
	if d, err := s.Disk(); err != nil || d.Inodes != *now.Load() || d.InodeFloor != store.DefaultInodeFloor || d.Floor != 1<<30 || d.Free == 0 {
		t.Errorf("%+v, %v", d, err)
	}
	have(0, 0)
	if n := len(fill(s, 3, 1)); n != 1 || s.Failure() != nil {
		t.Errorf("%d commits where there is no number of them; %v", n, s.Failure())
	}
	if d, err := s.Disk(); err != nil || d.Inodes.All != 0 || d.InodeFloor != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	check(t, s)
}

// TestDiskInAnotherDirectory: what is on another file system is told with the store's floors, and nothing else is.
func TestDiskInAnotherDirectory(t *testing.T) {
	const other = "/proc" // which is on no disk
	if _, err := os.Stat(other + "/self"); err != nil {
		t.Skip(err)
	}
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem(), FreeSpace: func() (uint64, error) { return 1 << 63, nil }, Floor: 7})
	here := t.TempDir()
	for _, dirs := range [][2]string{{here, here}, {here + "/none", here}, {other, here + "/none"}} {
		if d := s.DiskIn(dirs[0], dirs[1]); d != nil {
			t.Errorf("%q: %+v", dirs, d)
		}
	}
	link := here + "/git"
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	if d := s.DiskIn(link, here); d == nil || d.Floor != 7 || d.Free != 0 {
		t.Errorf("another file system: %+v", d)
	}
}

// What is written beside the store has the same floors, on the file system where it is.
func TestRoomInAnotherDirectory(t *testing.T) {
	none := func() (store.Inodes, error) { return store.Inodes{}, nil }
	for _, c := range []struct {
		bytes, inodes uint64
		want          error
	}{{1, 1, nil}, {1 << 62, 1, store.ErrFull}} {
		s := open(t, store.Options{Dir: "data", FS: vfs.NewMem(), FreeInodes: none, FreeSpace: func() (uint64, error) { return 1 << 63, nil }, Floor: c.bytes, InodeFloor: c.inodes})
		if err := s.RoomIn(t.TempDir()); !errors.Is(err, c.want) || s.Room() != nil {
			t.Errorf("%+v: %v, %v", c, err, s.Room())
		}
		if err := s.RoomIn(t.TempDir() + "/none"); err == nil || errors.Is(err, store.ErrFull) {
			t.Errorf("what is not there: %v", err)
		}
	}
}

func TestFloorsOfInodes(t *testing.T) {
	for _, c := range []struct {
		free, all, most, floor uint64
		full                   bool
	}{
		{10_000, 10_000_000, 10_000, 10_000, false},
		{9_999, 10_000_000, 10_000, 10_000, true},
		{3_276, 65_536, 10_000, 3_276, false},
		{3_275, 65_536, 10_000, 3_276, true},
		{1, 10, 10_000, 0, false},
		{0, 10, 10_000, 0, true},
		{0, 0, 10_000, 0, false},
		{1, 10_000_000, 1, 1, false},
		{0, 10_000_000, 1, 1, true},
	} {
		i := store.Inodes{Free: c.free, All: c.all}
		if floor, full := i.Floor(c.most), i.Full(c.most); floor != c.floor || full != c.full {
			t.Errorf("%+v, at most %d: floor %d, full %v", i, c.most, floor, full)
		}
	}
}

func TestInodesThatCannotBeTold(t *testing.T) {
	broken := errors.New("no such call")
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem(), FreeInodes: func() (store.Inodes, error) { return store.Inodes{}, broken }})
	if _, err := s.Begin(); !errors.Is(err, broken) {
		t.Errorf("begin: %v", err)
	}
	if _, err := s.Disk(); !errors.Is(err, broken) {
		t.Errorf("disk: %v", err)
	}
	if _, err := store.SpaceIn("/nowhere/at/all"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestInodesOfTheDisk: those that the system tells of are counted.
func TestInodesOfTheDisk(t *testing.T) {
	s := open(t, store.Options{Dir: t.TempDir(), Floor: 1})
	d, err := s.Disk()
	if err != nil {
		t.Fatal(err)
	}
	if d.Inodes.All == 0 {
		t.Skip("the file system of the tests has no number of inodes")
	}
	if d.Inodes.Free == 0 || d.Inodes.Free >= d.Inodes.All || d.InodeFloor == 0 { // there is a directory
		t.Errorf("%+v", d)
	}
}

func TestFreeSpaceThatCannotBeTold(t *testing.T) {
	broken := errors.New("no such call")
	s := open(t, store.Options{Dir: "data", FS: vfs.NewMem(), FreeSpace: func() (uint64, error) { return 0, broken }})
	if _, err := s.Begin(); !errors.Is(err, broken) {
		t.Errorf("begin: %v", err)
	}
}

func TestFreeSpaceOfTheDisk(t *testing.T) {
	dir := t.TempDir()
	if s := open(t, store.Options{Dir: dir, Floor: 1}); len(fill(s, 0, 1)) != 1 {
		t.Error("no room above one byte")
	}
	if s := open(t, store.Options{Dir: t.TempDir(), Floor: 1 << 60}); len(fill(s, 0, 1)) != 0 {
		t.Error("room above the largest disk")
	}
}

func TestSecondProcess(t *testing.T) {
	for _, disk := range []struct {
		name string
		o    store.Options
	}{{"memory", store.Options{Dir: "data", FS: vfs.NewMem()}}, {"disk", store.Options{Dir: t.TempDir()}}} {
		s := open(t, disk.o)
		if _, err := store.Open(disk.o); !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), disk.o.Dir) {
			t.Errorf("%s: %v", disk.name, err)
		}
		if n := len(fill(s, 0, 1)); n != 1 {
			t.Errorf("%s: the first one is hurt", disk.name)
		}
	}
}

// TestAnotherFormat: what another version wrote is left alone.
func TestAnotherFormat(t *testing.T) {
	for _, format := range []uint32{1, 8} {
		mem := vfs.NewMem()
		s, err := store.Open(store.Options{Dir: "data", FS: mem})
		if err != nil {
			t.Fatal(err)
		}
		fill(s, 0, 1)
		store.SetFormat(s, format)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, readOnly := range []bool{false, true, false} {
			if _, err := store.Open(store.Options{Dir: "data", FS: mem, ReadOnly: readOnly}); !errors.Is(err, store.ErrFormat) || errors.Is(err, store.ErrDamaged) {
				t.Errorf("open format %d: %v", format, err)
			}
		}
	}
}

func TestDirectoryThatCannotBeUsed(t *testing.T) {
	if os.Geteuid() == 0 {
		mem := &breaker{which: func(op errorfs.Op) bool { return op.Kind == errorfs.OpLock }, err: fs.ErrPermission}
		mem.on.Store(true)
		_, err := store.Open(store.Options{Dir: "data", FS: errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(mem.hook))})
		if !errors.Is(err, fs.ErrPermission) || errors.Is(err, store.ErrInUse) {
			t.Errorf("read-only: %v", err)
		}
	} else {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(store.Options{Dir: dir}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("read-only: %v", err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(store.Options{Dir: file}); err == nil {
		t.Error("a file was taken for a directory")
	}
}

func TestCorruptTableIsAnErrorNotAnAnswer(t *testing.T) {
	mem := vfs.NewMem()
	var log bytes.Buffer
	s, err := store.Open(store.Options{Dir: "data", FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	fill(s, 0, 300)
	store.Compact(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := mem.List("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			spoil(t, mem, mem.PathJoin("data", name))
		}
	}
	s, err = store.Open(store.Options{Dir: "data", FS: mem, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		return // found at once: as good
	}
	defer s.Close()
	v := s.View()
	defer v.Close()
	n := 0
	for _, err = range v.Query(t.Context(), everything) {
		n++
	}
	if err == nil {
		t.Errorf("%d events and no error", n)
	}
}

func spoil(t testing.TB, mem *vfs.MemFS, path string) {
	t.Helper()
	f, err := mem.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	for at := int64(100); at < info.Size()*9/10; at += 100 {
		if _, err := f.ReadAt(b, at); err != nil {
			t.Fatal(err)
		}
		b[0] ^= 0xff
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
}
