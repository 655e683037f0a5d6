package store_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storecheck"
	"github.com/graspd/graspd/internal/events/store/storetest"
)

// TestDamage: whatever is wrong with the files, it is said with the name of a file and what to do, nothing that is
// there gets lost by opening, and a repair saves all but what stood in the damaged places.
func TestDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(t *testing.T, o store.Options)
		file   string // is named
		spared float64
	}{
		{"flipped bytes in a table of the log", func(t *testing.T, o store.Options) {
			flipBlocks(t, o, 1, func(tables string) bool { return tables == "l" })
		}, ".sst", 0.6},
		{"flipped bytes in what is read first", func(t *testing.T, o store.Options) {
			flipBlocks(t, o, 100, func(tables string) bool { return strings.Contains(tables, "m") })
		}, ".sst", 1},
		{"flipped bytes in every table", func(t *testing.T, o store.Options) {
			for _, path := range list(t, o, ".sst") {
				flip(t, o, path, 0.3)
			}
		}, ".sst", 0.3},
		{"a table without its end", func(t *testing.T, o store.Options) { cut(t, o, list(t, o, ".sst")[0], 0.9) }, ".sst", 0},
		{"a table that is gone", func(t *testing.T, o store.Options) { remove(t, o, list(t, o, ".sst")[0]) }, "000", 0},
		{"half a list of tables", func(t *testing.T, o store.Options) { cut(t, o, last(t, o, "/MANIFEST"), 0.5) }, "MANIFEST", 1},
		{"an empty list of tables", func(t *testing.T, o store.Options) { cut(t, o, last(t, o, "/MANIFEST"), 0) }, "MANIFEST", 1},
		{"a spoilt list of tables", func(t *testing.T, o store.Options) { flip(t, o, last(t, o, "/MANIFEST"), 0.4) }, "MANIFEST", 1},
		{"no list of tables", func(t *testing.T, o store.Options) { remove(t, o, last(t, o, "/MANIFEST")) }, "MANIFEST", 1},
		{"nothing that leads to the list", func(t *testing.T, o store.Options) { removeLike(t, o, "marker.manifest") }, "data/store", 1},
		{"no mark of the engine's format", func(t *testing.T, o store.Options) { removeLike(t, o, "marker.format") }, "", 1},
		{"a flipped byte in the last write to a closed log", func(t *testing.T, o store.Options) {
			o.TableBytes = 1 << 20 // so that the log goes on
			s := open(t, o)
			commitSome(t, s, storetest.NewWorld(99), storetest.Start+1000)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			flipAt(t, o, last(t, o, ".log"), 3000)
		}, ".log", 0.9},
		{"a flipped byte in the log", func(t *testing.T, o store.Options) {
			o.TableBytes = 1 << 20 // so that the log goes on
			s := open(t, o)
			for i := range int64(4) {
				commitSome(t, s, storetest.NewWorld(99), storetest.Start+1000+i)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			flipAt(t, o, last(t, o, ".log"), 3000)
		}, ".log", 0.9},
		{"a flipped byte far into a closed log", func(t *testing.T, o store.Options) { longLog(t, o, true) }, ".log", 0.9},
		{"a flipped byte far into the log of a crash", func(t *testing.T, o store.Options) { longLog(t, o, false) }, ".log", 0.9},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, before := lived(t, 3, 63)
			c.spoil(t, o)
			err := readAllOf(t, o)
			named := err != nil && strings.Contains(err.Error(), c.file)
			if !errors.Is(err, store.ErrDamaged) || !named || !strings.Contains(err.Error(), "check --repair") {
				t.Errorf("%v", err)
			}
			r, after := repaired(t, o)
			all := strings.Count(before, "\nentry ")
			lost := lostEntries(before, after)
			if float64(lost) > (1-c.spared)*float64(all) || lost > 0 && len(r.Problems) == 0 {
				t.Errorf("%d of %d events lost; %+v", lost, all, r)
			}
			if r.Salvaged == nil {
				t.Error("not salvaged")
			}
		})
	}
}

// TestDamagedIndexRows: what follows from the events is made anew, and need not be read for that.
func TestDamagedIndexRows(t *testing.T) {
	o, before := lived(t, 3, 63)
	flipBlocks(t, o, 1, func(tables string) bool { return strings.Trim(tables, "abkgt") == "" })
	if err := readAllOf(t, o); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), ".sst") {
		t.Errorf("%v", err)
	}
	r, after := repaired(t, o)
	if d := difference(before, after); d != "" || r.Salvaged != nil || len(r.Problems) > 0 {
		t.Errorf("%+v, %s", r, d)
	}
}

// TestAFileThatIsGoneFromTheDisk is damage, not a disk that fails, though it is the system that tells of it.
func TestAFileThatIsGoneFromTheDisk(t *testing.T) {
	o := store.Options{Dir: t.TempDir()}
	s := open(t, o)
	fill(s, 0, 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o = store.Options{Dir: o.Dir, FS: vfs.Default}
	list := last(t, o, "/MANIFEST")
	remove(t, o, list)
	if err := refused(t, o); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), list) {
		t.Errorf("%v", err)
	}
}

// longLog makes some commits that are each larger than a block of the engine's log, and spoils the second one.
func longLog(t *testing.T, o store.Options, closed bool) {
	t.Helper()
	o.TableBytes = 1 << 20
	s := open(t, o)
	path := last(t, o, ".log")
	for i := range int64(5) {
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Add(storetest.Event(8, storetest.Start+i, 1, strings.Repeat("x", 50_000)), store.Live); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	crashed := read(t, o.FS, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !closed {
		write(t, o.FS, path, crashed)
	}
	flipAt(t, o, path, 70_000)
}

// readAllOf opens a store and reads all of it, and checks that nothing was lost by that where it is refused. A damage that
// the engine comes upon while it merges tables, which it may have done with others by then, is a failure.
func readAllOf(t *testing.T, o store.Options) error {
	t.Helper()
	before := files(t, o)
	s, err := store.Open(o)
	if err == nil {
		v := s.View()
		report, err := storecheck.Check(context.Background(), v)
		if err == nil {
			t.Errorf("nothing is wrong: %+v", report)
		}
		v.Close()
		return errors.Join(err, s.Failure(), s.Close())
	}
	if errors.Is(err, store.ErrFailed) {
		return err
	}
	after := files(t, o)
	for path, b := range before {
		if !bytes.Equal(after[path], b) && !strings.HasSuffix(path, ".log") { // what is in a log may have gone into a table
			t.Errorf("%s is not what it was", path)
		}
	}
	return err
}

// TestCutLog: the end of the log that is missing is like a write that a power cut interrupted; what precedes it is there.
func TestCutLog(t *testing.T) {
	o, before := lived(t, 3, 63)
	path := last(t, o, ".log")
	write(t, o.FS, path, read(t, o.FS, path)[:5000])
	s := open(t, o)
	check(t, s)
	if whole(t, s) == before {
		t.Error("nothing was cut off")
	}
}

// TestCutManifests: wherever a list of tables ends, either all is there or it is refused: also where the missing tables
// changed no number of events, and where the newest log says nothing of the numbers.
func TestCutManifests(t *testing.T) {
	for name, history := range map[string]func(*testing.T) store.Options{
		"a life": func(t *testing.T) store.Options { o, _ := lived(t, 5, 40); return o },
		"started again": func(t *testing.T) store.Options {
			o, _ := lived(t, 5, 20)
			for range 3 {
				s, err := store.Open(o)
				if err != nil {
					t.Fatal(err)
				}
				store.Flush(s)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			return o
		},
		"replacements": replacements,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := history(t)
			cutManifest(t, o, told(t, o))
		})
	}
}

// TestATableThatIsNotListed: each way of seeing that it is missed works without the other, where only one can.
func TestATableThatIsNotListed(t *testing.T) {
	for later, want := range map[int64]string{0: "newer than all that it lists", 1: "not those that were counted"} {
		o := store.Options{Dir: "data/store", FS: vfs.NewMem()}
		s := open(t, o)
		version := func(author byte, at int64) { addAll(t, s, storetest.Event(author, at, 11_111, "")) }
		version(1, 1000)
		store.Flush(s)
		before := files(t, o)
		version(1, 1001)
		store.Flush(s)
		for i := range later { // in the log: the head and the number of events are as they have to be
			version(2, 1000+i)
		}
		newest := last(t, o, ".log")
		crashed := read(t, o.FS, newest)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		removeLike(t, o, ".log")
		write(t, o.FS, newest, crashed)
		for path, b := range before { // the engine may have put the tables together
			if !strings.HasSuffix(path, ".log") {
				write(t, o.FS, path, b)
			}
		}
		if err := refused(t, o); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d later: %v", later, err)
		}
	}
}

// replacements is a store in which one event was replaced again and again, each version in a table of its own.
func replacements(t *testing.T) store.Options {
	t.Helper()
	o := store.Options{Dir: "data/store", FS: vfs.NewMem()}
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(9) {
		b, err := s.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Add(storetest.Event(1+byte(i/8), 1000+i, 11_111, ""), store.Live); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		if i < 8 { // the last one, of somebody else, stays in the log
			store.Flush(s)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return o
}

// cutManifest cuts the list of tables everywhere, alone and with the logs that were given up.
func cutManifest(t *testing.T, o store.Options, before string) {
	t.Helper()
	path := last(t, o, "/MANIFEST")
	manifest := read(t, o.FS, path)
	r := rand.New(rand.NewPCG(1, 1))
	refused := 0
	for at := 0; at < len(manifest); at += 1 + r.IntN(max(2, len(manifest)/15)) {
		c := o
		c.FS = clone(t, o.FS)
		write(t, c.FS, path, manifest[:at])
		logs := list(t, c, ".log")
		for _, old := range logs[:len(logs)-1] {
			remove(t, c, old)
		}
		s, err := store.Open(c)
		if err != nil {
			if refused++; !errors.Is(err, store.ErrDamaged) {
				t.Errorf("cut at %d: %v", at, err)
			}
			continue
		}
		check(t, s)
		s.Close()
		if d := difference(before, told(t, c)); d != "" {
			t.Errorf("cut at %d of %d: %s", at, len(manifest), d)
		}
	}
	if refused == 0 {
		t.Error("none refused")
	}
}

// clone copies what is in memory.
func clone(t testing.TB, fs vfs.FS) vfs.FS {
	t.Helper()
	c := vfs.NewMem()
	if ok, err := vfs.Clone(fs, c, "data", "data"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	return c
}

func last(t testing.TB, o store.Options, like string) string {
	t.Helper()
	all := list(t, o, like)
	return all[len(all)-1]
}

// flipBlocks spoils blocks of the engine's tables, at most so many, by which of the store's tables their keys are of.
func flipBlocks(t testing.TB, o store.Options, most int, which func(tables string) bool) {
	t.Helper()
	n := 0
	for _, path := range list(t, o, ".sst") {
		blocks := store.Blocks(o.FS, path)
		for _, at := range slices.Sorted(maps.Keys(blocks)) {
			if n < most && which(blocks[at]) {
				flipAt(t, o, path, at)
				n++
			}
		}
	}
	if n == 0 {
		t.Fatal("no such block")
	}
}

// flip spoils some bytes from a place on.
func flip(t testing.TB, o store.Options, path string, from float64) {
	t.Helper()
	flipAt(t, o, path, int(from*float64(len(read(t, o.FS, path)))))
}

func flipAt(t testing.TB, o store.Options, path string, at int) {
	t.Helper()
	b := read(t, o.FS, path)
	for i := at; i < at+20 && i < len(b); i++ {
		b[i] ^= 0x55
	}
	write(t, o.FS, path, b)
}

func cut(t testing.TB, o store.Options, path string, keep float64) {
	t.Helper()
	b := read(t, o.FS, path)
	write(t, o.FS, path, b[:int(keep*float64(len(b)))])
}

func remove(t testing.TB, o store.Options, path string) {
	t.Helper()
	if err := o.FS.Remove(path); err != nil {
		t.Fatal(err)
	}
}
