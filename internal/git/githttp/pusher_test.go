package githttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// commands is a push that creates a branch, in side-band and with a report.
func (w *bubbled) commands() *gitwire.Push {
	return &gitwire.Push{Commands: []gitwire.Command{{Ref: "refs/heads/x", New: w.tip}}, Report: gitwire.ReportStatus, Sideband: true}
}

// send begins a push whose pack is to have so many bytes, of which none is sent. Of a push without any the server does not know that it is small.
func (w *bubbled) send(t testing.TB, from string, p *gitwire.Push, pack int) *client {
	t.Helper()
	body := string(p.AppendTo(nil))
	if pack == 0 {
		return w.begin(t, from, "receive-pack", body, -1)
	}
	return w.begin(t, from, "receive-pack", body, len(body)+pack)
}

// small is a push that the server knows to be small, and of which all is there.
func (w *bubbled) small(t testing.TB, from string) *client {
	t.Helper()
	body := string(w.commands().AppendTo(nil)) + strings.Repeat("x", 60<<10)
	return w.begin(t, from, "receive-pack", body, len(body))
}

func taken(p *gitwire.Push) string { return string(p.AppendReport(nil, "", p.RefuseAll(""))) }

// TestWhoPushesHearsHowItGoes: each line as it comes, something every five seconds, and the report when all is done.
func TestWhoPushesHearsHowItGoes(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			time.Sleep(time.Second)
			p.Progress("one")
			time.Sleep(time.Second)
			p.Progress("two \x1b[31m\u202e")
			time.Sleep(10 * time.Second)
			p.Progress("three")
			return githttp.PushResult{Outcomes: p.Push.RefuseAll(""), Lines: []string{"at last", "indeed"}}
		})
		began := time.Now()
		c, quiet, plain := w.send(t, stranger, w.commands(), 0), w.commands(), w.commands()
		quiet.Quiet, plain.Sideband = true, false
		q, pl := w.send(t, stranger, quiet, 0), w.send(t, stranger, plain, 0)
		for _, want := range []struct {
			text  string
			after int
		}{{"\x02one\n", 1}, {"\x02two \\x1b[31m\\u202e\n", 2}, {"\x02", 5}, {"\x02", 10}, {"\x02three\n", 12}, {"\x02at last\nindeed\n", 12}} {
			if got := c.next(); got != want.text || time.Since(began) != time.Duration(want.after)*time.Second {
				t.Errorf("%q after %s, not %q after %d s", got, time.Since(began), want.text, want.after)
			}
		}
		if got := c.all(); got != taken(w.commands()) {
			t.Errorf("%q", got)
		}
		if got := q.all(); got != "0005\x020005\x02"+frame("\x02at last\nindeed\n")+taken(quiet) {
			t.Errorf("quiet: %q", got)
		}
		if got := pl.all(); got != taken(plain) {
			t.Errorf("without bands: %q", got)
		}
		if s := w.server.Stats(); s.Pushes[githttp.PushTaken] != 3 || w.answers() != "receive-pack 0 upload 3" {
			t.Errorf("%v, %s", s.Pushes, w.answers())
		}
	})
}

// TestMuchProgress: lines that the client does not read are not kept without end.
func TestMuchProgress(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			for range 100_000 {
				p.Progress(strings.Repeat("x", 1000))
			}
			return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
		})
		c := w.send(t, stranger, w.commands(), 0)
		if got := c.all(); !strings.HasSuffix(got, taken(w.commands())) || len(got) > 60<<20 {
			t.Errorf("%d bytes", len(got))
		}
	})
}

// held are pushes that the host takes when it is told to: one of an address, or all.
type held struct {
	of  map[string]chan struct{}
	all chan struct{}
}

func (h *held) one(from string) { h.of[from] <- struct{}{} }

func (w *bubbled) holds(from ...string) *held {
	h := &held{map[string]chan struct{}{}, make(chan struct{})}
	for _, f := range from {
		h.of[f] = make(chan struct{})
	}
	w.decides(func(ctx context.Context, p githttp.PushCall) githttp.PushResult {
		w.called(p.From)
		select {
		case <-h.of[p.From]:
			return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
		case <-h.all:
			return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
		case <-ctx.Done():
			w.called("left")
			return githttp.PushResult{Unpack: "left"}
		}
	})
	return h
}

const (
	waits   = "\x02waiting for other pushes to end\n"
	inVain  = "too many pushes are under way here: try again in a minute"
	another = "198.51.100.8"
)

func refused(p *gitwire.Push, why string) string {
	return frame("\x02"+why+"\n") + string(p.AppendReport(nil, "", p.RefuseAll(why)))
}

// TestPushesWaitForTheirTurn: an address has four at a time; who waits hears so, and after a minute that it was in vain.
func TestPushesWaitForTheirTurn(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		hold, began := w.holds(stranger), time.Now()
		var own []*client
		push := func() *client {
			c := w.send(t, stranger, w.commands(), 1<<20)
			synctest.Wait()
			return c
		}
		for range 6 {
			own = append(own, push())
		}
		other := w.send(t, another, w.commands(), 0)
		synctest.Wait()
		if n, took := w.server.Stats().Waiting, w.took(); n != 2 || strings.Count(took, stranger) != 4 || strings.Count(took, another) != 1 {
			t.Errorf("%d wait, %s", n, took)
		}
		removal := w.commands()
		removal.Commands[0] = gitwire.Command{Ref: "refs/heads/x", Old: w.tip}
		deletes := w.send(t, stranger, removal, 0)
		synctest.Wait()
		if took := w.took(); took != "push "+stranger {
			t.Errorf("a deletion waits: %q", took)
		}
		for _, want := range []string{waits, "\x02"} {
			if got := own[4].next(); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		}
		hold.one(stranger) // to one that runs, so the first of those that wait does
		synctest.Wait()
		if n, took := w.server.Stats().Waiting, w.took(); n != 1 || took != "push "+stranger {
			t.Errorf("%d wait, %q", n, took)
		}
		told := strings.ReplaceAll(own[5].all(), "0005\x02", "")
		if got := told; got != frame(waits)+refused(w.commands(), inVain) || time.Since(began) != time.Minute+20*time.Second { // for the pack
			t.Errorf("%q after %s", got, time.Since(began))
		}
		close(hold.all)
		for _, c := range append(own[:5], other) {
			if got := c.all(); !strings.HasSuffix(got, taken(w.commands())) {
				t.Errorf("%q", got)
			}
		}
		if got := deletes.all(); !strings.HasSuffix(got, taken(removal)) {
			t.Errorf("%q", got)
		}
		if s := w.server.Stats(); s.Pushes[githttp.PushTaken] != 7 || s.Pushes[githttp.PushBusy] != 1 || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestPushesTakeTurns: when all places are taken, who has none goes before who has some, and whoever waits in too long a line hears so
// at once.
func TestPushesTakeTurns(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		hold := w.holds("192.0.2.0")
		push := func(from int) *client {
			c := w.send(t, fmt.Sprint("192.0.2.", from), w.commands(), 0)
			synctest.Wait()
			return c
		}
		for i := range 24 {
			push(i / 4)
		}
		for _, from := range []int{6, 6, 7, 8} {
			push(from)
		}
		third, second := push(6), push(7)
		w.took()
		hold.one("192.0.2.0")
		synctest.Wait()
		if n, took := w.server.Stats().Waiting, w.took(); n != 1 || took != "push 192.0.2.7" {
			t.Errorf("%d wait, %s", n, took)
		}
		for i := range 4 { // places that are for those who have none
			push(10 + i)
		}
		if n := w.server.Stats().Waiting; n != 1 {
			t.Errorf("%d wait", n)
		}
		var last *client
		for range 8 {
			last = push(10)
		}
		if got := push(10).all(); got != refused(w.commands(), inVain) {
			t.Errorf("a ninth that waits: %q", got)
		}
		for i := range 55 {
			push(100 + i)
		}
		push(200) // for which the last one makes room of those of whom most wait
		if got := last.all(); got != frame(waits)+refused(w.commands(), inVain) {
			t.Errorf("a 65th that waits: %q", got)
		}
		close(hold.all)
		for _, c := range []*client{second, third} {
			if got := c.all(); got != frame(waits)+taken(w.commands()) {
				t.Errorf("%q", got)
			}
		}
	})
}

// TestWhoHadTurnsForLongGoesLast: of those who have as many under way.
func TestWhoHadTurnsForLongGoesLast(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		hold := w.holds("192.0.2.1", "192.0.2.101")
		push := func(from int) *client {
			c := w.send(t, fmt.Sprint("192.0.2.", from), w.commands(), 0)
			synctest.Wait()
			return c
		}
		push(1)
		time.Sleep(20 * time.Second)
		hold.one("192.0.2.1")
		synctest.Wait()
		for i := range 32 {
			push(100 + i)
		}
		push(1)
		push(2)
		w.took()
		hold.one("192.0.2.101")
		synctest.Wait()
		if took := w.took(); took != "push 192.0.2.2" {
			t.Errorf("%q", took)
		}
		close(hold.all)
	})
}

// TestTheSlowestMakesRoom: when all places are taken and somebody waits, the push gives way that brings least, of addresses that
// have more under way. One who has brought all stays, and all others do.
func TestTheSlowestMakesRoom(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		whole := make(chan struct{})
		w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			w.called(p.From)
			if _, err := io.Copy(io.Discard, p.Pack); err != nil {
				return githttp.PushResult{Unpack: "index-pack: " + err.Error(), Outcomes: p.Push.RefuseAll("no pack")}
			}
			<-whole
			return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
		})
		const size = 64 << 20
		var all []*client
		for i := range 32 {
			bytes, from := size, fmt.Sprint("192.0.2.", i/4)
			if i >= 28 {
				from = fmt.Sprint("192.0.2.", 100+i)
			}
			if i == 0 {
				bytes = 128 << 10
			}
			all = append(all, w.send(t, from, w.commands(), bytes))
			synctest.Wait()
		}
		all[0].send(strings.Repeat("p", 128<<10))
		ended := make(chan struct{})
		defer close(ended)
		for i, c := range all[1:] { // the later ones bring more, and the last ones least
			piece := 30_000 * (i + 1)
			if i+1 >= 28 {
				piece = 20_000
			}
			if i+1 == 28 {
				piece = 10_000
			}
			go func() {
				for {
					if _, err := c.Write(make([]byte, piece)); err != nil {
						return
					}
					select {
					case <-time.After(5 * time.Second):
					case <-ended:
						return
					}
				}
			}()
		}
		w.took()
		w.send(t, "192.0.2.1", w.commands(), 0) // has four, and makes nobody give way
		time.Sleep(30 * time.Second)
		if n := w.server.Stats().Pushes[githttp.PushBroken]; n != 0 {
			t.Errorf("%d have given way", n)
		}
		began, c := time.Now(), w.send(t, another, w.commands(), 0)
		if got, err := all[28].rest(); err != nil || !strings.Contains(got, "unpack the push is too slow: others wait for their turn, and this one brings least") {
			t.Errorf("%q, %v", got, err)
		}
		synctest.Wait()
		if took := w.took(); took != "push "+another || time.Since(began) != 0 {
			t.Errorf("%q after %s", took, time.Since(began))
		}
		if n := w.server.Stats().Pushes[githttp.PushBroken]; n != 1 {
			t.Errorf("%d have given way", n)
		}
		close(whole)
		if got := c.all(); !strings.HasSuffix(got, taken(w.commands())) {
			t.Errorf("%q", got)
		}
	})
}

// TestNobodyKeepsATurnByTrickling: 32 addresses that bring just what is not too slow keep no turn for long where somebody waits, and one that has
// brought much at once and brings little since goes first. The fast one among them stays.
func TestNobodyKeepsATurnByTrickling(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			w.called(p.From)
			if _, err := io.Copy(io.Discard, p.Pack); err != nil {
				return githttp.PushResult{Unpack: "index-pack: " + err.Error(), Outcomes: p.Push.RefuseAll("no pack")}
			}
			return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
		})
		ended := make(chan struct{})
		defer close(ended)
		var all []*client
		brings := func(i, first, piece int) {
			c := w.send(t, fmt.Sprint("192.0.2.", i), w.commands(), 1<<30)
			all = append(all, c)
			go func() {
				for n := first; ; n = piece {
					if _, err := c.Write(make([]byte, n)); err != nil {
						return
					}
					select {
					case <-time.After(time.Second):
					case <-ended:
						return
					}
				}
			}()
		}
		brings(0, 16<<20, 2<<10)
		brings(1, 1<<20, 1<<20)
		for i := range 30 {
			brings(i+2, 68<<10, 68<<10)
		}
		time.Sleep(90 * time.Second)
		w.took()
		push := func(from string) {
			t.Helper()
			began, c := time.Now(), w.send(t, from, w.commands(), 0)
			if got := c.all(); !strings.HasSuffix(got, taken(w.commands())) || time.Since(began) > time.Second {
				t.Errorf("%s hears %q after %s", from, got, time.Since(began))
			}
		}
		push("198.51.100.1")
		if got, err := all[0].rest(); err != nil || !strings.Contains(got, "this one brings least") {
			t.Errorf("who brought much at once: %q, %v", got, err)
		}
		brings(40, 68<<10, 68<<10)
		synctest.Wait()
		push("198.51.100.2")
		synctest.Wait() // until who gave way is counted
		if n := w.server.Stats().Pushes[githttp.PushBroken]; n != 2 {
			t.Errorf("%d have given way", n)
		}
		if _, err := all[1].Write(nil); err != nil {
			t.Errorf("the fast one: %v", err)
		}
	})
}

// TestASmallPushWaitsForNobody: where others took all turns a moment ago, a push whose whole body is there has one beside them. There are 16, two of an
// address, and who sends little slowly has none.
func TestASmallPushWaitsForNobody(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		busy := make(chan struct{})
		w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			w.called(p.From)
			b, err := io.ReadAll(p.Pack)
			if p.From == "192.0.2.200" {
				<-busy
			}
			if err != nil || string(b) != strings.Repeat("x", 60<<10) {
				return githttp.PushResult{Unpack: "index-pack", Outcomes: p.Push.RefuseAll("no pack")}
			}
			return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
		})
		for i := range 32 {
			w.send(t, fmt.Sprint("192.0.2.", i), w.commands(), 1<<30)
		}
		synctest.Wait()
		began := time.Now()
		for range 3 {
			if got := w.small(t, another).all(); got != taken(w.commands()) || time.Since(began) != 0 {
				t.Errorf("%q after %s", got, time.Since(began))
			}
		}
		for range 2 {
			w.small(t, "192.0.2.200")
		}
		third, unknown, slow := w.small(t, "192.0.2.200"), w.send(t, another, w.commands(), 0), w.send(t, another, w.commands(), 100)
		synctest.Wait()
		if n := w.server.Stats().Waiting; n != 2 {
			t.Errorf("%d wait", n)
		}
		close(busy)
		if got := third.all(); !strings.HasSuffix(got, taken(w.commands())) {
			t.Errorf("the third of an address: %q", got)
		}
		time.Sleep(25 * time.Second)
		if got := unknown.all(); !strings.Contains(got, "no pack") {
			t.Errorf("of unknown length: %q", got)
		}
		if got := slow.all(); !strings.Contains(got, "the push is too slow") {
			t.Errorf("slow: %q", got)
		}
	})
}

// TestSomeTurnsAreForWhoHadFew: addresses that had turns for long take all turns but some, so that another one need not wait.
func TestSomeTurnsAreForWhoHadFew(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			time.Sleep(20 * time.Second)
			return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
		})
		all := func() {
			for i := range 32 {
				w.send(t, fmt.Sprint("192.0.2.", i), w.commands(), 0)
			}
			synctest.Wait()
		}
		all()
		if n := w.server.Stats().Waiting; n != 0 {
			t.Errorf("at first %d wait", n)
		}
		time.Sleep(21 * time.Second)
		all()
		w.send(t, another, w.commands(), 0)
		synctest.Wait()
		if n := w.server.Stats().Waiting; n != 4 {
			t.Errorf("%d wait, and not four of those who had turns", n)
		}
		time.Sleep(21 * time.Second)
		if n := w.server.Stats().Waiting; n != 0 {
			t.Errorf("%d wait where turns are free", n)
		}
		time.Sleep(21 * time.Second)
	})
}

// trickles has the host take packs as they come, and returns how to begin a push of an address that brings so many bytes a second.
func (w *bubbled) trickles(t *testing.T) (brings func(from string, perSecond int) *client) {
	w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
		w.called(p.From)
		if _, err := io.Copy(io.Discard, p.Pack); err != nil {
			return githttp.PushResult{Unpack: "index-pack: " + err.Error(), Outcomes: p.Push.RefuseAll("no pack")}
		}
		time.Sleep(25 * time.Second)
		return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
	})
	return func(from string, perSecond int) *client {
		c := w.send(t, from, w.commands(), 1<<30)
		go func() {
			for {
				if _, err := c.Write(make([]byte, perSecond)); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		synctest.Wait()
		return c
	}
}

// TestANetworkAtItsBoundEndsNobodyElsesPush: who waits as their network has all turns that it may have gains nothing by those of others. A slow push
// of that network gives way to them.
func TestANetworkAtItsBoundEndsNobodyElsesPush(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		brings := w.trickles(t)
		for range 2 {
			brings(another, 4<<10)
		}
		time.Sleep(30 * time.Second)
		var own []*client
		for i := range 16 { // the last one is the slowest, however many seconds its rate is of
			own = append(own, brings(fmt.Sprintf("[2001:db8:1:%d::1]", i/4), 40<<10>>(i/15*2)))
		}
		c := w.send(t, "[2001:db8:1:9::1]", w.commands(), 0)
		time.Sleep(15 * time.Second)
		if n, s := w.server.Stats().Waiting, w.server.Stats(); n != 1 || s.Pushes[githttp.PushBroken] != 0 {
			t.Errorf("%d wait, %d have given way", n, s.Pushes[githttp.PushBroken])
		}
		time.Sleep(7 * time.Second)
		if got, err := own[15].rest(); err != nil || !strings.Contains(got, "this one brings least") {
			t.Errorf("the slowest of the network: %q, %v", got, err)
		}
		if got := c.all(); !strings.HasSuffix(got, taken(w.commands())) {
			t.Errorf("%q", got)
		}
		if n := w.server.Stats().Pushes[githttp.PushBroken]; n != 1 {
			t.Errorf("%d have given way", n)
		}
	})
}

// TestWhoHadTurnsForLongEndsNobodysPush: the turns that are left are for others. Who waits gets one when what they had is long enough ago.
func TestWhoHadTurnsForLongEndsNobodysPush(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		brings := w.trickles(t)
		for i := range 29 {
			brings(fmt.Sprint("192.0.2.", i), 30<<10)
		}
		if got := w.send(t, another, w.commands(), 0).all(); !strings.HasSuffix(got, taken(w.commands())) {
			t.Fatalf("%q", got)
		}
		w.took()
		w.send(t, another, w.commands(), 0)
		time.Sleep(44 * time.Second)
		if s := w.server.Stats(); s.Pushes[githttp.PushBroken] != 0 || s.Waiting != 1 {
			t.Errorf("%d have given way, %d wait", s.Pushes[githttp.PushBroken], s.Waiting)
		}
		time.Sleep(2 * time.Second)
		if s, took := w.server.Stats(), w.took(); s.Pushes[githttp.PushBroken] != 0 || took != "push "+another {
			t.Errorf("%d have given way, %q", s.Pushes[githttp.PushBroken], took)
		}
	})
}

// TestALargePushIsNotEndedForBeingLong: it brings a mebibyte a second for minutes, while addresses begin four short pushes each again and again. When
// another one waits, a push of who had most turns gives way.
func TestALargePushIsNotEndedForBeingLong(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			if _, err := io.Copy(io.Discard, p.Pack); err != nil {
				w.called(p.From)
				return githttp.PushResult{Unpack: "index-pack: " + err.Error(), Outcomes: p.Push.RefuseAll("no pack")}
			}
			return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
		})
		began := time.Now()
		var heard sync.Map
		brings := func(from string, seconds int) {
			c := w.send(t, from, w.commands(), seconds<<20)
			for range seconds {
				if _, err := c.Write(make([]byte, 1<<20)); err != nil || time.Since(began) > 2*time.Minute {
					got, _ := c.rest()
					heard.Store(from, got)
					break
				}
				time.Sleep(time.Second)
			}
			c.Close()
		}
		go brings("203.0.113.9", 600)
		time.Sleep(time.Minute)
		for i := range 27 {
			go func() {
				for time.Since(began) < 2*time.Minute {
					brings(fmt.Sprint("192.0.2.", i/4), 15)
				}
			}()
		}
		time.Sleep(54 * time.Second)
		for i := range 4 { // these have the turns for who had few
			go brings(fmt.Sprint("198.51.100.", i), 600)
		}
		time.Sleep(time.Second)
		w.took()
		waits := time.Now()
		if got := w.send(t, another, w.commands(), 0).all(); !strings.HasSuffix(got, taken(w.commands())) || time.Since(waits) > time.Second {
			t.Errorf("%q after %s", got, time.Since(waits))
		}
		greedy, _, _ := strings.Cut(w.took(), " ")
		time.Sleep(3 * time.Second / 2) // within which that one brings more
		if got, _ := heard.Load(greedy); !strings.HasPrefix(greedy, "192.0.2.") || !strings.Contains(fmt.Sprint(got), "pushes of your network had turns for longest") {
			t.Errorf("%q hears %q", greedy, got)
		}
		time.Sleep(time.Minute)
	})
}

// TestTheOperatorsPushesDoNotGiveWay: however slow they are, and however many.
func TestTheOperatorsPushesDoNotGiveWay(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		brings := w.trickles(t)
		for range 4 {
			brings("127.0.0.1", 10<<10)
		}
		slowest := brings("192.0.2.1", 20<<10)
		for i := range 27 {
			brings(fmt.Sprint("192.0.2.", 2+i), 30<<10)
		}
		time.Sleep(30 * time.Second)
		w.send(t, another, w.commands(), 0)
		if got, err := slowest.rest(); err != nil || !strings.Contains(got, "this one brings least") {
			t.Errorf("%q, %v", got, err)
		}
		if n := w.server.Stats().Pushes[githttp.PushBroken]; n != 1 {
			t.Errorf("%d have given way", n)
		}
	})
}

// TestASlowPush: the pack comes at 16 KiB in 20 seconds, or the push ends. Time in which nobody reads does not count.
func TestASlowPush(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			if _, err := io.Copy(io.Discard, p.Pack); err != nil {
				time.Sleep(time.Second) // that it takes to end
				return githttp.PushResult{Unpack: "index-pack: " + err.Error(), Outcomes: p.Push.RefuseAll("no pack")}
			}
			return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
		})
		const piece = 16 << 10
		steady := w.send(t, stranger, w.commands(), 20*piece)
		slow := w.send(t, stranger, w.commands(), 20*piece)
		began := time.Now()
		steady.send(strings.Repeat(".", piece))
		slow.send(strings.Repeat(".", piece))
		go func() {
			for range 19 {
				time.Sleep(19 * time.Second)
				steady.send(strings.Repeat(".", piece))
			}
		}()
		for range 20 {
			slow.send(strings.Repeat(".", piece/32))
			time.Sleep(time.Second)
		}
		got, err := slow.rest()
		if want := string(w.commands().AppendReport(nil, "the push is too slow: less than 16 KiB came in 20s", w.commands().RefuseAll("no pack"))); err != nil || !strings.HasSuffix(got, want) || time.Since(began) > 22*time.Second {
			t.Errorf("%q, %v after %s", got, err, time.Since(began))
		}
		if got := steady.all(); !strings.HasSuffix(got, taken(w.commands())) {
			t.Errorf("%q", got)
		}
		w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
			time.Sleep(10 * time.Minute)
			_, err := io.Copy(io.Discard, p.Pack)
			return githttp.PushResult{Unpack: fmt.Sprint(err), Outcomes: p.Push.RefuseAll("")}
		})
		c := w.send(t, stranger, w.commands(), 4)
		c.send("pack")
		if got := c.all(); !strings.Contains(got, "unpack <nil>") {
			t.Errorf("%q", got)
		}
		c = w.begin(t, stranger, "receive-pack", "00", 10)
		if got := c.all(); got != frame("ERR the push is too slow: less than 16 KiB came in 20s") {
			t.Errorf("%q", got)
		}
	})
}

// TestAPusherThatLeaves ends what was begun for them, and the host has ended before anything else of the request does.
func TestAPusherThatLeaves(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		left := 0
		w.decides(func(ctx context.Context, p githttp.PushCall) githttp.PushResult {
			_, err := io.Copy(io.Discard, p.Pack)
			if err == nil {
				<-ctx.Done()
			}
			left++
			return githttp.PushResult{Unpack: "left"}
		})
		commands := string(w.commands().AppendTo(nil))
		amid := w.begin(t, stranger, "receive-pack", commands[:20], len(commands)+8)
		synctest.Wait()
		amid.Close()
		synctest.Wait()
		whole := strings.Repeat("p", 128<<10)
		for _, sent := range []string{"", "pack", whole} { // nothing, a part, all of it
			c := w.send(t, stranger, w.commands(), len(whole))
			c.send(sent)
			synctest.Wait()
			c.Close()
			synctest.Wait()
		}
		if left != 3 {
			t.Errorf("%d have ended", left)
		}
		w.holds()
		for range 4 {
			w.send(t, stranger, w.commands(), 0)
			synctest.Wait()
		}
		waiting := w.send(t, stranger, w.commands(), 0)
		waiting.next()
		waiting.Close()
		time.Sleep(5 * time.Second) // when it would have heard something
		synctest.Wait()
		if n := w.server.Stats().Waiting; n != 0 {
			t.Errorf("%d wait", n)
		}
		if left := w.server.Stats().Pushes[githttp.PushLeft]; left < 2 {
			t.Errorf("%d have left", left)
		}
	})
}

// TestAPusherThatDoesNotRead is ended after a minute, with what was begun.
func TestAPusherThatDoesNotRead(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.decides(func(ctx context.Context, p githttp.PushCall) githttp.PushResult {
			for ctx.Err() == nil {
				p.Progress(strings.Repeat("x", 10_000))
				time.Sleep(time.Second / 10)
			}
			w.called("ended")
			return githttp.PushResult{Unpack: "left"}
		})
		w.send(t, stranger, w.commands(), 1<<20)
		time.Sleep(62 * time.Second)
		if took := w.took(); took != "push ended" {
			t.Errorf("%s", took)
		}
	})
}

// TestAFaultOfTheHost: the pusher hears of it.
func TestAFaultOfTheHost(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.panics = 1
		w.decides(func(context.Context, githttp.PushCall) githttp.PushResult { panic("planted") })
		const text = "this server has a fault: try again later"
		if got := w.send(t, stranger, w.commands(), 0).all(); got != string(w.commands().AppendReport(nil, text, w.commands().RefuseAll(text))) {
			t.Errorf("%q", got)
		}
	})
}

// TestCommandsThatCannotBeRead: git shows why, in the band of errors if there are bands.
func TestCommandsThatCannotBeRead(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		id := w.tip.String()
		for _, c := range []struct{ body, want string }{
			{frame("push-cert\x00 report-status side-band-64k") + "0000", "\x03signed pushes are not taken here"},
			{frame(id+" "+id+" refs/heads/x\x00 side-band-64k") + frame(id+" "+id+" refs/heads/x") + "0000", "\x03multiple updates for ref"},
			{frame(id + " x refs/heads/x"), "ERR "},
			{"zzzz", "ERR "},
		} {
			got := w.begin(t, stranger, "receive-pack", c.body, len(c.body)).next()
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%q: %q", c.body, got)
			}
		}
		if n := w.server.Stats().Pushes[githttp.PushUnread]; n != 4 || w.took() != "" {
			t.Errorf("%d counted", n)
		}
	})
}

// TestARefusedPackIsReadWithinBounds: the client has it off its hands, unless it is large or slow.
func TestARefusedPackIsReadWithinBounds(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		for _, size := range []int{10 << 20, 100 << 20} {
			c := w.send(t, stranger, w.commands(), size)
			answer := make(chan string, 1)
			go func() { answer <- c.all() }()
			sent, piece := 0, []byte(strings.Repeat(".", 1<<20))
			var err error
			for sent < size && err == nil {
				var n int
				n, err = c.Write(piece)
				sent += n
			}
			if small := size < 64<<20; small != (err == nil) || !small && (sent < 64<<20 || sent > 66<<20) {
				t.Errorf("%d bytes were read of %d: %v", sent, size, err)
			}
			if got := <-answer; !strings.Contains(got, "nothing is pushed here") {
				t.Errorf("%q", got)
			}
		}
		c := w.send(t, stranger, w.commands(), 1<<20)
		began := time.Now()
		c.all()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(began) > 21*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestWhoPushes: what a push is counted by is what one customer has, and the largest group that this may be part of.
func TestWhoPushes(t *testing.T) {
	for addr, want := range map[string]string{
		"[2001:db8:1:2:3:4:5:6]": "2001:db8:1:2:: of 2001:db8:1::", "[2001:db8:1::7]": "2001:db8:1:: of 2001:db8:1::", "198.51.100.8": "198.51.100.8 of 198.51.100.8",
	} {
		inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
			w.decides(func(_ context.Context, p githttp.PushCall) githttp.PushResult {
				w.called(p.From + " of " + p.Network)
				return githttp.PushResult{Outcomes: p.Push.RefuseAll("")}
			})
			w.send(t, addr, w.commands(), 0).all()
			if got := w.took(); got != "push "+want {
				t.Errorf("%s: %q", addr, got)
			}
		})
	}
}
