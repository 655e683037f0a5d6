package githttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/serve/front"
)

// lookup asks for refs with so many prefixes.
func lookup(prefixes int) string {
	q := gitwire.LsRefs{Symrefs: true}
	for i := range prefixes {
		q.Prefixes = append(q.Prefixes, fmt.Sprintf("refs/heads/%06d", i))
	}
	return string(gitwire.Request{Version: 2, LsRefs: &q}.AppendTo(nil))
}

// TestLongRequestsTakeTurns: a request above 16 KiB is parsed while its address has its turn. A short one, and one of another address, is not
// held up.
func TestLongRequestsTakeTurns(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		release := w.front.HoldTurn(stranger)
		ask := func(from string, prefixes int) *client {
			body := lookup(prefixes)
			return w.begin(t, from, "upload-pack", body, len(body), "Git-Protocol", "version=2")
		}
		if got := ask(stranger, 100).all(); !strings.HasSuffix(got, "0000") {
			t.Errorf("a short one: %q", got)
		}
		if got := ask(another, 1000).all(); !strings.HasSuffix(got, "0000") {
			t.Errorf("another address: %q", got)
		}
		long := ask(stranger, 1000)
		synctest.Wait()
		answered := make(chan string, 1)
		go func() { answered <- long.all() }()
		synctest.Wait()
		if len(answered) > 0 {
			t.Fatal("a long one is parsed while another client of its address has the turn")
		}
		release()
		if got := <-answered; !strings.HasSuffix(got, "0000") {
			t.Errorf("a long one: %q", got)
		}
		if n, _ := w.front.Turns(); n != 0 {
			t.Errorf("%d turns are not given back", n)
		}
	})
}

// TestLongRequestsLeaveProcessors: while others' long requests take all their turns, short ones are parsed all the same, and who leaves waits no more.
func TestLongRequestsLeaveProcessors(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		release := w.server.HoldLarge()
		ask := func(prefixes int) *client {
			body := lookup(prefixes)
			return w.begin(t, stranger, "upload-pack", body, len(body), "Git-Protocol", "version=2")
		}
		if got := ask(100).all(); !strings.HasSuffix(got, "0000") {
			t.Errorf("a short one: %q", got)
		}
		long := ask(1000)
		answered := make(chan string, 1)
		go func() { answered <- long.all() }()
		synctest.Wait()
		if len(answered) > 0 {
			t.Fatal("a long one is parsed without a turn")
		}
		release()
		if got := <-answered; !strings.HasSuffix(got, "0000") {
			t.Errorf("a long one: %q", got)
		}
		w.server.HoldLarge()() // every turn is given back
		if n, _ := w.front.Turns(); n != 0 {
			t.Errorf("%d turns of addresses are not given back", n)
		}
	})
}

// TestATurnIsNotKeptForBytesThatAreToCome: a long request that stalls keeps nobody of its address waiting.
func TestATurnIsNotKeptForBytesThatAreToCome(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		body := lookup(2000)
		stalled := w.begin(t, stranger, "upload-pack", body[:40<<10], len(body), "Git-Protocol", "version=2")
		synctest.Wait()
		if n, _ := w.front.Turns(); n != 0 {
			t.Error("the address has its turn while its request does not come")
		}
		other := w.begin(t, stranger, "upload-pack", body, len(body), "Git-Protocol", "version=2")
		if got := other.all(); !strings.HasSuffix(got, "0000") {
			t.Errorf("%q", got)
		}
		stalled.Close()
	})
}

// TestRequestsCostWhatIsInThem: what an address sends counts against its rate before it is parsed, so that it waits when it has used that up.
func TestRequestsCostWhatIsInThem(t *testing.T) {
	push := &gitwire.Push{Report: gitwire.ReportStatus}
	for i := range gitwire.MaxTips {
		push.Commands = append(push.Commands, gitwire.Command{Ref: fmt.Sprintf("refs/nostr/%064x", i), Old: mustID(t, strings.Repeat("1", 40))})
	}
	info := gitwire.ObjectInfo{Size: true}
	fetch := gitwire.Fetch{Version: 2, Done: true, Filter: gitwire.Filter{}}
	for i := range 3000 {
		id := mustID(t, fmt.Sprintf("%040x", i+1))
		info.IDs, fetch.Wants = append(info.IDs, id), append(fetch.Wants, id)
	}
	for _, c := range []struct {
		what, service, body string
		steps               int // at least
	}{
		{"prefixes", "upload-pack", lookup(4000), 8 * 500},
		{"object-info", "upload-pack", string(gitwire.Request{Version: 2, ObjectInfo: &info}.AppendTo(nil)), 8*500 + 3000*2},
		{"wants", "upload-pack", string(gitwire.Request{Version: 2, Fetch: &fetch}.AppendTo(nil)), 8*500 + 3000*2},
		{"tips", "receive-pack", string(push.AppendTo(nil)), 1024 * 20},
	} {
		inBubble(t, settings{front: front.Config{Rates: front.Rates{Requests: 1}}}, func(t *testing.T, w *bubbled) { // 10 at once, then one a second
			w.pack = func(context.Context, io.Writer) error { return gitproc.ErrBusy }
			if c.what == "object-info" {
				w.settled = func(context.Context) error { return errors.New("these are not looked for") }
			}
			began, answered := time.Now(), 0
			for range 12 {
				r := w.begin(t, stranger, c.service, c.body, len(c.body), "Git-Protocol", "version=2")
				r.answer()
				if !strings.Contains(r.all(), "too many requests") {
					answered++
				}
			}
			budget := 10 + time.Since(began).Seconds()
			if cost := 1 + float64(c.steps)/front.StepsPerRequest; answered < 2 || float64(answered-1)*cost > budget {
				t.Errorf("%s: %d were answered for %.1f requests' worth", c.what, answered, budget)
			}
		})
	}
}

// TestALongDebtIsTold: a request whose address has used much more than it may hears so, and when to try again. For a shorter time it waits.
func TestALongDebtIsTold(t *testing.T) {
	inBubble(t, settings{front: front.Config{Rates: front.Rates{Requests: 1}}}, func(t *testing.T, w *bubbled) {
		removal := &gitwire.Push{Report: gitwire.ReportStatus}
		for i := range 20_000 {
			removal.Commands = append(removal.Commands, gitwire.Command{Ref: fmt.Sprintf("refs/heads/%064x", i), Old: mustID(t, strings.Repeat("1", 40))})
		}
		for i := range gitwire.MaxTips - 24 {
			removal.Commands[i].Ref = fmt.Sprintf("refs/nostr/%064x", i)
		}
		small := &gitwire.Push{Report: gitwire.ReportStatus, Commands: removal.Commands[2000:2300]}
		q := gitwire.Request{Version: 2, ObjectInfo: &gitwire.ObjectInfo{Size: true, IDs: []gitwire.ObjectID{w.tip}}}
		bodies := []struct{ service, body string }{
			{"receive-pack", string(small.AppendTo(nil))}, {"upload-pack", lookup(1000)}, {"upload-pack", string(q.AppendTo(nil))}, {"receive-pack", string(small.AppendTo(nil))},
		}
		body := string(removal.AppendTo(nil))
		large := w.begin(t, stranger, "receive-pack", body[:len(body)-4], len(body)) // paid for but for the commands, which are judged when all are here
		time.Sleep(5 * time.Second)
		var began []*client
		for _, b := range bodies {
			began = append(began, w.begin(t, stranger, b.service, "", len(b.body), "Git-Protocol", "version=2"))
		}
		synctest.Wait()
		large.send(body[len(body)-4:])
		large.all()
		for i, b := range bodies {
			if i == 3 {
				time.Sleep(5 * time.Second)
			}
			since := time.Now()
			began[i].send(b.body)
			res := began[i].answer()
			wait, _ := strconv.Atoi(res.Header.Get("Retry-After"))
			text, took := began[i].all(), time.Since(since)
			switch {
			case i < 3 && (res.StatusCode != 429 || wait < 10 || wait > 13 || took > 0 || !strings.Contains(text, fmt.Sprintf("too much in them: try again in %d s", wait))):
				t.Errorf("%d: %s after %s, %d s: %q", i, res.Status, took, wait, text)
			case i == 3 && (res.StatusCode != 200 || took < 2*time.Second || took > 10*time.Second):
				t.Errorf("%d: %s after %s: %q", i, res.Status, took, text)
			}
		}
	})
}

// TestLookingForWhatIsWantedIsPaidFor by the time that it takes.
func TestLookingForWhatIsWantedIsPaidFor(t *testing.T) {
	inBubble(t, settings{}, func(t *testing.T, w *bubbled) {
		w.looks = 20 * time.Second
		w.pack = func(_ context.Context, out io.Writer) error {
			_, err := io.WriteString(out, "PACK")
			return err
		}
		body := string(gitwire.Request{Version: 2, Fetch: &gitwire.Fetch{Version: 2, Wants: []gitwire.ObjectID{w.tip}, Done: true}}.AppendTo(nil))
		ask := func(from string) int {
			return w.begin(t, from, "upload-pack", body, len(body), "Git-Protocol", "version=2").answer().StatusCode
		}
		if first, second, other := ask(stranger), ask(stranger), ask(another); first != 200 || second != 429 || other != 200 {
			t.Errorf("%d, then %d; another address %d", first, second, other)
		}
	})
}
