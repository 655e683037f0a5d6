package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/events/store/storetest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestFollowers: whatever happens where events are written, and whatever the log does to requests, a store that follows shows the same after
// each commit, to all that asks. One that comes to lead goes on as one that is opened with what is on its disk.
func TestFollowers(t *testing.T) {
	for seed := range seeds(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				storetest.Twins(t, seed, 40, 15, func(o store.Options) *storetest.Couple { return newCouple(t, o, seed).Couple })
			})
		})
	}
}

// couple is a store that leads, one that follows, and their log.
type couple struct {
	*storetest.Couple
	t      *testing.T
	opt    store.Options
	r      *rand.Rand
	log    *logtest.Memory
	disks  [2]*vfs.MemFS
	stores [2]*store.Store
}

func newCouple(t *testing.T, o store.Options, seed uint64) *couple {
	c := &couple{Couple: new(storetest.Couple), t: t, opt: o, r: rand.New(rand.NewPCG(seed, 77))}
	c.log = &logtest.Memory{Fault: func(commitlog.Entry) logtest.Fault { return logtest.Fault(max(0, c.r.IntN(8)-3)) }}
	for i := range 2 {
		c.disks[i] = vfs.NewCrashableMem()
		c.stores[i] = c.open(c.disks[i], c.log)
	}
	lead(t, c.stores[0])
	c.Follow, c.Swap, c.Compare, c.Promote = c.follow, c.swap, c.compare, c.promote
	c.wrap()
	return c
}

func (c *couple) open(fs vfs.FS, l commitlog.Log) *store.Store {
	o := c.opt
	o.Dir, o.FS, o.Log = "data", fs, l
	return open(c.t, o)
}

func (c *couple) wrap() {
	c.Stores = [2]storetest.Store{storetest.Of(c.stores[0]), storetest.Of(c.stores[1])}
}

func (c *couple) follow() {
	if c.r.IntN(4) == 0 {
		keepNotes(c.t, c.stores[0], map[string][]byte{fmt.Sprint(c.r.IntN(3)): []byte(fmt.Sprint(c.r.IntN(100)))}, "2")
	}
	if c.r.IntN(3) == 0 {
		c.log.Deliver()
	}
	if c.r.IntN(20) == 0 { // the follower begins anew, with what its disk has
		if err := c.stores[1].Close(); err != nil {
			c.t.Error(err)
		}
		c.stores[1] = c.open(c.disks[1], c.log)
		c.wrap()
	}
	catchUp(c.t, c.stores[1], c.log)
}

// swap has the follower lead. The other one learns of it when it wants to write.
func (c *couple) swap() {
	catchUp(c.t, c.stores[1], c.log)
	lead(c.t, c.stores[1])
	old := c.stores[0]
	if err := old.KeepNotes(map[string][]byte{"2": nil}, nil); !errors.Is(err, store.ErrDeposed) {
		c.t.Errorf("notes of a store that was deposed: %v", err)
	}
	if _, err := old.Begin(); !errors.Is(err, store.ErrDeposed) {
		c.t.Errorf("a batch of a store that was deposed: %v", err)
	}
	catchUp(c.t, old, c.log)
	// It stays deposed for its life.
	if err := old.Close(); err != nil {
		c.t.Error(err)
	}
	c.stores = [2]*store.Store{c.stores[1], c.open(c.disks[0], c.log)}
	c.disks[0], c.disks[1] = c.disks[1], c.disks[0]
	c.wrap()
}

// compare compares what is in memory of feeds, the notes, and the places.
func (c *couple) compare() {
	a, b := c.stores[0], c.stores[1]
	if a.LogPlace() != b.LogPlace() {
		c.t.Errorf("one is at %v, the other at %v", a.LogPlace(), b.LogPlace())
	}
	if x, y := notesOf(c.t, a), notesOf(c.t, b); x != y {
		c.t.Errorf("notes %q and %q", x, y)
	}
	if c.r.IntN(8) == 0 {
		check(c.t, a)
		check(c.t, b)
	}
}

// promote has the second lead, beside a store that is opened with what the second had on its disk.
func (c *couple) promote() [2]storetest.Store {
	beside := c.log.UpTo(c.log.Len())
	beside.Fault = c.log.Fault
	disk := c.disks[1].CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: c.r})
	fresh := c.open(disk, beside)
	c.stores = [2]*store.Store{c.stores[1], fresh}
	for _, s := range c.stores {
		if _, err := s.Lead([]byte("promoted")); err != nil {
			c.t.Fatal(err)
		}
	}
	c.wrap()
	return c.Stores
}

// feedsOf is everything that the feeds in memory tell, from each number on.
func feedsOf(t testing.TB, s *store.Store) string {
	t.Helper()
	var text strings.Builder
	for after := range s.Head() + 1 {
		entries, _, err := s.Since(after, 7)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "\n%d:", after)
		for _, e := range entries {
			fmt.Fprint(&text, " ", e.Seq, e.Source, e.Removed, e.Reason)
			for _, e := range []*nostr.Event{e.Event, e.Waits} {
				if e != nil {
					fmt.Fprint(&text, string(e.AppendJSON(nil)))
				}
			}
		}
	}
	for after := uint64(0); ; after++ {
		names, upTo, all, _ := s.Changes(after)
		fmt.Fprintf(&text, "\n%q %d %v", names, upTo, all)
		if after > upTo {
			return text.String()
		}
	}
}

// TestFeedsOfAFollower: a follower that was there from the beginning tells the same in the same order, and wakes who waits.
func TestFeedsOfAFollower(t *testing.T) {
	for seed := range seeds(2) {
		log := new(logtest.Memory)
		a, b := openLogged(t, vfs.NewMem(), log), openLogged(t, vfs.NewMem(), log)
		lead(t, a)
		w := storetest.NewWorld(seed)
		for i := range 40 {
			_, more, err := b.Since(b.Head(), 1)
			_, _, _, rows := b.Changes(0)
			if err != nil {
				t.Fatal(err)
			}
			commitSome(t, a, w, storetest.Start+int64(i))
			if i%5 == 0 {
				tell(t, a, fmt.Sprint("told ", i), "told")
			}
			catchUp(t, b, log)
			for what, c := range map[string]<-chan struct{}{"entries": more, "rows": rows} {
				select {
				case <-c:
				default:
					t.Errorf("seed %d, commit %d: nobody is woken for %s", seed, i, what)
				}
			}
			if x, y := feedsOf(t, a), feedsOf(t, b); x != y {
				t.Fatalf("seed %d, commit %d: the feeds differ:\n%s\n%s", seed, i, x, y)
			}
			if x, y := contents(t, a), contents(t, b); x != y {
				t.Fatalf("seed %d, commit %d:\n%s\n%s", seed, i, x, y)
			}
		}
	}
}

// tell commits names of rows that there are not.
func tell(t testing.TB, s *store.Store, names ...string) {
	t.Helper()
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	for _, n := range names {
		b.Tell(n)
	}
	if err := b.SetRow("row", []byte(names[0])); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
}

// TestAFollowerKnowsWhatItShows: what a commit brings is not unknown once a View shows it.
func TestAFollowerKnowsWhatItShows(t *testing.T) {
	log := new(logtest.Memory)
	a, b := openLogged(t, vfs.NewMem(), log), openLogged(t, vfs.NewMem(), log)
	lead(t, a)
	fill(a, 0, 50)
	catchUp(t, b, log)
	v := b.View()
	defer v.Close()
	for row, err := range v.Query(t.Context(), everything) {
		if err != nil || b.Unknown(row.ID) {
			t.Errorf("%s is unknown, %v", row.ID, err)
		}
		if _, ok, err := v.Get(row.ID); !ok || err != nil {
			t.Errorf("%s is not found, %v", row.ID, err)
		}
	}
	if n := len(readAll(t, b)); n != 50 {
		t.Errorf("%d events", n)
	}
}

// TestAFollowerShowsWhatItHas: whoever sees that it has the log up to a position finds what that has.
func TestAFollowerShowsWhatItHas(t *testing.T) {
	log := new(logtest.Memory)
	a, b := openLogged(t, vfs.NewMem(), log), openLogged(t, vfs.NewMem(), log)
	lead(t, a)
	heads := []store.Seq{0, 0} // by position; the first begins the term
	for i := range 500 {
		fill(a, i, 1)
		heads = append(heads, a.Head())
	}
	if n := int(log.Len()); n != len(heads)-1 {
		t.Fatalf("%d entries", n)
	}
	over := make(chan struct{})
	var looks sync.WaitGroup
	looks.Go(func() {
		for {
			at, _ := b.FollowPlace()
			if head := b.Head(); head < heads[at.Position] {
				t.Errorf("it has %d, and shows the feed up to %d and not %d", at.Position, head, heads[at.Position])
			}
			select {
			case <-over:
				return
			default:
			}
		}
	})
	catchUp(t, b, log)
	close(over)
	looks.Wait()
}

// TestApplyRefuses: an entry that is not the next one, or damaged, changes nothing.
func TestApplyRefuses(t *testing.T) {
	log := new(logtest.Memory)
	a := openLogged(t, vfs.NewMem(), log)
	lead(t, a)
	fill(a, 0, 5)
	var free atomic.Uint64
	free.Store(1 << 40)
	b := open(t, store.Options{Dir: "data", FS: vfs.NewMem(), Log: log.UpTo(3), Floor: 1 << 20, FreeSpace: func() (uint64, error) { return free.Load(), nil }})
	entry := func(at commitlog.Position) commitlog.Entry {
		x, err := log.Read(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	// with is an entry on the chain with another body.
	with := func(change func(*commitlog.Body)) commitlog.Entry {
		body, err := commitlog.ParseBody(entry(4).Body)
		if err != nil {
			t.Fatal(err)
		}
		change(&body)
		encoded, err := body.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return commitlog.NewEntry(4, entry(3).Chain, encoded)
	}
	key := func(k, v string) func(*commitlog.Body) {
		return func(b *commitlog.Body) {
			b.Changes.Keys = slices.DeleteFunc(b.Changes.Keys, func(c commitlog.Change) bool { return string(c.Key) == k })
			b.Changes.Keys = append(b.Changes.Keys, commitlog.Change{Key: []byte(k), Value: []byte(v)})
			slices.SortFunc(b.Changes.Keys, func(x, y commitlog.Change) int { return strings.Compare(string(x.Key), string(y.Key)) })
		}
	}
	cut := entry(4)
	cut.Body = cut.Body[:len(cut.Body)-1]
	other := commitlog.NewEntry(4, commitlog.Chain{1}, entry(4).Body)
	before := contents(t, b) + feedsOf(t, b) + fmt.Sprint(b.LogPlace())
	for _, c := range []struct {
		name string
		x    commitlog.Entry
		want error
	}{
		{"of before", entry(3), store.ErrNotNext},
		{"after the next", entry(5), store.ErrNotNext},
		{"cut", cut, commitlog.ErrDamaged},
		{"of another history", other, store.ErrHistory},
		{"of another body format", commitlog.NewEntry(4, entry(3).Chain, append([]byte{0, 0, 0, 9}, entry(4).Body[4:]...)), commitlog.ErrFormat},
		{"of another format of the store", with(key("mformat", "\x00\x00\x00\xff")), store.ErrFormat},
		{"of a term that began elsewhere", with(func(b *commitlog.Body) { b.Began++ }), commitlog.ErrDamaged},
		{"of an earlier term", with(func(b *commitlog.Body) { b.Term-- }), commitlog.ErrDamaged},
		{"of another head", with(func(b *commitlog.Body) { b.Head++ }), commitlog.ErrDamaged},
		{"with a place of its own", with(key("mplace", strings.Repeat("x", 48))), nil},
		{"with broken counters", with(key("mcounters", "x")), nil},
		{"with broken rules", with(key("mrules", "x")), nil},
		{"with an event that is none", with(key("l\x00\x00\x00\x00\x00\x00\x00\x09", "\x00\x00{}")), nil},
		{"with a number that is none", with(key("x\x00", strings.Repeat("x", 33))), nil},
		{"with a tag without a name", with(key("g", "x")), nil},
	} {
		err := b.Apply(c.x)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := contents(t, b) + feedsOf(t, b) + fmt.Sprint(b.LogPlace()); got != before {
			t.Errorf("%s: something has changed:\n%s\n%s", c.name, got, before)
		}
	}
	free.Store(1 << 20)
	if err := b.Apply(entry(4)); !errors.Is(err, store.ErrFull) {
		t.Errorf("without room: %v", err)
	}
	free.Store(1 << 40)
	if err := errors.Join(b.Apply(entry(4)), b.Apply(entry(5)), b.Apply(entry(6))); err != nil || b.LogPlace() != a.LogPlace() {
		t.Errorf("after all that: %v, at %v of %v", err, b.LogPlace(), a.LogPlace())
	}
	if err := a.Apply(entry(6)); !errors.Is(err, store.ErrNotFollowing) {
		t.Errorf("a store that leads: %v", err)
	}
	if err := open(t, store.Options{Dir: "data", FS: vfs.NewMem()}).Apply(entry(1)); !errors.Is(err, store.ErrNotFollowing) {
		t.Errorf("a store without a log: %v", err)
	}
}
