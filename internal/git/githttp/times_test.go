package githttp_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/histogram"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// counted is what was counted of work that took so many seconds.
func counted(seconds ...int) (c histogram.Counts) {
	for _, s := range seconds {
		c.Add(time.Duration(s) * time.Second)
	}
	return c
}

// TestHowLongPushesTake: each by what became of it, with the wait for its turn.
func TestHowLongPushesTake(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		takes, text := 3*time.Second, ""
		w.decides(func(ctx context.Context, p githttp.PushCall) githttp.PushResult {
			select {
			case <-time.After(takes):
			case <-ctx.Done():
			}
			return githttp.PushResult{Outcomes: p.Push.RefuseAll(text)}
		})
		w.send(t, stranger, w.commands(), 0).all()
		takes, text = 40*time.Second, "no"
		w.send(t, stranger, w.commands(), 0).all()
		leaves := w.send(t, stranger, w.commands(), 0)
		time.Sleep(7 * time.Second)
		leaves.Close()
		synctest.Wait()
		var five []*client
		takes = 10 * time.Second
		for range 5 {
			five = append(five, w.send(t, stranger, w.commands(), 0))
			synctest.Wait()
		}
		for _, c := range five {
			c.all()
		}
		got := w.server.Stats().Pushed
		for o, want := range map[githttp.Outcome]histogram.Counts{
			githttp.PushTaken: counted(3), githttp.PushRefused: counted(40, 10, 10, 10, 10, 20), githttp.PushLeft: counted(7), githttp.PushNothing: {},
		} {
			if got[o] != want {
				t.Errorf("%s: %v, not %v", o, got[o], want)
			}
		}
	})
}

// TestHowLongFetchesTake: the making of a pack counts once, what each client is sent for each of them, when it was sent whole.
func TestHowLongFetchesTake(t *testing.T) {
	inBubble(t, settings{Config: githttp.Config{CacheBytes: 1 << 20}}, func(t *testing.T, w *bubbled) {
		w.settled = func(context.Context) error { time.Sleep(time.Second); return nil } // as a wait for a process would
		w.pack = func(_ context.Context, out io.Writer) error {
			time.Sleep(3 * time.Second)
			_, err := io.WriteString(out, "a pack")
			return err
		}
		first := w.fetch(t, stranger, &gitwire.Fetch{Version: 2})
		time.Sleep(2 * time.Second)
		second := w.fetch(t, another, &gitwire.Fetch{Version: 2})
		leaves := w.fetch(t, another, &gitwire.Fetch{Version: 2})
		synctest.Wait()
		leaves.Close()
		first.all()
		second.all()
		w.fetch(t, another, &gitwire.Fetch{Version: 2}).all()
		w.pack = func(_ context.Context, out io.Writer) error {
			time.Sleep(8 * time.Second)
			_, err := io.WriteString(out, packed("a pack"))
			return err
		}
		w.fetch(t, another, &gitwire.Fetch{Version: 2, Haves: []gitwire.ObjectID{w.tip}, Wants: []gitwire.ObjectID{mustID(t, "2222222222222222222222222222222222222222")}}).all()
		synctest.Wait()
		s := w.server.Stats()
		for a, want := range map[githttp.Answer][2]histogram.Counts{
			githttp.FromPack: {counted(4), counted(4)}, githttp.FromFlight: {{}, counted(2)}, githttp.FromCache: {{}, counted(0)}, githttp.FromUpload: {counted(9), counted(10)},
			githttp.FromLog: {},
		} {
			if s.Made[a] != want[0] || s.Given[a] != want[1] {
				t.Errorf("%s: made %v, given %v, not %v", a, s.Made[a], s.Given[a], want)
			}
		}
	})
}

// TestWhatCouldNotBeMadeHasNoDuration of a pack.
func TestWhatCouldNotBeMadeHasNoDuration(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.pack = func(context.Context, io.Writer) error { time.Sleep(time.Second); return io.ErrUnexpectedEOF }
		w.fetch(t, stranger, &gitwire.Fetch{Version: 2}).all()
		if s := w.server.Stats(); s.Made[githttp.FromPack].Sum+s.Given[githttp.FromPack].Sum != 0 {
			t.Errorf("%+v", s)
		}
	})
}
