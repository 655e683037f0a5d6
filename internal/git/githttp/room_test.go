package githttp_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const (
	gaveWay = "the room for packs is short here, and others took less of it or are faster: try again in some minutes"
	noRoom  = "there is no room for more packs at the moment: try again in some minutes"
)

// kind asks for a pack that nobody else asks for.
func (w *bubbled) kind(t *testing.T, from string, n int) *client {
	t.Helper()
	c := w.fetch(t, from, &gitwire.Fetch{Version: 2, Filter: gitwire.Filter{Kind: gitwire.FilterBlobLimit, Limit: int64(n)}})
	synctest.Wait()
	return c
}

// pieces is how long each pack is that a bubble sends at once, for the tests below.
func (w *bubbled) sends(bytes int) {
	w.pack = func(_ context.Context, out io.Writer) error {
		_, err := io.Copy(out, io.LimitReader(zeros{}, int64(bytes)))
		return err
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// ends checks that an answer ends with a reason.
func (c *client) ends(why string) {
	c.t.Helper()
	if got, err := c.rest(); err != nil || !strings.HasSuffix(got, frame("\x03"+why)+"0000") {
		c.t.Errorf("%d bytes that end with %q, %v", len(got), got[max(0, len(got)-200):], err)
	}
}

// whole checks that an answer is a whole pack.
func (c *client) whole(bytes int) {
	c.t.Helper()
	if got := unpacked(c.t, c.all()); len(got) != bytes {
		c.t.Errorf("%d bytes of %d", len(got), bytes)
	}
}

// TestWhoTakesMostOfTheRoomGivesWay: an address alone gets nearly all of the room, many shapes as much as one; another gets what it asks for at once,
// and the oldest pack of the first one ends with a reason. What it has read stays right.
func TestWhoTakesMostOfTheRoomGivesWay(t *testing.T) {
	inBubble(t, settings{Config: githttp.Config{FlightBytes: 8 << 20}}, func(t *testing.T, w *bubbled) {
		w.sends(2 << 20)
		var greedy []*client
		for i := range 3 {
			greedy = append(greedy, w.kind(t, "198.51.100.1", i))
		}
		w.kind(t, another, 10).whole(2 << 20)
		w.kind(t, stranger, 11).whole(2 << 20)
		w.sends(4 << 20)
		w.kind(t, another, 12).whole(4 << 20)
		greedy[0].ends(gaveWay)
		greedy[1].ends(gaveWay)
		greedy[2].whole(2 << 20)
	})
}

// TestThereIsNoRoom: a pack that is larger than all of the room waits for some of it, and its client hears why it does not come.
func TestThereIsNoRoom(t *testing.T) {
	inBubble(t, settings{Config: githttp.Config{FlightBytes: 1 << 20}}, func(t *testing.T, w *bubbled) {
		w.sends(1 << 20)
		began := time.Now()
		w.kind(t, stranger, 1).ends(noRoom)
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("after %s", took)
		}
		if got := w.answers(); got != "upload-pack 2 refused 1" {
			t.Errorf("counted %s", got)
		}
	})
}

// TestGivesWayBeforeItBegan: a client to which nothing was sent hears when to try again.
func TestGivesWayBeforeItBegan(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.pack = func(ctx context.Context, _ io.Writer) error { <-ctx.Done(); return ctx.Err() }
		var all []*client
		for i := range 400 {
			all = append(all, w.kind(t, fmt.Sprint("198.51.100.", 1+max(0, i-1)/49), i)) // the first has 50
		}
		w.sends(1)
		w.kind(t, "203.0.113.9", 1000).whole(1)
		res := all[0].answer()
		for _, c := range all[1:] {
			c.Close()
		}
		if text := all[0].all(); res.StatusCode != 429 || res.Header.Get("Retry-After") != "10" || text != "429 "+gaveWay+"\n" {
			t.Errorf("%s %q", res.Status, text)
		}
	})
}

// TestWhoReadsSlowlyGivesWayFirst: not who has more and reads faster, nor who waits for the process.
func TestWhoReadsSlowlyGivesWayFirst(t *testing.T) {
	inBubble(t, settings{Config: githttp.Config{FlightBytes: 16 << 20}}, func(t *testing.T, w *bubbled) {
		w.sends(2 << 20)
		drip := w.kind(t, "198.51.100.1", 1)
		w.sends(7 << 20)
		fast := w.kind(t, "198.51.100.2", 2)
		p := w.paced()
		waits := w.kind(t, "198.51.100.3", 3)
		p.pieces <- strings.Repeat("x", 3<<20) // more than the slow one has
		waited := make(chan string, 1)
		go func() {
			text, _ := waits.rest()
			waited <- text
		}()
		drip.answer()
		fast.answer()
		var got int64
		for range 20 {
			time.Sleep(time.Second)
			for c, bytes := range map[*client]int64{drip: 16 << 10, fast: 200 << 10} {
				n, err := io.CopyN(io.Discard, c.body, bytes)
				if err != nil {
					t.Fatal(err)
				}
				if c == fast {
					got += n
				}
			}
		}
		w.sends(7 << 19)
		w.kind(t, "198.51.100.4", 4).whole(7 << 19)
		drip.ends(gaveWay)
		if n, err := io.Copy(io.Discard, fast.body); err != nil || got+n < 7<<20 {
			t.Errorf("%d bytes, %v", got+n, err)
		}
		p.pieces <- " and last"
		close(p.pieces)
		if got := unpacked(t, <-waited); len(got) != 3<<20+len(" and last") {
			t.Errorf("%d bytes", len(got))
		}
	})
}

// TestWhoSharesWithTheGreedyKeepsThePack: it is theirs who take least.
func TestWhoSharesWithTheGreedyKeepsThePack(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		inBubble(t, settings{Config: githttp.Config{FlightBytes: 16 << 20}}, func(t *testing.T, w *bubbled) {
			w.sends(4 << 20)
			first := w.kind(t, "198.51.100.1", 1)
			honest := w.kind(t, stranger, 1)
			if w.took() != "settled:1 pack" {
				t.Fatal("two packs")
			}
			w.sends(8 << 20)
			large := w.kind(t, "198.51.100.1", 2)
			if leaves {
				honest.Close()
				synctest.Wait()
			}
			w.sends(4 << 20)
			w.kind(t, another, 3).whole(4 << 20)
			if leaves { // what is left is the greedy one's own
				first.ends(gaveWay)
				large.whole(8 << 20)
				return
			}
			honest.whole(4 << 20)
			first.whole(4 << 20)
			large.ends(gaveWay)
		})
	}
}

// TestPacksBeingSentLeaveDisk: they take half of what would be free above the floor without them, also while one grows, and whoever else takes some
// meanwhile. What is kept goes for it. Who leaves frees what they had. Small packs come through on a full disk.
func TestPacksBeingSentLeaveDisk(t *testing.T) {
	var space atomic.Int64
	var written atomic.Int64
	c := githttp.Config{CacheBytes: 1 << 30, Space: func() int64 { return space.Load() - written.Load() }}
	inBubble(t, settings{Config: c}, func(t *testing.T, w *bubbled) {
		space.Store(64 << 20)
		w.says(10 << 20)
		for range 2 {
			w.number(t, &gitwire.Fetch{})
			synctest.Wait()
		}
		w.pack = func(ctx context.Context, out io.Writer) error {
			for {
				n, err := out.Write(make([]byte, 64<<10))
				written.Add(int64(n))
				if err != nil {
					return err
				}
			}
		}
		written.Store(10 << 20) // is kept
		w.kind(t, stranger, 1)
		time.Sleep(30 * time.Second)
		if got := written.Load(); got < 30<<20 || got > 42<<20 { // with what was kept
			t.Errorf("%d bytes were written", got)
		}
		if s := w.server.Stats().Cache; s.Entries != 0 || s.Evicted != 1 {
			t.Errorf("%+v", s)
		}
		time.Sleep(2 * time.Minute)
		if n := w.server.Stats().Cache.Flights; n != 0 {
			t.Errorf("%d are left", n)
		}
		written.Store(0)
		space.Store(-1 << 30)
		w.says(1 << 20)
		w.number(t, &gitwire.Fetch{OfsDelta: true})
	})
}

// TestWhoWouldNotHaveItInTime is told so, after two minutes behind, and not while there is nothing more to read.
func TestWhoWouldNotHaveItInTime(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		p := w.paced()
		c := w.kind(t, stranger, 1)
		p.pieces <- "first"
		c.answer()
		if _, err := io.CopyN(io.Discard, c.body, 20); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		go func() {
			p.pieces <- strings.Repeat("x", 60<<20)
			close(p.pieces)
		}()
		began := time.Now()
		for {
			time.Sleep(20 * time.Second)
			if _, err := io.CopyN(io.Discard, c.body, 64<<10); err != nil {
				t.Fatal(err)
			}
			if synctest.Wait(); w.server.Stats().Cache.Flights == 0 {
				break
			}
		}
		if took := time.Since(began); took < 2*time.Minute || took > 4*time.Minute {
			t.Errorf("ended after %s", took)
		}
		c.ends("this connection is so slow that the pack would not come within an hour: fetch less at a time, such as with --depth 1")
	})
}

// TestManySmallPacksAreFiles: an address has fifty open at most, and whoever has most gives way.
func TestManySmallPacksAreFiles(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.sends(300 << 10)
		var last *client
		for i := range 8 * 50 {
			last = w.kind(t, fmt.Sprint("198.51.100.", 1+i/50), i)
			if i == 49 {
				if res := w.kind(t, "198.51.100.1", 1000).answer(); res.StatusCode != 429 {
					t.Errorf("the fifty-first: %s", res.Status)
				}
			}
		}
		w.kind(t, "203.0.113.9", 1001).whole(300 << 10)
		last.whole(300 << 10)
	})
}

// TestYieldedPacksLeaveTheDisk: what a pack took that has given way is free at once, although a client holds on to it, and whoever asks for the same
// gets a new one. Where it was kept, it is kept no more.
func TestYieldedPacksLeaveTheDisk(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, settings{Config: githttp.Config{CacheDir: dir, FlightBytes: 8 << 20, CacheBytes: 8 << 20}}, func(t *testing.T, w *bubbled) {
		w.sends(4 << 20)
		w.kind(t, "198.51.100.1", 1)
		w.kind(t, "198.51.100.1", 1) // so that it is kept
		if got := openBytes(t, dir); got != 4<<20 {
			t.Fatalf("%d bytes", got)
		}
		w.sends(5 << 20)
		other := w.kind(t, another, 2)
		if got := openBytes(t, dir); got != 5<<20 {
			t.Errorf("%d bytes are on the disk", got)
		}
		other.whole(5 << 20)
		w.sends(1 << 20)
		w.kind(t, stranger, 1).whole(1 << 20)
	})
}

// openBytes returns the bytes of files in a directory that have no name there.
func openBytes(t *testing.T, dir string) (n int64) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for _, fd := range all {
		path := "/proc/self/fd/" + fd.Name()
		if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, dir+"/") {
			if info, err := os.Stat(path); err == nil {
				n += info.Size()
			}
		}
	}
	return n
}
