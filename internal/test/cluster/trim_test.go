package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/snapshot"
)

// TestTrimmedLogs: nodes write one log in a bucket, each when it thinks that it leads, make snapshots and remove the beginning of the log, while
// requests are lost, late and repeated, and while nodes freeze for longer than all that takes. Whatever was acknowledged is there for a machine that
// has nothing.
func TestTrimmedLogs(t *testing.T) {
	from, n := *first, 3**runs // they are short
	if *replay >= 0 {
		from, n = uint64(*replay), 1
	}
	sum := map[string]int{}
	for seed := from; seed < from+uint64(n); seed++ {
		synctest.Test(t, func(t *testing.T) {
			for what, n := range trimmed(t, seed) {
				sum[what] += n
			}
		})
	}
	t.Logf("in all: %v", sum)
	for _, what := range []string{"acknowledged", "terms", "trimmed", "restored", "deposed"} {
		if sum[what] < n/20 && *replay < 0 { // trims are rare
			t.Errorf("only %d %s", sum[what], what)
		}
	}
}

// trimmedFor is how long a world of TestTrimmedLogs lasts.
const trimmedFor = 20 * time.Minute

// trims is such a world.
type trims struct {
	t      *testing.T
	seed   uint64
	bucket *objecttest.Memory
	begun  time.Time

	mu    sync.Mutex
	acked []string
	sum   map[string]int
}

func (w *trims) count(what string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sum[what] += n
}

func trimmed(t *testing.T, seed uint64) map[string]int {
	w := &trims{t: t, seed: seed, begun: time.Now(), sum: map[string]int{}, bucket: &objecttest.Memory{Fault: objecttest.Random(seed, 30*time.Millisecond)}}
	var all sync.WaitGroup
	for i := range 3 {
		n := &trimmer{trims: w, name: string(rune('a' + i)), r: rand.New(rand.NewPCG(seed, uint64(i))), fs: vfs.NewMem()}
		all.Go(n.run)
	}
	all.Wait()
	w.bucket.Deliver()
	w.bucket.Fault = nil
	last := &trimmer{trims: w, name: "last", r: rand.New(rand.NewPCG(seed, 99)), fs: vfs.NewMem(), calm: true}
	last.empty()
	last.open()
	defer last.s.Close()
	if _, err := last.s.Lead([]byte("last")); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	notes, err := last.s.Notes()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range w.acked {
		if _, there := notes[name]; !there {
			t.Errorf("seed %d: %s was acknowledged, and is not there", seed, name)
		}
	}
	w.sum["acknowledged"] = len(w.acked)
	w.sum["terms"] = int(last.s.LogPlace().Term)
	return w.sum
}

// trimmer is a node of such a world. It is the log of its store, too: where a request waits while the node is frozen.
type trimmer struct {
	*trims
	name  string
	r     *rand.Rand
	fs    *vfs.MemFS
	s     *store.Store
	log   *bucketlog.Log
	n     int
	calm  bool
	leads bool
}

// Append implements commitlog.Log.
func (n *trimmer) Append(ctx context.Context, at commitlog.Position, before commitlog.Chain, body []byte) (commitlog.Result, error) {
	n.freeze()
	r, err := n.log.Append(ctx, at, before, body)
	n.freeze()
	return r, err
}

// Read implements commitlog.Log. Of a start many run at once.
func (n *trimmer) Read(ctx context.Context, at commitlog.Position) (commitlog.Entry, error) {
	return n.log.Read(ctx, at)
}

func (n *trimmer) freeze() {
	if !n.calm && n.r.IntN(60) == 0 {
		time.Sleep(time.Duration(n.r.Int64N(int64(5 * time.Minute))))
	}
}

func (n *trimmer) over() bool { return time.Since(n.begun) > trimmedFor }

func (n *trimmer) run() {
	n.open()
	late := time.AfterFunc(trimmedFor+time.Minute-time.Since(n.begun), func() { n.log.Close() })
	defer late.Stop()
	for !n.over() {
		switch x := n.r.IntN(20); {
		case x < 12:
			n.write()
		case x < 15:
			n.follow()
		case x == 15 && n.r.IntN(3) == 0:
			n.lead()
		case x < 19:
			n.keep()
		case n.r.IntN(3) == 0:
			n.restart()
		}
		time.Sleep(time.Duration(n.r.Int64N(int64(2 * time.Second))))
		n.freeze()
	}
	n.close()
}

func (n *trimmer) close() {
	n.leads = false
	failed := n.s.Failure() != nil
	if err := n.s.Close(); err != nil && !failed {
		n.t.Errorf("seed %d: %v", n.seed, err)
	}
}

func (n *trimmer) restart() {
	n.close()
	n.open()
}

// open opens the store, and fills an empty disk anew where the log has lost what comes next.
func (n *trimmer) open() {
	if n.log == nil {
		n.log = bucketlog.New(n.bucket)
	}
	for {
		s, err := store.Open(store.Options{Dir: "data", FS: n.fs, Log: n, TableBytes: 64 << 10, CacheBytes: 1 << 20, FreeSpace: func() (uint64, error) { return 1 << 40, nil }})
		if err == nil {
			n.s = s
			return
		}
		if errors.Is(err, commitlog.ErrGap) || errors.Is(err, store.ErrHistory) {
			n.empty()
		}
		time.Sleep(time.Second)
	}
}

// empty begins with an empty disk, and fills it from the bucket.
func (n *trimmer) empty() {
	for {
		n.fs = vfs.NewMem()
		s, err := snapshot.Newest(n.t.Context(), n.bucket)
		if errors.Is(err, snapshot.ErrNone) {
			return
		}
		if err == nil {
			err = snapshot.Restorer{Objects: n.bucket, FS: n.fs}.Restore(n.t.Context(), s, "data")
		}
		if err == nil {
			n.count("restored", 1)
			return
		}
		if n.calm {
			n.t.Fatalf("seed %d: %v", n.seed, err)
		}
		time.Sleep(time.Second)
	}
}

func (n *trimmer) write() {
	n.n++
	name := fmt.Sprint(n.name, " ", n.n)
	err := n.s.KeepNotes(map[string][]byte{name: nil}, nil)
	switch {
	case err == nil:
		n.mu.Lock()
		n.acked = append(n.acked, name)
		n.mu.Unlock()
	case errors.Is(err, store.ErrDeposed):
		n.count("deposed", 1)
		n.restart()
	case n.s.Failure() != nil:
		n.restart()
	case n.r.IntN(40) == 0:
		n.follow()
		n.lead()
	}
}

func (n *trimmer) lead() {
	n.n++
	_, err := n.s.Lead(fmt.Append(nil, n.name, " leads ", n.n))
	switch {
	case err == nil:
		n.leads = true
	case n.s.Failure() != nil:
		n.restart()
	}
}

// follow takes what the log has.
func (n *trimmer) follow() {
	for !n.leads {
		x, err := n.log.Read(n.t.Context(), commitlog.Position(n.s.LogPlace().Position+1))
		if err == nil {
			err = n.s.Apply(x)
		}
		if errors.Is(err, commitlog.ErrGap) || errors.Is(err, store.ErrHistory) {
			n.restart()
			return
		}
		if err != nil {
			return
		}
	}
}

// keep makes a snapshot, and removes what is not needed any more, as a node does that thinks that it leads.
func (n *trimmer) keep() {
	if !n.leads {
		return
	}
	n.n++
	m := snapshot.Maker{Objects: n.bucket, FS: n.fs, Word: fmt.Sprint(n.name, n.n)}
	if _, err := m.Make(n.t.Context(), n.s, "copy"); err != nil {
		return
	}
	n.freeze()
	t, err := snapshot.Trim(n.t.Context(), n.bucket, n.s.LogPlace())
	if err == nil && t.Commits > 0 {
		n.count("trimmed", t.Commits)
	}
}
