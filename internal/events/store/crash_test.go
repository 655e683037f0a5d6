package store_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storetest"
)

// powerCut is a disk as it may be found after a power cut, and how many commits had been acknowledged by then.
type powerCut struct {
	fs    *vfs.MemFS
	acked int
}

// cutter takes power cuts at random file operations, whoever performs them.
type cutter struct {
	mu    sync.Mutex
	r     *rand.Rand
	fs    *vfs.MemFS
	acked int
	at    func() int // in the place of acked; nil is acked
	every int
	most  int // cuts; 0 is 20

	always func(errorfs.Op) bool // nil is never

	cuts []powerCut
}

func (c *cutter) hook(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.every > 0 && (c.r.IntN(c.every) == 0 || c.always != nil && c.always(op)) && len(c.cuts) < max(20, c.most) {
		cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[c.r.IntN(3)], RNG: c.r}
		acked := c.acked
		if c.at != nil {
			acked = c.at()
		}
		c.cuts = append(c.cuts, powerCut{c.fs.CrashClone(cfg), acked})
	}
	return nil
}

// disk is the file system on which the cuts are taken.
func (c *cutter) disk() vfs.FS {
	return errorfs.Wrap(cuttable{c.fs, c}, errorfs.InjectorFunc(c.hook))
}

// cuttable takes turns with the cuts where a file is used again: the engine's file system takes its lock for that twice, and would wait
// for ever behind a cut that comes in between.
type cuttable struct {
	*vfs.MemFS
	c *cutter
}

// ReuseForWrite implements vfs.FS.
func (f cuttable) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	return f.MemFS.ReuseForWrite(old, name, c)
}

func (c *cutter) acknowledge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked++
}

// TestPowerCuts: whatever the moment, what was acknowledged is there, what was not is there as a whole or not at all,
// and all indexes agree with the log.
func TestPowerCuts(t *testing.T) {
	for seed := range seeds(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := &cutter{r: rand.New(rand.NewPCG(seed, 9)), fs: vfs.NewCrashableMem()}
			o := store.Options{Dir: "data", FS: c.disk(), TableBytes: 64 << 10}
			s := open(t, o)
			states := []string{contents(t, s)}
			c.mu.Lock()
			c.every = 20
			c.mu.Unlock()
			w := storetest.NewWorld(seed)
			for i := range 60 {
				commitSome(t, s, w, storetest.Start+int64(i))
				c.acknowledge()
				states = append(states, contents(t, s))
			}
			c.mu.Lock()
			c.every = 0
			c.mu.Unlock()
			if len(c.cuts) < 10 {
				t.Fatalf("only %d power cuts", len(c.cuts))
			}
			for i, cut := range c.cuts {
				checkCut(t, fmt.Sprintf("cut %d after %d commits", i, cut.acked), cut, states)
			}
		})
	}
}

// commitSome commits a few events, and padding so that tables are written and compacted.
func commitSome(t testing.TB, s *store.Store, w *storetest.World, now int64) {
	t.Helper()
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	for range 8 {
		e := w.Event(now)
		var out policy.Outcome
		var err error
		if int(e.ID[0])%4 == 0 {
			out, err = b.Wait(e, store.Wait{Source: store.Catchup, Came: now, Until: now + int64(e.ID[1])%40, From: "wss://a"})
		} else {
			out, err = b.Add(e, store.Live)
		}
		if err == nil && out > policy.Wait {
			err = b.Remember(e, out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	pad := storetest.Event(9, now, 9, strings.Repeat(fmt.Sprint(now), 200))
	if _, err := b.Add(pad, store.Direct); err != nil {
		t.Fatal(err)
	}
	size := int(now * 977 % 2000)
	if now%16 == 5 {
		size = 40_000 // too much for the engine to hold in memory with the rest
	}
	for _, name := range []string{"all", fmt.Sprint(now % 7)} {
		if err := b.SetRow(name, bytes.Repeat([]byte{byte(now)}, size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.SetRow(fmt.Sprint((now+3)%7), nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.LapseDue(time.Unix(now, 0), 2, nil, nil); err != nil {
		t.Fatal(err)
	}
	if now%3 == 0 {
		if _, err := b.Purge(20); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
}

// contents is everything that a store shows, and its head, without what a store tells that is open for writing alone.
func contents(t testing.TB, s *store.Store) string {
	t.Helper()
	st := s.Stats()
	st.DiskBytes, st.WaitingByKind = 0, store.WaitsByKind{}
	var text strings.Builder
	fmt.Fprintf(&text, "%+v\n", st)
	v := s.View()
	defer v.Close()
	for row, err := range v.Query(t.Context(), everything) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%d %s\n", row.Seq, row.ID)
	}
	for p, err := range v.Pairs(t.Context(), everything, true) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&text, p.ID)
	}
	err := v.EachRow("", "", func(name string, value []byte) (bool, error) {
		fmt.Fprintf(&text, "row %s %x\n", name, sha256.Sum256(value))
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func checkCut(t *testing.T, what string, cut powerCut, states []string) {
	t.Helper()
	s, err := store.Open(store.Options{Dir: "data", FS: cut.fs})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer s.Close()
	check(t, s)
	got := contents(t, s)
	if got != states[cut.acked] && (cut.acked+1 == len(states) || got != states[cut.acked+1]) {
		t.Errorf("%s: neither what was acknowledged nor one commit more:\n%.200s", what, got)
	}
	before := s.Head()
	commitSome(t, s, storetest.NewWorld(1), storetest.Start+1000)
	if s.Head() <= before {
		t.Errorf("%s: head %d after %d", what, s.Head(), before)
	}
}
