package githttp_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

const stranger = "198.51.100.7"

// TestOnePackForAll: those who ask for the same at the same time share one process, in whichever version and frames, from wherever.
func TestOnePackForAll(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		p := w.paced()
		var all []*client
		for i := range 100 {
			all = append(all, w.fetch(t, fmt.Sprintf("198.51.100.%d", i), &gitwire.Fetch{Version: 2}))
		}
		synctest.Wait()
		if n := w.server.Stats().Fetching; n != 100 {
			t.Errorf("%d fetches are under way", n)
		}
		p.pieces <- "first "
		synctest.Wait()
		all = append(all, w.fetch(t, stranger, &gitwire.Fetch{Version: 2})) // late
		old := w.fetch(t, stranger, &gitwire.Fetch{Version: 0, Sideband: 1000})
		bare := w.fetch(t, stranger, &gitwire.Fetch{Version: 1})
		synctest.Wait()
		long := strings.Repeat("long ", 50_000)
		p.pieces <- long
		close(p.pieces)
		for _, c := range all {
			if got := unpacked(t, c.all()); got != "first "+long {
				t.Fatalf("got %d bytes", len(got))
			}
		}
		if got := bare.all(); got != frame("NAK\n")+"first "+long {
			t.Errorf("without frames: %.100q", got)
		}
		if got := old.all(); !strings.HasPrefix(got, frame("NAK\n")) || strings.Count(got, "03e8\x01") < 200 {
			t.Errorf("in short frames: %.100q", got)
		}
		if took := w.took(); took != "settled:1 pack" {
			t.Errorf("it took %s", took)
		}
		if got := w.answers(); got != "upload-pack 0 flight 1, upload-pack 1 flight 1, upload-pack 2 flight 100, upload-pack 2 pack 1" {
			t.Errorf("counted %s", got)
		}
		if n := w.server.Stats().Fetching; n != 0 {
			t.Errorf("%d fetches are under way", n)
		}
	})
}

// says has each pack be its number.
func (w *bubbled) says(size int) {
	n := 0
	w.pack = func(_ context.Context, out io.Writer) error {
		n++
		_, err := io.WriteString(out, fmt.Sprint(n, strings.Repeat(".", size)))
		return err
	}
}

// pack asks for a pack, and gives its number.
func (w *bubbled) number(t *testing.T, f *gitwire.Fetch) string {
	t.Helper()
	f.Version = 2
	return strings.TrimRight(unpacked(t, w.fetch(t, stranger, f).all()), ".")
}

// TestPacksAreKept: from the second time on that somebody wants one, as long as it is wanted, and what it is made of is the same.
func TestPacksAreKept(t *testing.T) {
	for kept, want := range map[int64]string{1 << 20: "1 2 2 2 2 3 4 5 6", 0: "1 2 3 4 5 6 7 8 9", 50: "1 2 3 4 5 6 7 8 9"} {
		inBubble(t, settings{Config: githttp.Config{CacheBytes: kept}}, func(t *testing.T, w *bubbled) {
			w.says(100)
			var got []string
			ask := func(f *gitwire.Fetch) {
				got = append(got, w.number(t, f))
				synctest.Wait()
			}
			for range 3 {
				ask(&gitwire.Fetch{})
			}
			for range 2 { // as long as it is used
				time.Sleep(5*time.Minute - time.Second)
				ask(&gitwire.Fetch{})
			}
			time.Sleep(5*time.Minute + time.Second)
			ask(&gitwire.Fetch{})
			w.change()
			ask(&gitwire.Fetch{})
			ask(&gitwire.Fetch{})
			ask(&gitwire.Fetch{Filter: gitwire.Filter{Kind: gitwire.FilterBlobNone}})
			if text := strings.Join(got, " "); text != want {
				t.Errorf("with %d bytes: %s, not %s", kept, text, want)
			}
		})
	}
}

// TestKeptPacksAreBounded: the one that was not used for longest goes first.
func TestKeptPacksAreBounded(t *testing.T) {
	inBubble(t, settings{Config: githttp.Config{CacheBytes: 1000}}, func(t *testing.T, w *bubbled) {
		w.says(400)
		a, b, c := &gitwire.Fetch{}, &gitwire.Fetch{IncludeTag: true}, &gitwire.Fetch{OfsDelta: true}
		for _, f := range []*gitwire.Fetch{a, b, c} {
			w.number(t, f)
		}
		var got []string
		for _, f := range []*gitwire.Fetch{a, b, a, c, a, b} {
			got = append(got, w.number(t, f))
			synctest.Wait()
		}
		if text := strings.Join(got, " "); text != "4 5 4 6 4 7" {
			t.Errorf("got %s", text)
		}
		if s := w.server.Stats().Cache; s.Hits != 2 || s.Misses != 7 || s.Evicted != 2 || s.Entries != 2 || s.Bytes != 802 || s.Flights != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// TestFilesOfPacksAreBounded: each pack that is kept is an open file, and others need some.
func TestFilesOfPacksAreBounded(t *testing.T) {
	inBubble(t, settings{Config: githttp.Config{CacheBytes: 1 << 20}}, func(t *testing.T, w *bubbled) {
		w.says(1)
		for i := range 250 {
			for range 2 {
				w.number(t, &gitwire.Fetch{Filter: gitwire.Filter{Kind: gitwire.FilterBlobLimit, Limit: int64(i)}})
				synctest.Wait()
			}
		}
		if s := w.server.Stats().Cache; s.Entries != 200 || s.Flights != 200 || s.Evicted != 50 {
			t.Errorf("%+v", s)
		}
	})
}

// TestTheLastReaderEndsTheProcess, and nobody else.
func TestTheLastReaderEndsTheProcess(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		p := w.paced()
		a, b := w.fetch(t, stranger, &gitwire.Fetch{Version: 2}), w.fetch(t, stranger, &gitwire.Fetch{Version: 2})
		p.pieces <- "piece"
		synctest.Wait()
		a.Close()
		synctest.Wait()
		if len(p.ended) != 0 || w.server.Stats().Cache.Flights != 1 {
			t.Fatal("ended while somebody reads")
		}
		b.Close()
		synctest.Wait()
		if len(p.ended) != 1 || w.server.Stats().Cache.Flights != 0 {
			t.Fatalf("not ended: %+v", w.server.Stats().Cache)
		}
		c := w.fetch(t, stranger, &gitwire.Fetch{Version: 2}) // nothing is left of the one that was ended
		p.pieces <- "whole"
		close(p.pieces)
		if got := c.all(); got != packed("whole") {
			t.Errorf("got %q", got)
		}
	})
}

// TestAProcessWaitsForNoReader: it ends when it has made all, and a client that does not read is ended a minute later.
func TestAProcessWaitsForNoReader(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		began, made := time.Now(), time.Time{}
		w.pack = func(_ context.Context, out io.Writer) error {
			_, err := out.Write(make([]byte, 4<<20))
			made = time.Now()
			return err
		}
		slow, quick := w.fetch(t, stranger, &gitwire.Fetch{Version: 2}), w.fetch(t, stranger, &gitwire.Fetch{Version: 2})
		if got := unpacked(t, quick.all()); len(got) != 4<<20 || time.Since(began) != 0 || !made.Equal(began) {
			t.Errorf("%d bytes after %s", len(got), time.Since(began))
		}
		time.Sleep(59 * time.Second)
		if n := w.server.Stats().Cache.Flights; n != 1 {
			t.Errorf("%d flights while the slow one may read", n)
		}
		time.Sleep(2 * time.Second)
		if n := w.server.Stats().Cache.Flights; n != 0 {
			t.Errorf("%d flights after that", n)
		}
		if got, err := slow.rest(); err == nil {
			t.Errorf("the slow one has all %d bytes", len(got))
		}
	})
}

// TestASlowReaderGetsAll: who reads little by little is not ended for that, within an hour.
func TestASlowReaderGetsAll(t *testing.T) {
	for each, whole := range map[time.Duration]bool{20 * time.Second: true, 45 * time.Second: false} {
		inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
			w.pack = func(_ context.Context, out io.Writer) error {
				_, err := out.Write(make([]byte, 100*64<<10))
				return err
			}
			c := w.fetch(t, stranger, &gitwire.Fetch{Version: 2})
			c.answer()
			var got int64
			for {
				n, err := io.CopyN(io.Discard, c.body, 64<<10)
				got += n
				if err != nil {
					if all := got >= 100*64<<10; all != whole {
						t.Errorf("%d bytes, %v", got, err)
					}
					return
				}
				time.Sleep(each)
			}
		})
	}
}

// TestNothingIsLeftOnDisk: what is sent and kept has no name, so nothing is left of it however the process ends.
func TestNothingIsLeftOnDisk(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, settings{Config: githttp.Config{CacheDir: dir, CacheBytes: 1 << 20}}, func(t *testing.T, w *bubbled) {
		p := w.paced()
		for range 2 {
			c := w.fetch(t, stranger, &gitwire.Fetch{Version: 2})
			p.pieces <- "piece"
			synctest.Wait()
			if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
				t.Errorf("%v, %v", names, err)
			}
			close(p.pieces)
			c.all()
			p.pieces = make(chan string)
		}
		if w.server.Stats().Cache.Entries != 1 {
			t.Error("nothing is kept")
		}
	})
}

// TestNoPlaceForPacks: the client hears that it is this server's fault.
func TestNoPlaceForPacks(t *testing.T) {
	inBubble(t, settings{Config: githttp.Config{CacheDir: filepath.Join(t.TempDir(), "none")}}, func(t *testing.T, w *bubbled) {
		w.says(1)
		for range 2 {
			if got := w.fetch(t, stranger, &gitwire.Fetch{Version: 2}).all(); got != frame("ERR this server could not make the pack: try again later") {
				t.Errorf("got %q", got)
			}
		}
		if got := w.answers(); got != "upload-pack 2 error 2" {
			t.Errorf("counted %s", got)
		}
	})
}
