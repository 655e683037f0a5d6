package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
)

// TestCrashOfPushes kills a graspd again and again while people push to repositories that it hosts, and checks after each what is
// on disk, what is served, and that nobody's push is refused because of it.
func TestCrashOfPushes(t *testing.T) {
	for n := 0; n < *crashRuns && !t.Failed(); n += killsOfOne {
		h := newPushCrash(t, *crashSeed+uint64(n/killsOfOne))
		h.live(min(killsOfOne, *crashRuns-n))
		t.Log(h.summary())
		if err := os.RemoveAll(h.dir); err != nil {
			t.Error(err)
		}
	}
}

// pushCrash is one data directory with repositories through many kills.
type pushCrash struct {
	t       *testing.T
	seed    uint64
	r       *rand.Rand
	dir     string // --data
	service grasp.Service
	workers []*contributor
	over    atomic.Bool // the relay is about to be killed: nothing that fails is news

	kills, whileStarting, whileCombining int
	clones, objects                      int // that were made and had no fault; what the last ones had
}

func newPushCrash(t *testing.T, seed uint64) *pushCrash {
	service, err := grasp.ParseService("relay.example.org")
	if err != nil {
		t.Fatal(err)
	}
	h := &pushCrash{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 11)), dir: filepath.Join(t.TempDir(), "data"), service: service}
	for i := range 4 {
		h.workers = append(h.workers, newContributor(h, i))
	}
	return h
}

// live goes through so many kills. What it says of a failure names the seed with which it begins again.
func (h *pushCrash) live(kills int) {
	for h.kills < kills {
		var what string
		if h.r.IntN(8) == 0 {
			what = h.killWhileStarting()
		} else {
			what = h.killUnderLoad()
		}
		h.kills++
		h.check(what)
		if h.t.Failed() {
			h.t.Logf("failed at kill %d of seed %d, %s: make crash SEED=%d RUNS=%d", h.kills, h.seed, what, h.seed, h.kills)
			return
		}
		if h.kills%10 == 0 {
			h.t.Logf("seed %d: %s", h.seed, h.summary())
		}
	}
	c, url := h.serve()
	h.judge(c, url)
	c.kill()
	h.check("the end")
}

func (h *pushCrash) spawn() *child {
	return spawn(h.t, "serve", "--git", "--data", h.dir, "--domain", "relay.example.org", "--listen", "127.0.0.1:0", "--admin-listen", "",
		"--disk-floor", "1MiB", "--store-cache", "1MiB", "--sync=false")
}

func (h *pushCrash) serve() (*child, grasp.RelayURL) {
	h.t.Helper()
	c := h.spawn()
	u, err := grasp.NormalizeRelay(c.out.await(h.t, `listens on (ws://\S+)\n`))
	if err != nil {
		h.t.Fatal(err)
	}
	return c, u
}

func (h *pushCrash) killWhileStarting() string {
	c := h.spawn()
	pause(time.Duration(h.r.IntN(250)) * time.Millisecond)
	c.kill()
	h.whileStarting++
	return "while it started"
}

// combining is when the relay looks for packs to be combined, from its start on.
const combining = 5 * time.Second

// killUnderLoad judges what the kill before has left, lets everybody push, and kills.
func (h *pushCrash) killUnderLoad() string {
	c, url := h.serve()
	begun := time.Now()
	h.judge(c, url)
	if h.t.Failed() {
		c.kill()
		return "before it was killed"
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	var g sync.WaitGroup
	for _, w := range h.workers {
		g.Go(func() { w.work(ctx, url) })
	}
	what := "under load"
	if h.r.IntN(8) == 0 && len(h.workers[0].states) > 8 {
		what = "while packs were combined"
		h.whileCombining++
		pause(time.Until(begun.Add(combining)))
		pause(time.Duration(h.r.IntN(300)) * time.Millisecond)
	} else {
		pause(time.Duration(20+h.r.IntN(900)) * time.Millisecond)
	}
	h.over.Store(true)
	c.kill()
	cancel()
	g.Wait()
	h.over.Store(false)
	h.quiet(c)
	return what
}

// quiet requires that the relay has complained of nothing.
func (h *pushCrash) quiet(c *child) {
	h.t.Helper()
	if text := c.errs.String(); strings.Contains(text, "panic") || strings.Contains(text, "level=ERROR") {
		h.t.Errorf("graspd said:\n%s", text)
	}
}

// check requires that what is on disk is sound.
func (h *pushCrash) check(what string) {
	h.t.Helper()
	if logs, err := filepath.Glob(filepath.Join(h.dir, "store", "*.log")); err == nil && len(logs) == 0 {
		return // killed before there was a store
	}
	if code, out, errs := checked(h.t, h.dir, "--git"); code != exitOK {
		h.t.Errorf("%s: check: exit code %d\n%s%s", what, code, out, errs)
	}
}

// judge requires of each repository that it is as its contributor was told, and that they can go on.
func (h *pushCrash) judge(c *child, url grasp.RelayURL) {
	h.t.Helper()
	h.objects = 0
	var g sync.WaitGroup
	var objects atomic.Int64
	for _, w := range h.workers {
		g.Go(func() {
			n := w.judge(url)
			objects.Add(int64(n))
		})
	}
	g.Wait()
	h.objects = int(objects.Load())
	for _, w := range h.workers {
		h.clones += w.clones
		w.clones = 0
	}
	if h.t.Failed() {
		h.t.Logf("graspd said:\n%s", c.errs)
	}
	h.quiet(c)
}

func (h *pushCrash) summary() string {
	var pushes, pulls, early, again int
	for _, w := range h.workers {
		pushes, again = pushes+w.acked, again+w.again
		for _, p := range w.pulls {
			if p.served {
				pulls++
				if p.early {
					early++
				}
			}
		}
	}
	return fmt.Sprintf("%d kills (%d while it started, %d while packs were combined); acknowledged: %d pushes of states, %d of pull requests (%d before their event); "+
		"%d pushes were cut off and made again; %d clones without a fault, the last ones with %d objects",
		h.kills, h.whileStarting, h.whileCombining, pushes, pulls, early, again, h.clones, h.objects)
}
