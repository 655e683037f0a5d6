package hosting_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var (
	hostileFor  = flag.Duration("for", 2*time.Second, "how long TestHostile goes on")
	hostileSeed = flag.Uint64("seed", 1, "where the chances of TestHostile begin")
)

const (
	lifeLasts       = 15 * time.Second
	guestsOf        = 24              // a life
	hostilePatience = 2 * time.Minute // the longest that anything may take
)

// TestHostile lets many clients of git at once do what chance says on real sockets: fetches and pushes of all forms that overlap, broken ones,
// readers and writers that are slow, stop or vanish. An owner among them must not notice, and when all have left nothing may be left of them.
func TestHostile(t *testing.T) {
	all, end := newTally(), time.Now().Add(*hostileFor)
	for seed := *hostileSeed; !t.Failed(); seed++ {
		left := time.Until(end)
		if left <= 0 && seed > *hostileSeed {
			break
		}
		before := runtime.NumGoroutine()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { oneLife(t, seed, min(lifeLasts, max(left, time.Second)), all) })
		eventually(t, func() string {
			if n := runtime.NumGoroutine(); n > before {
				return fmt.Sprintf("%d goroutines, %d before", n, before)
			}
			return ""
		})
		all.add("lives", 1)
		if t.Failed() {
			t.Logf("failed in the life of seed %d: make hostile SEED=%d FOR=%s", seed, seed, lifeLasts)
		}
	}
	t.Log(all)
}

// hostile is one life's host, and what its clients know of it.
type hostile struct {
	*world
	tally *tally
	repo  *nostr.Event // the announcement of the owner
	mine  *repo        // of the owner
	at    int64        // of their last state
	packs [][]byte     // of the first commits
	tips  []gitwire.ObjectID
}

// oneLife is one host and its clients from the first to the last.
func oneLife(t *testing.T, seed uint64, lasts time.Duration, all *tally) {
	r := rand.New(rand.NewPCG(seed, 43))
	h := newHostile(t, r, all)
	if err := h.honest(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var guests sync.WaitGroup
	for n := range guestsOf {
		guests.Go(func() {
			g := &guest{hostile: h, r: rand.New(rand.NewPCG(seed, 1000+uint64(n))), n: n}
			for ctx.Err() == nil {
				g.visit(ctx)
			}
		})
	}
	for ctx.Err() == nil {
		if err := h.honest(context.WithoutCancel(ctx)); err != nil {
			t.Errorf("the owner: %v", err)
			break
		}
	}
	cancel()
	guests.Wait()
	h.server.Close() // packs that were asked for twice are no longer kept for who asks again
	eventually(t, h.left)
	if err := h.honest(t.Context()); err != nil {
		t.Errorf("the owner, afterwards: %v", err)
	}
	if n, last := h.faults.Seen(); n > 0 {
		t.Errorf("%d faults were contained, the last at %s: %s", n, last.Place, last.Value)
	}
}

func newHostile(t *testing.T, r *rand.Rand, all *tally) *hostile {
	x := extra{proxies: []netip.Prefix{netip.MustParsePrefix("127.255.0.1/32")}} // so that loopback's rates are those of strangers
	limits := hosting.Limits{}
	if r.IntN(2) == 0 { // everything is full soon
		limits = hosting.Limits{Push: 1 << 20, Objects: 1000}
	}
	h := &hostile{world: openWorld(t, limits, false, policy.Archive{}, r.IntN(2) == 0, x), tally: all, at: now}
	h.mine = h.newRepo()
	h.repo = h.announce(1, "tool", h.at)
	for i := range 5 {
		id := h.mine.commit(fmt.Sprint(strings.Repeat("a line\n", i*100), i))
		h.tips = append(h.tips, ok(gitwire.ParseObjectID(id)))
		for _, args := range [][]string{{"pack-objects", "--revs", "--stdout", "-q"}, {"pack-objects", "--revs", "--stdout", "-q", "--thin"}} {
			pack, err := h.gitIn(h.mine.dir, id+"\n^"+id+"~3\n", args...)
			if err != nil {
				pack = ok(h.gitIn(h.mine.dir, id+"\n", args...))
			}
			h.packs = append(h.packs, []byte(pack))
		}
	}
	return h
}

// honest is a commit of the owner with its state and its push, and somebody's clone of that.
func (h *hostile) honest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hostilePatience)
	defer cancel()
	h.at++
	if err := os.WriteFile(filepath.Join(h.mine.dir, "file"), fmt.Append(nil, h.at), 0o600); err != nil {
		return err
	}
	into, err := os.MkdirTemp(h.dir, "clone-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(into)
	begun := time.Now()
	var tip string
	for _, do := range [][]string{
		{"commit", "-q", "-a", "-m", "more"}, {"rev-parse", "HEAD"}, nil, {"push", "-q", h.cloneURL(h.repo), "main"},
		{"clone", "-q", h.cloneURL(h.repo), into}, {"-C", into, "rev-parse", "origin/main"},
	} {
		if do == nil {
			err = h.decide(ctx, tip)
		} else {
			var out string
			if out, err = h.git(h.mine.dir, do...); err != nil {
				err = fmt.Errorf("%s: %w: %s", do, err, out)
			}
			if do[0] == "rev-parse" {
				tip = out
			} else if do[0] == "-C" && out != tip {
				err = fmt.Errorf("the clone has %s and not %s", out, tip)
			}
		}
		if err != nil {
			return err
		}
	}
	h.tally.add("pushes and clones of the owner", 1)
	h.tally.most("ms that one took at most", int(time.Since(begun).Milliseconds()))
	return nil
}

// decide publishes the next state of the owner.
func (h *hostile) decide(ctx context.Context, tip string) error {
	e := h.event(1, h.at, nip34.KindState, nostr.Tag{"d", "tool"}, nostr.Tag{"HEAD", "ref: refs/heads/main"}, nostr.Tag{"refs/heads/main", tip})
	c := make(chan policy.Verdict, 1)
	if err := h.client.Submit(ctx, e, store.Direct, func(v policy.Verdict) { c <- v }); err != nil {
		return err
	}
	select {
	case v := <-c:
		if !v.OK() {
			return fmt.Errorf("the state is answered %+v", v)
		}
	case <-ctx.Done():
		return errors.New("the state is not answered")
	}
	return nil
}

// left names what clients have left behind: only uploads that wait for their events may stay, each in its quarantine.
func (h *hostile) left() string {
	out := h.front.Unreturned()
	s := h.host.Stats()
	if s.Pushing > 0 {
		out = append(out, fmt.Sprintf("%d pushes", s.Pushing))
	}
	quarantines, err := filepath.Glob(filepath.Join(h.dir, "incoming", "*"))
	if err != nil || len(quarantines) != s.Uploads {
		out = append(out, fmt.Sprintf("%d quarantines, for %d uploads that wait (%v)", len(quarantines), s.Uploads, err))
	}
	if c := h.server.Stats(); c.Cache.Flights+c.Waiting > 0 {
		out = append(out, fmt.Sprintf("%d answers, %d pushes that wait", c.Cache.Flights, c.Waiting))
	}
	for _, k := range gitproc.Kinds() {
		if p := h.processes.Stats(k); p.Running+p.Queued > 0 {
			out = append(out, fmt.Sprintf("%d processes, %d that wait", p.Running, p.Queued))
		}
	}
	return strings.Join(out, "; ")
}

// eventually waits until there is nothing to complain of.
func eventually(t *testing.T, complaint func() string) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(hostilePatience); ; <-look.C {
		c := complaint()
		if c == "" {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%v later: %s", hostilePatience, c)
			return
		}
	}
}

// tally counts what was done and heard.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func newTally() *tally { return &tally{n: map[string]int{}} }

func (t *tally) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[what] += n
}

func (t *tally) most(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[what] = max(t.n[what], n)
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.n)) {
		fmt.Fprintf(&b, "\n%9d %s", t.n[what], what)
	}
	return b.String()
}
