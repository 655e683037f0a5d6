package cluster_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
)

var (
	runs   = flag.Int("runs", 7, "how many random worlds of each kind are lived")
	first  = flag.Uint64("first", 0, "the seed of the first of them")
	replay = flag.Int64("seed", -1, "live the worlds of this seed only, and tell them")
)

// TestMain leaves one processor: which of several goroutines runs first is then decided in much the same way each time.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		*runs = min(*runs, 3)
	}
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// TestStores: some nodes with a store each, whose leader writes batches and notes.
func TestStores(t *testing.T) { worlds(t, stores) }

// TestBuckets: the log lies in an object store.
func TestBuckets(t *testing.T) { worlds(t, buckets) }

// TestDoors: the leader writes through the door, with the ledger of repositories: a term is built at promotion, and dropped whole.
func TestDoors(t *testing.T) { worlds(t, doors) }

func worlds(t *testing.T, k kind) {
	from, n := *first, *runs
	if *replay >= 0 {
		from, n = uint64(*replay), 1
	}
	sum := map[string]int{}
	for seed := from; seed < from+uint64(n); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a := live(t, seed, k, plant{})
			for _, p := range a.problems {
				t.Error(p)
			}
			if len(a.problems) > 0 {
				t.Logf("go test ./internal/test/cluster -run '%s' -args -seed %d; its end:\n%s", strings.TrimSuffix(t.Name(), fmt.Sprint("/", seed)), seed, a.w.last(100))
			}
			for what, n := range a.checks {
				sum[what] += n
			}
			sum["terms"] += a.w.leads
		})
	}
	t.Logf("in all: %v", sum)
	for _, what := range []string{"acknowledged", "deleted", "looked", "compared", "terms"} {
		if sum[what] < n && *replay < 0 {
			t.Errorf("only %d %s", sum[what], what)
		}
	}
}

// TestTheWorldsNotice: what is wrong with nodes is seen in a few worlds.
func TestTheWorldsNotice(t *testing.T) {
	for _, name := range plants {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				if a := live(t, seed, stores, planted(name)); len(a.problems) > 0 {
					t.Logf("seed %d: %s", seed, a.problems[0])
					return
				}
			}
			t.Error("nothing was seen")
		})
	}
}

// length is how long things go wrong in a world.
const length = 90 * time.Second

// live lives one world.
func live(t *testing.T, seed uint64, k kind, p plant) (a *audit) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, seed, k, p)
		a = w.audit
		for _, n := range w.nodes {
			n.start()
		}
		stop := make(chan struct{})
		var clients sync.WaitGroup
		for i := range 4 {
			c := newClient(w, i, k)
			clients.Go(func() { c.run(stop) })
		}
		w.chaos(length)
		w.peace()
		time.Sleep(5 * time.Second)
		ok := w.settle()
		close(stop)
		clients.Wait()
		if ok && w.settle() {
			w.everybody(k)
			a.final()
		}
		w.end()
		if ok {
			a.replay()
			a.setBack()
		}
	})
	return a
}

// everybody publishes at each node, which all take that.
func (w *world) everybody(k kind) {
	for i, n := range w.nodes {
		c := newClient(w, 10+i, k)
		c.life = n.current()
		if c.life == nil || !c.life.enter() {
			w.audit.problem("%s is gone", n.name)
			continue
		}
		if k == doors {
			c.begin(c.life)
		}
		if r := c.publish(c.life, c.note()); !r.ok {
			w.audit.problem("%s does not take an event: %s", n.name, r)
		}
		c.life.all.Done()
	}
	w.settle()
}

// setBack gives the nodes a log that was set back and went another way: none takes anything of it, running or at a start.
func (a *audit) setBack() {
	upTo := a.w.log.last()
	back := a.w.log.upTo(1 + commitlog.Position(a.w.roll(int(upTo)-1)))
	s, err := store.Open(store.Options{Dir: "data", FS: newDisk(), Log: back})
	if err != nil {
		a.problem("open beside a log that was set back: %v", err)
		return
	}
	_, err = s.Lead([]byte("set back"))
	for i := 0; err == nil && s.LogPlace().Position <= uint64(upTo); i++ {
		err = s.KeepNotes(map[string][]byte{"set back": fmt.Append(nil, i)}, nil)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		a.problem("write a log that was set back: %v", err)
		return
	}
	next, err := back.Read(a.w.t.Context(), upTo+1)
	if err != nil {
		a.problem("read a log that was set back: %v", err)
	}
	for _, n := range a.w.nodes {
		o := store.Options{Dir: "data", FS: n.disk, Log: a.w.log}
		s, err := store.Open(o)
		if err != nil {
			a.problem("%s does not start again: %v", n.name, err)
			continue
		}
		if err := s.Apply(next); !errors.Is(err, store.ErrHistory) {
			a.problem("%s applies an entry of another history: %v", n.name, err)
		}
		if err := s.Close(); err != nil {
			a.problem("%s: %v", n.name, err)
		}
		for what, log := range map[string]*logtest.Memory{"a longer one": back, "one as long": back.UpTo(upTo), "one that was set back": a.w.log.upTo(upTo - 1)} {
			o.Log = log
			s, err := store.Open(o)
			if !errors.Is(err, store.ErrHistory) {
				a.problem("%s starts with another history, %s: %v", n.name, what, err)
			}
			if err == nil {
				s.Close()
			}
		}
	}
}
