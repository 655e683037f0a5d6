package githttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestWhoWaitsHearsSomething: every five seconds, in the frames that they have, and before there is anything of the pack.
func TestWhoWaitsHearsSomething(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		began := time.Now()
		p := w.paced()
		c := w.fetch(t, stranger, &gitwire.Fetch{Version: 2})
		old := w.fetch(t, stranger, &gitwire.Fetch{Version: 1, Sideband: 1000})
		bare := w.fetch(t, stranger, &gitwire.Fetch{Version: 0})
		hears := func(want string, after time.Duration) {
			t.Helper()
			if got := c.next(); got != want || time.Since(began) != after {
				t.Errorf("after %s: %q, not %q after %s", time.Since(began), got, want, after)
			}
		}
		hears("packfile\n", 5*time.Second)
		hears("\x01", 5*time.Second)
		hears("\x01", 10*time.Second)
		synctest.Wait() // everybody else has heard that, too
		time.Sleep(time.Second)
		p.pieces <- "piece"
		hears("\x01piece", 11*time.Second)
		hears("\x01", 16*time.Second)
		time.Sleep(time.Second)
		p.pieces <- "more"
		close(p.pieces)
		hears("\x01more", 17*time.Second)
		if got := old.all(); got != frame("NAK\n")+"0005\x010005\x01"+frame("\x01piece")+"0005\x01"+frame("\x01more")+"0000" {
			t.Errorf("version 1: %q", got)
		}
		if got := bare.all(); got != frame("NAK\n")+"piecemore" {
			t.Errorf("without frames: %q", got)
		}
	})
}

// TestAFetchTellsHowFarPacksAre: while the data comes to this machine first.
func TestAFetchTellsHowFarPacksAre(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.bringing = "half is here"
		p := w.paced()
		c := w.fetch(t, stranger, &gitwire.Fetch{Version: 2})
		bare := w.fetch(t, stranger, &gitwire.Fetch{Version: 0})
		hears := func(want string) {
			t.Helper()
			if got := c.next(); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		}
		hears("packfile\n")
		hears("\x02half is here\n")
		hears("\x02half is here\n")
		w.mu.Lock()
		w.bringing = ""
		w.mu.Unlock()
		hears("\x01")
		p.pieces <- "piece"
		close(p.pieces)
		hears("\x01piece")
		if got := bare.all(); got != frame("NAK\n")+"piece" {
			t.Errorf("without frames: %q", got)
		}
	})
}

// failing is a git process that fails after it has written something.
func failing(w *bubbled, wrote string, err error) {
	w.pack = func(_ context.Context, out io.Writer) error {
		if _, err := io.WriteString(out, wrote); err != nil {
			return err
		}
		return err
	}
}

// TestAPackThatCannotBeMade: what the client reads then, and that it never takes a part for the whole.
func TestAPackThatCannotBeMade(t *testing.T) {
	const text, busy = "this server could not make the pack: ", "too much is being fetched: try again later"
	died := &gitproc.Error{Command: "git pack-objects", Code: 128, Stderr: "fatal: bad object"}
	memory := &gitproc.Error{Command: "git pack-objects", Ending: gitproc.OutOfMemory}
	for _, c := range []struct {
		what    string
		fetch   gitwire.Fetch
		wrote   string
		err     error
		want    string // "cut" for a connection that is cut
		counted string
	}{
		{"before it began", gitwire.Fetch{Version: 2}, "", died, frame("ERR " + text + "try again later"), "error"},
		{"in the middle", gitwire.Fetch{Version: 2}, "PACK", died, packedAnd("PACK", text+"try again later"), "error"},
		{"for want of memory", gitwire.Fetch{Version: 2}, "PACK", memory, packedAnd("PACK", text+"git ran out of memory"), "error"},
		{"in short frames", gitwire.Fetch{Version: 0, Sideband: 1000}, "PACK", died, frame("NAK\n") + frame("\x01PACK") + frame("\x03"+text+"try again later") + "0000", "error"},
		{"without frames", gitwire.Fetch{Version: 0}, "PACK", died, "cut", "error"},
		{"for a queue that is full", gitwire.Fetch{Version: 2}, "", fmt.Errorf("git: %w", gitproc.ErrBusy), "429 " + busy + "\n", "refused"},
		{"by a fault", gitwire.Fetch{Version: 2}, "PACK", nil, packedAnd("PACK", text+"try again later"), "error"},
		{"by upload-pack, which says why", gitwire.Fetch{Version: 2, Depth: 1}, frame("ERR upload-pack: no"), died, frame("ERR upload-pack: no"), "refused"},
		{"by upload-pack, to us alone", gitwire.Fetch{Version: 2, Depth: 1}, "", died, frame("ERR bad object"), "refused"},
		{"by upload-pack before its pack", gitwire.Fetch{Version: 2, Depth: 1}, frame("shallow-info\n") + "00", died, frame("shallow-info\n") + frame("ERR bad object"), "refused"},
		{"by upload-pack before its pack, in bands", gitwire.Fetch{Version: 2, Depth: 1, SidebandAll: true}, frame("\x01shallow-info\n"), died,
			frame("\x01shallow-info\n") + frame("\x03bad object") + "0000", "refused"},
		{"by upload-pack before its pack, killed", gitwire.Fetch{Version: 2, Depth: 1}, frame("shallow-info\n"), memory,
			frame("shallow-info\n") + frame("ERR "+text+"git ran out of memory"), "error"},
		{"by upload-pack in the middle", gitwire.Fetch{Version: 2, Depth: 1}, frame("shallow-info\n") + "0001" + frame("packfile\n") + frame("\x01PACK"), died, "cut", "error"},
		{"by upload-pack, killed", gitwire.Fetch{Version: 2, Depth: 1}, "", memory, frame("ERR " + text + "git ran out of memory"), "error"},
		{"by upload-pack, for a queue that is full", gitwire.Fetch{Version: 2, Depth: 1}, "", gitproc.ErrBusy, "429 " + busy + "\n", "refused"},
	} {
		inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
			if failing(w, c.wrote, c.err); c.err == nil {
				pack := w.pack
				w.pack = func(ctx context.Context, out io.Writer) error { pack(ctx, out); panic("planted") }
				w.panics = 1
			}
			fetch := c.fetch
			a := w.fetch(t, stranger, &fetch)
			got, err := a.rest()
			if cut := errors.Is(err, io.ErrUnexpectedEOF); cut != (c.want == "cut") || !cut && got != c.want {
				t.Errorf("%s: %q, %v", c.what, got, err)
			}
			synctest.Wait()
			if got := w.answers(); got != fmt.Sprintf("upload-pack %d %s 1", fetch.Version, c.counted) {
				t.Errorf("%s: counted %s", c.what, got)
			}
		})
	}
}

// packedAnd is an answer that ends with an error.
func packedAnd(pack, text string) string {
	return strings.TrimSuffix(packed(pack), "0000") + frame("\x03"+text) + "0000"
}

// TestBusyAfterALongWait: a client that was kept waiting is told in a frame.
func TestBusyAfterALongWait(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.pack = func(context.Context, io.Writer) error {
			time.Sleep(time.Minute)
			return gitproc.ErrBusy
		}
		got := w.fetch(t, stranger, &gitwire.Fetch{Version: 2}).all()
		if !strings.HasSuffix(got, frame("\x03too much is being fetched: try again later")+"0000") {
			t.Errorf("%q", got)
		}
	})
}

// TestProcessesReadWhatIsSettled: no process begins before the files are those of the refs that were shown, and none when they cannot be.
func TestProcessesReadWhatIsSettled(t *testing.T) {
	for _, depth := range []int{0, 1} {
		inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
			w.says(1)
			w.settled = func(context.Context) error { return errors.New("the disk is broken") }
			if got := w.fetch(t, stranger, &gitwire.Fetch{Version: 2, Depth: depth}).all(); !strings.Contains(got, "ERR this server could not") {
				t.Errorf("%q", got)
			}
			go func() { // the client leaves
				time.Sleep(time.Second)
				w.http.Close()
			}()
			w.settled = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
			w.fetch(t, stranger, &gitwire.Fetch{Version: 2, Depth: depth}).rest()
			if got := w.took(); strings.Contains(got, "pack") || strings.Contains(got, "upload") {
				t.Errorf("it took %s", got)
			}
		})
	}
}

// TestWhatUploadPackSays is handed on as it comes, and shared where many ask for the same.
func TestWhatUploadPackSays(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		p := w.paced()
		var all []*client
		for range 3 {
			all = append(all, w.fetch(t, stranger, &gitwire.Fetch{Version: 2, Depth: 1, WantRefs: []string{"refs/heads/trunk"}}))
		}
		other := mustID(t, strings.Repeat("2", 40))
		synctest.Wait()
		first := frame("shallow-info\n") + frame("shallow "+w.tip.String()) + "0001"
		p.pieces <- first
		synctest.Wait()
		if got := all[0].next(); got != "shallow-info\n" {
			t.Errorf("got %q", got)
		}
		alone := []*client{
			w.fetch(t, stranger, &gitwire.Fetch{Version: 2, Haves: []gitwire.ObjectID{other}}), w.fetch(t, stranger, &gitwire.Fetch{Version: 2, Haves: []gitwire.ObjectID{other}}),
		}
		synctest.Wait()
		if took := w.took(); strings.Count(took, "upload") != 3 {
			t.Errorf("it took %s", took)
		}
		close(p.pieces)
		rest := frame("shallow "+w.tip.String()) + "0001"
		if got := all[0].all(); got != rest {
			t.Errorf("got %q", got)
		}
		for _, c := range all[1:] {
			if got := c.all(); got != first {
				t.Errorf("got %q", got)
			}
		}
		for _, c := range alone {
			if got := c.all(); got != "" {
				t.Errorf("got %q", got)
			}
		}
		if got := w.answers(); got != "upload-pack 2 flight 2, upload-pack 2 upload 3" {
			t.Errorf("counted %s", got)
		}
	})
}

// TestAClientThatLeavesEndsItsProcess, in each phase of a fetch.
func TestAClientThatLeavesEndsItsProcess(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		p := w.paced()
		request := string(gitwire.Request{Version: 2, Fetch: &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{w.tip}, Done: true}}.AppendTo(nil))
		part := w.begin(t, stranger, "upload-pack", request[:10], len(request), "Git-Protocol", "version=2")
		synctest.Wait()
		part.Close()
		synctest.Wait()
		slow := w.begin(t, stranger, "upload-pack", request[:10], len(request), "Git-Protocol", "version=2")
		if res := slow.answer(); res.StatusCode != 408 {
			t.Errorf("who sends no more hears %s", res.Status)
		}
		slow.Close()
		for _, depth := range []int{0, 1} {
			before := w.fetch(t, stranger, &gitwire.Fetch{Version: 2, Depth: depth})
			synctest.Wait()
			before.Close()
			synctest.Wait()
			amid := w.fetch(t, stranger, &gitwire.Fetch{Version: 2, Depth: depth})
			p.pieces <- frame("shallow-info\n")
			amid.next()
			amid.Close()
			synctest.Wait()
			if len(p.ended) != 2 {
				t.Errorf("%d ended", len(p.ended))
			}
			for len(p.ended) > 0 {
				<-p.ended
			}
		}
	})
}
