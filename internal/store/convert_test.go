package store

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"graspd/internal/nip34"
	"graspd/internal/nostr"
	"graspd/internal/policy"
)

// older writes the rows of format 1 in the place of those of now.
func older(t *testing.T, s *Store) {
	t.Helper()
	w := s.db.NewBatch()
	defer w.Close()
	put := func(f facts, value []byte, of func([]byte) []byte) (n int64) {
		prefixes := [][]byte{{tableTime}, authorPrefix(f.author)}
		for _, tag := range f.tags {
			for c, name := range map[cases]byte{lowerCase: tag.name, upperCase: tag.name &^ lowerBit} {
				if tag.cases.meets(c) || tag.cases == 0 && name == tag.name {
					prefixes = append(prefixes, append([]byte{tableTag, name}, tag.hash[:]...))
				}
			}
		}
		for _, p := range prefixes {
			if err := w.Set(appendOrder(of(p), f.time, f.id), value, nil); err != nil {
				t.Fatal(err)
			}
		}
		return int64(2 + len(prefixes))
	}
	for _, table := range changedTables {
		if err := w.DeleteRange([]byte{table}, []byte{table + 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readMeta(s.db)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := s.Since(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range entries {
		if x.Event != nil {
			put(factsOf(x.Event), rowOf(x.Event, x.Seq).append(nil), slices.Clip)
		}
	}
	c.flaggedRows = 0
	if err := eachKey(s.db, tableRecord, func(key, value []byte) error {
		r, err := parseRecord(nostr.ID(key[1:]), value)
		c.flaggedRows += put(r.facts, r.row().append(nil), flagged)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string][]byte{metaCounters: c.append(nil), metaFormat: {0, 0, 0, 1}} {
		if err := w.Set(keyMeta(key), value, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(pebble.Sync); err != nil {
		t.Fatal(err)
	}
	s.cur.counters = c // which are written again at the end
}

// aged is a store whose layout changes under it, and what it answered before.
type aged struct {
	*Store
	opt     Options
	filters []nostr.Filter
	want    [][]Pair
	stats   Stats
	under   purge // a removal under way
}

func newAged(t *testing.T) *aged {
	t.Helper()
	x := newExhibit()
	id := x.issue.ID.String()
	tag := func(name byte, value string) nostr.Filter {
		return nostr.Filter{Tags: []nostr.TagFilter{{Name: name, Values: []string{value}}}}
	}
	a := &aged{
		opt: Options{Dir: "data", FS: vfs.NewMem()},
		filters: []nostr.Filter{
			{}, {Authors: []nostr.PubKey{{1}, {6}}}, {Kinds: []nostr.Kind{nip34.KindIssue}},
			tag('e', id), tag('E', id), tag('k', "1621"), tag('K', "1621"),
		},
		under: newPurge(ReasonWithdrawn, nostr.PubKey{8}, 50),
	}
	a.open(t)
	x.fill(t, a.Store)
	b, err := a.Begin()
	if err != nil {
		t.Fatal(err)
	}
	thread := made(6, 120, nostr.KindComment, nostr.Tag{"E", id}, nostr.Tag{"e", id}, nostr.Tag{"K", "1621"})
	if out, err := b.Add(thread, Live); err != nil || out != policy.Accept {
		t.Fatal(out, err)
	}
	if err := b.set(a.under.key(), slices.Delete(a.under.append(nil), 9, 11)); err != nil { // as format 1 had it
		t.Fatal(err)
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	a.want, a.stats = a.answers(t), a.Stats()
	if len(a.want[0]) < 8 || len(a.want[3]) != 1 || len(a.want[5]) != 0 || len(a.want[6]) != 1 {
		t.Fatalf("%v", a.want)
	}
	return a
}

func (a *aged) open(t *testing.T) {
	t.Helper()
	s, err := Open(a.opt)
	if err != nil {
		t.Fatal(err)
	}
	a.Store = s
}

func (a *aged) close(t *testing.T) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

func (a *aged) answers(t *testing.T) (all [][]Pair) {
	t.Helper()
	v := a.View()
	defer v.Close()
	for _, f := range a.filters {
		var pairs []Pair
		for p, err := range v.Pairs(t.Context(), f, true) {
			if err != nil {
				t.Fatal(err)
			}
			pairs = append(pairs, p)
		}
		all = append(all, pairs)
	}
	return all
}

// same opens the store, which is to be as it was, and closes it.
func (a *aged) same(t *testing.T) {
	t.Helper()
	a.open(t)
	defer a.close(t)
	if got := a.answers(t); !reflect.DeepEqual(got, a.want) {
		t.Errorf("%v, want %v", got, a.want)
	}
	if got := a.Stats(); got.RememberedRows != a.stats.RememberedRows || got.Events != a.stats.Events || got.Head != a.stats.Head {
		t.Errorf("%+v, want %+v", got, a.stats)
	}
	v := a.View()
	defer v.Close()
	if report, err := v.Check(t.Context()); err != nil || len(report.Problems) > 0 {
		t.Errorf("%v, %v", report.Problems, err)
	}
	if p, ok, err := v.reader().purge(ReasonWithdrawn, nostr.PubKey{8}); !ok || err != nil || p != a.under {
		t.Errorf("a removal under way: %+v, %v, %v", p, ok, err)
	}
}

// TestAnOlderStoreIsConverted: what an older version wrote gives the same answers afterwards, and is as sound. Who only
// reads is told what to do.
func TestAnOlderStoreIsConverted(t *testing.T) {
	a := newAged(t)
	older(t, a.Store)
	a.close(t)
	readOnly := a.opt
	readOnly.ReadOnly = true
	if _, err := Open(readOnly); !errors.Is(err, ErrOlder) || errors.Is(err, ErrDamaged) {
		t.Errorf("for reading only: %v", err)
	}
	a.same(t)
	s, err := Open(readOnly)
	if err != nil {
		t.Fatalf("for reading only, converted: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// interrupted opens an older store again and again: each time the conversion ends with an error at a later step, until it
// does not. Once the conversion has begun, nobody takes the store for what it was or for whole.
func (a *aged) interrupted(t *testing.T, want error, begun int, at func(o *Options, step int)) {
	t.Helper()
	older(t, a.Store)
	a.close(t)
	for step := 1; ; step++ {
		o := a.opt
		o.convertBatch = 1
		at(&o, step)
		s, err := Open(o)
		if err == nil {
			if step < 4 {
				t.Errorf("converted after %d steps", step)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			break
		}
		if !errors.Is(err, want) || errors.Is(err, ErrDamaged) {
			t.Fatalf("step %d: %v", step, err)
		}
		readOnly := a.opt
		readOnly.ReadOnly = true
		if _, err := Open(readOnly); !errors.Is(err, ErrOlder) {
			t.Errorf("step %d: for reading only: %v", step, err)
		}
		if n := a.format(t); step >= begun && n != formatVersion {
			t.Errorf("step %d: format %d", step, n)
		}
	}
	a.same(t)
}

// format is what the closed store says of its layout.
func (a *aged) format(t *testing.T) uint32 {
	t.Helper()
	o := a.opt
	o.ReadOnly = true
	s := newStore(o)
	s.old = true
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	n, _, err := readFormat(s.db)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAConversionThatIsStoppedGoesOn: each start does a part of it.
func TestAConversionThatIsStoppedGoesOn(t *testing.T) {
	bye := errors.New("bye")
	newAged(t).interrupted(t, bye, 1, func(o *Options, step int) {
		left := 2
		o.Stopped = func() error {
			if left--; left == 0 && step < 6 {
				return bye
			}
			return nil
		}
	})
}

// TestAFullDiskEndsAConversion: wherever that is met, nothing is lost by it.
func TestAFullDiskEndsAConversion(t *testing.T) {
	newAged(t).interrupted(t, ErrFull, 3, func(o *Options, step int) {
		left := step
		o.FreeSpace = func() (uint64, error) {
			if left--; left == 0 {
				return 1 << 30, nil
			}
			return 1 << 40, nil
		}
	})
}

// TestAConversionBeginsOnlyWithRoom: where what it writes will not fit, the store stays one of the older version.
func TestAConversionBeginsOnlyWithRoom(t *testing.T) {
	a := newAged(t)
	older(t, a.Store)
	if err := a.db.Flush(); err != nil {
		t.Fatal(err)
	}
	a.close(t)
	full := a.opt
	full.FreeSpace = func() (uint64, error) { return 1<<30 + 1000, nil } // enough for the first commit
	if _, err := Open(full); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	if n := a.format(t); n != 1 {
		t.Errorf("format %d", n)
	}
	a.same(t)
}

// TestAnOlderStoreIsRepaired: a repair reads what an older version wrote.
func TestAnOlderStoreIsRepaired(t *testing.T) {
	a := newAged(t)
	older(t, a.Store)
	a.close(t)
	if r, err := Repair(t.Context(), a.opt, CheckOptions{}); err != nil || len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	a.same(t)
}
