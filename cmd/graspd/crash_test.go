package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

var (
	crashRuns = flag.Int("runs", 2, "how often each TestCrash kills")
	crashSeed = flag.Uint64("seed", 1, "where the chances of TestCrash begin")
)

// childMark makes this test binary be the real command in a process of its own.
const childMark = "CHILD_OF_GRASPD_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(childMark) != "" {
		main()
	}
	os.Exit(testkit.RunWaiting(m))
}

// child is a graspd in a process of its own.
type child struct {
	cmd       *exec.Cmd
	out, errs *output
	done      chan struct{}
}

func spawn(t *testing.T, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return spawnThis(t, exec.Command(self, args...), nil)
}

func spawnThis(t *testing.T, cmd *exec.Cmd, attr *syscall.SysProcAttr) *child {
	t.Helper()
	c := &child{cmd: cmd, out: newOutput(), errs: newOutput(), done: make(chan struct{})}
	c.cmd.SysProcAttr = attr
	c.cmd.Env = append(os.Environ(), childMark+"=1", "GRASPD_GIT=false", "GORACE=atexit_sleep_ms=0")
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.errs
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait() // its exit code is in ProcessState
		close(c.done)
	}()
	t.Cleanup(c.kill)
	return c
}

// kill ends it as a power switch would, but for the page cache.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.done
}

// wait is the exit code.
func (c *child) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-c.done:
	case <-time.After(patience):
		t.Fatalf("it does not end:\n%s%s", c.out, c.errs)
	}
	return c.cmd.ProcessState.ExitCode()
}

// killsOfOne is how many kills one data directory lives through, so that long runs need no more disk than short ones.
const killsOfOne = 100

// TestCrash kills a graspd under load again and again, at random moments, and checks after each what is on disk.
func TestCrash(t *testing.T) {
	for n := 0; n < *crashRuns && !t.Failed(); n += killsOfOne {
		h := newCrash(t, *crashSeed+uint64(n/killsOfOne))
		h.live(min(killsOfOne, *crashRuns-n))
		t.Log(h.summary())
		if err := os.RemoveAll(h.dir); err != nil {
			t.Error(err)
		}
	}
}

// live goes through so many rounds. What it says of a failure names the seed with which it begins again.
func (h *crash) live(rounds int) {
	for round := range rounds {
		switch h.r.IntN(10) {
		case 0, 1:
			h.killWhileStarting()
		default:
			h.killUnderLoad()
		}
		h.inspect(fmt.Sprintf("kill %d, seed %d", round+1, h.seed))
		if h.r.IntN(6) == 0 {
			h.killARepair()
			h.inspect(fmt.Sprintf("repair after kill %d, seed %d", round+1, h.seed))
		}
		if h.t.Failed() {
			h.t.Logf("failed in round %d of seed %d: make crash SEED=%d RUNS=%d", round+1, h.seed, h.seed, round+1)
			return
		}
		if (round+1)%10 == 0 {
			h.t.Logf("seed %d, round %d: %s", h.seed, round+1, h.summary())
		}
	}
	h.complete()
}

// crash is one data directory through many kills.
type crash struct {
	t       *testing.T
	seed    uint64
	r       *rand.Rand
	dir     string // --data
	source  *testkit.FakeRelay
	book    *book
	workers []*worker
	kills   int
	copies  int
}

func newCrash(t *testing.T, seed uint64) *crash {
	h := &crash{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 7)), dir: filepath.Join(t.TempDir(), "data"), source: testkit.Serve(t), book: newBook()}
	owner := testkit.Key(1)
	ann := testkit.Announcement(owner, time.Now().Unix()-1000, "proj", "wss://relay.example.org", string(h.source.URL))
	h.source.Add(ann)
	h.book.offer(ann)
	for i := range 4 {
		h.workers = append(h.workers, newWorker(i, seed, ann, h.book))
	}
	return h
}

func (h *crash) serve() *child {
	return spawn(h.t, "serve", "--data", h.dir, "--domain", "relay.example.org", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--disk-floor", "1MiB", "--store-cache", "1MiB", "--sync-allow-private", "--sync-batch-window", "20ms", "--bootstrap", string(h.source.URL))
}

func (h *crash) killWhileStarting() {
	c := h.serve()
	pause(time.Duration(h.r.IntN(120)) * time.Millisecond)
	c.kill()
	h.kills++
}

// killUnderLoad lets clients publish and read, now and then beside a backup, and kills.
func (h *crash) killUnderLoad() {
	c := h.serve()
	u, err := grasp.NormalizeRelay(c.out.await(h.t, `listens on (ws://\S+)\n`))
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	ended := make(chan struct{})
	for _, w := range h.workers {
		go func() { w.publish(ctx, h.t, u); ended <- struct{}{} }()
	}
	go func() { h.book.listen(ctx, h.t, u); ended <- struct{}{} }()
	h.fillSource()
	var copied *backedUp
	if h.r.IntN(4) == 0 {
		copied = h.backup(c.out.await(h.t, `at (http://\S+)/status.json\n`))
	}
	pause(time.Duration(20+h.r.IntN(400)) * time.Millisecond)
	c.kill()
	h.kills++
	cancel()
	for range len(h.workers) + 1 {
		<-ended
	}
	if text := c.errs.String(); strings.Contains(text, "panic") || strings.Contains(text, "level=ERROR") {
		h.t.Errorf("graspd said:\n%s", text)
	}
	if copied != nil {
		h.judgeCopy(copied)
	}
}

// fillSource has the remote relay tell something new.
func (h *crash) fillSource() {
	w := h.workers[0]
	for range 5 {
		e := testkit.Issue(testkit.Key(500), time.Now().Unix(), w.at, fmt.Sprint("from elsewhere ", h.r.Uint64()))
		h.book.fromSource(e)
		h.source.Add(e)
	}
}

// backedUp is a backup under way, and what was acknowledged when it began.
type backedUp struct {
	dir    string
	by     *child
	before []*event
}

func (h *crash) backup(admin string) *backedUp {
	h.copies++
	b := &backedUp{dir: filepath.Join(filepath.Dir(h.dir), fmt.Sprint("copy", h.copies)), before: h.book.certain()}
	pause(time.Duration(h.r.IntN(100)) * time.Millisecond)
	b.by = spawn(h.t, "backup", "--data", h.dir, "--admin", admin, b.dir)
	return b
}

// judgeCopy: a copy that has its name is whole, whether or not anybody was told.
func (h *crash) judgeCopy(b *backedUp) {
	code := b.by.wait(h.t)
	_, err := os.Stat(b.dir)
	if err != nil && code == exitOK {
		h.t.Errorf("the backup ended well and is not there: %v", err)
	}
	if err == nil {
		h.judge("backup", b.dir, b.before)
	}
	for _, dir := range []string{b.dir, b.dir + ".partial"} {
		if err := os.RemoveAll(dir); err != nil {
			h.t.Fatal(err)
		}
	}
}

// killARepair kills a repair at a random moment, which leaves a store that opens.
func (h *crash) killARepair() {
	c := spawn(h.t, "check", "--repair", "--data", h.dir, "--disk-floor", "1MiB")
	select {
	case <-c.done:
	case <-time.After(time.Duration(h.r.IntN(1500)) * time.Millisecond):
	}
	c.kill()
	h.kills++
	old, err := filepath.Glob(filepath.Join(h.dir, "store.broken-*"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() {
		for _, dir := range old {
			if err := os.RemoveAll(dir); err != nil {
				h.t.Error(err)
			}
		}
	}()
	h.judge("repair", h.dir, h.book.certain())
}

// pause lets a moment of chance pass; nothing is waited for.
func pause(d time.Duration) { <-time.After(d) }

// inspect checks what is on disk.
func (h *crash) inspect(what string) {
	if logs, err := filepath.Glob(filepath.Join(h.dir, "store", "*.log")); err != nil || len(logs) == 0 && len(h.book.certain()) == 0 {
		return // killed before there was a store
	}
	h.judge(what, h.dir, h.book.certain())
}

// complete waits until all that the remote relay has is here, too.
func (h *crash) complete() {
	c := h.serve()
	u, err := grasp.NormalizeRelay(c.out.await(h.t, `listens on (ws://\S+)\n`))
	if err != nil {
		h.t.Fatal(err)
	}
	reader := dial(h.t, u)
	missing := make(map[nostr.ID]bool)
	for lot := range slices.Chunk(h.book.elsewhere, 400) {
		var ids []nostr.ID
		for _, e := range lot {
			ids = append(ids, e.ID)
			missing[e.ID] = true
		}
		reader.send(nostr.AppendReq(nil, ids[0].String(), nostr.Filter{IDs: ids}))
	}
	for len(missing) > 0 {
		if m, ok := reader.next().(nostr.RelayEvent); ok {
			delete(missing, m.Event.ID)
		}
	}
	c.kill()
	h.inspect("the end")
}

func (h *crash) summary() string {
	return fmt.Sprintf("%d kills, %d backups; %s", h.kills, h.copies, h.book.counts())
}
