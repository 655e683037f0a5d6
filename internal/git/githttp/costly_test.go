package githttp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// TestWhoPushesWhatIsMuchWorkWaits: the next pack from its address is refused before it is read, and says when to try again. Others,
// and pushes without a pack, go on.
func TestWhoPushesWhatIsMuchWorkWaits(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		costly := true
		w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			w.called("from " + p.From)
			if costly {
				return githttp.PushResult{Unpack: "a bomb", Outcomes: p.Push.RefuseAll("a bomb"), Costly: true}
			}
			return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
		})
		p := w.commands()
		bomb := func(seconds int) string {
			return frame(fmt.Sprintf("\x02the next pack from your address is taken in %d s\n", seconds)) + string(p.AppendReport(nil, "a bomb", p.RefuseAll("a bomb")))
		}
		tooSoon := func(seconds int) string {
			return refused(p, fmt.Sprintf("the last pack from your address was more work than one may be here: try again in %d s", seconds))
		}
		if got := w.send(t, stranger, p, 0).all(); got != bomb(60) {
			t.Errorf("%q", got)
		}
		costly = false
		w.took()
		time.Sleep(10500 * time.Millisecond)
		c := w.send(t, stranger, p, 0)
		head := c.answer().Header
		if got := c.all(); got != tooSoon(50) || head.Get("Retry-After") != "50" || w.took() != "" {
			t.Errorf("%q, %v", got, head)
		}
		deletion := w.commands()
		deletion.Commands[0] = gitwire.Command{Ref: "refs/heads/x", Old: w.tip}
		if got := w.send(t, stranger, deletion, 0).all(); got != taken(deletion) {
			t.Errorf("a push without a pack: %q", got)
		}
		if got := w.send(t, another, p, 0).all(); got != taken(p) {
			t.Errorf("another address: %q", got)
		}
		if s := w.server.Stats(); s.Pushes[githttp.PushTooSoon] != 1 || s.Pushes[githttp.PushBroken] != 1 || s.Pushes[githttp.PushTaken] != 2 {
			t.Errorf("%v", s.Pushes)
		}
		time.Sleep(50 * time.Second)
		if got := w.send(t, stranger, p, 0).all(); got != taken(p) {
			t.Errorf("a minute later: %q", got)
		}
		costly = true
		if got := w.send(t, stranger, p, 0).all(); got != bomb(120) {
			t.Errorf("once more: %q", got)
		}
	})
}

// TestWhoFetchesWhatIsMuchWorkWaits: the next fetch from its address is refused before git starts, and says when to try again. Others go on, and so
// does who was only unlucky.
func TestWhoFetchesWhatIsMuchWorkWaits(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		fetch := func(from string, depth int) (status int, wait, text string) {
			c := w.fetch(t, from, &gitwire.Fetch{Version: 2, Depth: depth})
			a := c.answer()
			return a.StatusCode, a.Header.Get("Retry-After"), c.all()
		}
		failing(w, "", gitproc.ErrGaveWay)
		for i := range 2 {
			if status, wait, _ := fetch(stranger, 1+i); status != 429 || wait != "10" {
				t.Errorf("gave way: %d, %s", status, wait)
			}
		}
		failing(w, "", &gitproc.Error{Command: "git upload-pack", Ending: gitproc.OutOfMemory, Early: true})
		for i := range 2 { // a wrong guess of the server's
			if status, _, text := fetch(stranger, 10+i); status != 200 || text != frame("ERR this server could not make the pack: try again later") {
				t.Errorf("%d %q", status, text)
			}
		}
		failing(w, "", fmt.Errorf("it: %w", &gitproc.Error{Command: "git upload-pack", Ending: gitproc.OutOfTime}))
		if status, _, text := fetch(stranger, 3); status != 200 || !strings.Contains(text, "ran out of processor time") {
			t.Errorf("%d %q", status, text)
		}
		failing(w, "", &gitproc.Error{Command: "git upload-pack", Ending: gitproc.Exited, Stderr: "fatal: no"})
		time.Sleep(10500 * time.Millisecond)
		status, wait, text := fetch(stranger, 4)
		if status != 429 || wait != "50" || !strings.Contains(text, "more work than one may be here: try again in 50 s") {
			t.Errorf("%d %s %q", status, wait, text)
		}
		if status, _, text := fetch(another, 5); status != 200 || !strings.Contains(text, "ERR no") {
			t.Errorf("another address: %d %q", status, text)
		}
		time.Sleep(50 * time.Second)
		if status, _, text := fetch(stranger, 6); status != 200 || !strings.Contains(text, "ERR no") {
			t.Errorf("a minute later: %d %q", status, text)
		}
	})
}
