package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
)

// TestCopyUnderLoad: a copy made while events are written is sound, has all that was acknowledged before, is no part of
// a commit, and the store goes on.
func TestCopyUnderLoad(t *testing.T) {
	mem := vfs.NewCrashableMem()
	o := store.Options{Dir: "data/store", FS: mem, TableBytes: 64 << 10}
	s := open(t, o)
	var mu sync.Mutex
	var acked []string
	written := func() int { mu.Lock(); defer mu.Unlock(); return len(acked) }
	var g sync.WaitGroup
	var done atomic.Bool
	g.Go(func() {
		for i := 0; !done.Load(); i++ {
			more := fill(s, i, 1)
			if len(more) == 0 {
				t.Errorf("no commit beside a copy: %v", s.Failure())
				return
			}
			mu.Lock()
			acked = append(acked, more...)
			mu.Unlock()
		}
	})
	var before []int // acknowledged when each copy began
	for i := range 5 {
		for written() < 40*(i+1) && !t.Failed() {
			runtime.Gosched()
		}
		before = append(before, written())
		if err := s.Copy(fmt.Sprint("copy", i)); err != nil {
			t.Error(err)
		}
	}
	done.Store(true)
	g.Wait()
	power := mem.CrashClone(vfs.CrashCloneCfg{}) // a copy is durable when it is made
	for i, n := range before {
		dir := fmt.Sprint("copy", i)
		c, err := store.Open(store.Options{Dir: dir, FS: power})
		if err != nil {
			t.Fatal(dir, err)
		}
		check(t, c)
		have := readAll(t, c)
		for _, content := range acked[:n] {
			if !have[content] {
				t.Errorf("%s lacks %s", dir, content)
			}
		}
		if n := len(fill(c, 100_000, 3)); n != 3 {
			t.Errorf("%d commits to a copy", n)
		}
		c.Close()
	}
	check(t, s)
}

// TestCopyRightAfterTheStart: what the engine has not yet done by then is no part missing from the copy.
func TestCopyRightAfterTheStart(t *testing.T) {
	o, before := lived(t, 22, 20)
	for i := range 10 {
		s, err := store.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		c := o
		c.Dir = fmt.Sprint("data/copy", i)
		if err := s.Copy(c.Dir); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if d := difference(before, told(t, c)); d != "" {
			t.Error(d)
		}
	}
}

// TestCopyBeforeTheFirstTable: where no log is left to put into one, the engine writes no table at the start, and before
// it does it has no list of tables to copy.
func TestCopyBeforeTheFirstTable(t *testing.T) {
	o := store.Options{Dir: "data/store", FS: vfs.NewMem()}
	s := open(t, o)
	fill(s, 0, 1)
	store.Flush(s)
	before := whole(t, s)
	o.FS = clone(t, o.FS)
	removeLike(t, o, ".log")
	s = open(t, o)
	o.Dir = "data/copy"
	if err := s.Copy(o.Dir); err != nil {
		t.Fatal(err)
	}
	if d := difference(before, told(t, o)); d != "" {
		t.Error(d)
	}
}

// TestCopyWithAHoleInItsLog: of what is written while a log is copied a later part may be in the copy and not an earlier
// one. It was not asked for, and all that was is there.
func TestCopyWithAHoleInItsLog(t *testing.T) {
	disk := &holeMaker{FS: vfs.NewMem()}
	s := open(t, store.Options{Dir: "data", FS: disk})
	acked := fill(s, 0, 20)
	disk.meanwhile = func() { fill(s, 20, 4) }
	if err := s.Copy("copy"); err != nil {
		t.Fatal(err)
	}
	if disk.holes == 0 {
		t.Error("there was no hole")
	}
	copied := open(t, store.Options{Dir: "copy", FS: disk.FS})
	check(t, copied)
	have := readAll(t, copied)
	for _, content := range acked {
		if !have[content] {
			t.Errorf("%s is not there", content)
		}
	}
}

// holeMaker is a file system on which something is written while a log is copied, and its copy has a hole at the first of it.
type holeMaker struct {
	vfs.FS
	meanwhile func()
	holes     int
}

func (f *holeMaker) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	if err != nil || !strings.HasPrefix(name, "copy") || !strings.HasSuffix(name, ".log") {
		return file, err
	}
	f.meanwhile()
	f.holes++
	return &holedFile{file, false}, nil
}

// holedFile has a hole in the first that is written to it.
type holedFile struct {
	vfs.File
	made bool
}

func (f *holedFile) Write(p []byte) (int, error) {
	if p = bytes.Clone(p); !f.made && len(p) > 100 {
		clear(p[20:100])
		f.made = true
	}
	return f.File.Write(p)
}

// TestACopyThatFails: whatever keeps the copy from being written is no trouble of the store, and nothing is left.
func TestACopyThatFails(t *testing.T) {
	mem := vfs.NewMem()
	b := &breaker{which: func(op errorfs.Op) bool {
		return strings.HasPrefix(op.Path, "copy") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpRemoveAll
	}, err: syscall.ENOSPC}
	s := open(t, store.Options{Dir: "data", FS: errorfs.Wrap(mem, errorfs.InjectorFunc(b.hook)), TableBytes: 64 << 10})
	fill(s, 0, 40)
	b.on.Store(true)
	if err := s.Copy("copy"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("copy: %v", err)
	}
	b.on.Store(false)
	if _, err := mem.Stat("copy"); err == nil {
		t.Error("half a copy is left")
	}
	if n := len(fill(s, 100, 3)); n != 3 || s.Failure() != nil {
		t.Errorf("%d commits after that, %v", n, s.Failure())
	}
	if err := s.Copy("copy"); err != nil {
		t.Error(err)
	}
	if err := s.Copy("copy"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("copy over a copy: %v", err)
	}
}

func TestCopyOfAClosedStore(t *testing.T) {
	o, before := lived(t, 21, 30)
	if err := store.CopyClosed(o, "data/copy", nil); err != nil {
		t.Fatal(err)
	}
	c := o
	c.Dir = "data/copy"
	if d := difference(before, told(t, c)); d != "" {
		t.Error(d)
	}
	s := open(t, c)
	commitSome(t, s, storetest.NewWorld(1), storetest.Start+1000)
	if d := difference(before, told(t, o)); d != "" {
		t.Errorf("the copy wrote into the first one: %s", d)
	}
	if err := store.CopyClosed(c, "data/other", nil); !errors.Is(err, store.ErrInUse) {
		t.Errorf("copy of an open store: %v", err)
	}
	if err := store.CopyClosed(o, "data/copy", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("copy over a copy: %v", err)
	}
	none := o
	none.Dir = "data/none"
	if err := store.CopyClosed(none, "data/other", nil); err == nil {
		t.Error("a copy of nothing")
	}
	if _, err := o.FS.Stat("data/other"); err == nil {
		t.Error("something was left")
	}
}

// TestACopyThatCannotBeReadBack leaves nothing either.
func TestACopyThatCannotBeReadBack(t *testing.T) {
	mem := vfs.NewMem()
	b := &breaker{which: func(op errorfs.Op) bool {
		return strings.HasPrefix(op.Path, "copy") && isWAL(op) && op.Kind == errorfs.OpOpen
	}, err: syscall.EIO}
	b.on.Store(true)
	s := open(t, store.Options{Dir: "data", FS: errorfs.Wrap(mem, errorfs.InjectorFunc(b.hook))})
	fill(s, 0, 5)
	if err := s.Copy("copy"); !errors.Is(err, syscall.EIO) {
		t.Errorf("copy: %v", err)
	}
	if _, err := mem.Stat("copy"); err == nil {
		t.Error("a copy is left")
	}
}

func TestNoCopyAfterClose(t *testing.T) {
	mem := vfs.NewMem()
	s := open(t, store.Options{Dir: "data", FS: mem})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Copy("copy"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestACopyOfAClosedStoreThatFails leaves nothing.
func TestACopyOfAClosedStoreThatFails(t *testing.T) {
	o, before := lived(t, 21, 5)
	b := &breaker{which: func(op errorfs.Op) bool {
		return strings.HasPrefix(op.Path, "data/copy") && isManifest(op) && op.Kind == errorfs.OpCreate
	}, err: syscall.ENOSPC}
	b.on.Store(true)
	failing := o
	failing.FS = errorfs.Wrap(o.FS, errorfs.InjectorFunc(b.hook))
	if err := store.CopyClosed(failing, "data/copy", nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("copy: %v", err)
	}
	if _, err := o.FS.Stat("data/copy"); err == nil {
		t.Error("half a copy is left")
	}
	if d := difference(before, told(t, o)); d != "" {
		t.Error(d)
	}
}

// TestACopyOfAClosedStoreIsDurable when it is made.
func TestACopyOfAClosedStoreIsDurable(t *testing.T) {
	o, before := lived(t, 21, 5)
	disk := crashable(t, o.FS)
	o.FS = disk
	if err := store.CopyClosed(o, "data/copy", nil); err != nil {
		t.Fatal(err)
	}
	o.Dir, o.FS = "data/copy", disk.CrashClone(vfs.CrashCloneCfg{})
	if d := difference(before, told(t, o)); d != "" {
		t.Error(d)
	}
}

// TestACopyOfAClosedStoreSharesTablesOnly: whatever is written into its other files, the first store has its own.
func TestACopyOfAClosedStoreSharesTablesOnly(t *testing.T) {
	o, _ := lived(t, 21, 5)
	before := files(t, o)
	if err := store.CopyClosed(o, "data/copy", nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range list(t, store.Options{Dir: "data/copy", FS: o.FS}, "") {
		if strings.HasSuffix(path, ".sst") {
			continue
		}
		f, err := o.FS.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteAt([]byte("another"), 0)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if !maps.EqualFunc(before, files(t, o), bytes.Equal) {
		t.Error("the copy wrote into the first one")
	}
}

// spoiler is a file system on which the first files that are made somewhere hold other bytes than were written.
type spoiler struct {
	vfs.FS
	which func(path string) bool
	left  atomic.Int32
}

func (f *spoiler) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	if err == nil && f.which(name) && f.left.Add(-1) >= 0 {
		return spoiledFile{file}, nil
	}
	return file, err
}

type spoiledFile struct{ vfs.File }

func (f spoiledFile) Write(p []byte) (int, error) {
	other := bytes.Clone(p)
	for i := range other {
		other[i] ^= 0x55
	}
	return f.File.Write(other)
}

// TestACopyInTheMiddleOfAWrite: what cannot be read back is copied again, and in the end is an error.
func TestACopyInTheMiddleOfAWrite(t *testing.T) {
	for _, c := range []struct {
		spoiled int32
		fails   bool
	}{{1, false}, {2, false}, {9, true}} {
		mem := vfs.NewMem()
		disk := &spoiler{FS: mem, which: func(path string) bool {
			return strings.HasPrefix(path, "copy") && strings.HasPrefix(path[5:], "MANIFEST")
		}}
		s := open(t, store.Options{Dir: "data", FS: disk})
		acked := fill(s, 0, 20)
		disk.left.Store(c.spoiled)
		if err := s.Copy("copy"); (err != nil) != c.fails || c.fails && !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%d times: %v", c.spoiled, err)
		}
		if _, err := mem.Stat("copy"); (err != nil) != c.fails {
			t.Errorf("%d times: what there is of the copy: %v", c.spoiled, err)
		}
		if c.fails {
			continue
		}
		copied := open(t, store.Options{Dir: "copy", FS: mem})
		if have := readAll(t, copied); len(have) != len(acked) {
			t.Errorf("%d events of %d", len(have), len(acked))
		}
	}
}
