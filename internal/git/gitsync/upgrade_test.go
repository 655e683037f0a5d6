package gitsync_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// The events of a thousand repositories are served and nothing of their git data is here, as after an upgrade: all of it comes by itself,
// from servers that are asked so much in vain and no more, while the log and the status tell how far it has come.
func TestAThousandRepositoriesAfterAnUpgrade(t *testing.T) {
	var log bytes.Buffer
	inWorld(t, gitsync.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(t *testing.T, w *world) {
		w.end()
		w.ungit = true // its events came before it hosted anything
		w.start()
		all := 1000
		if testing.Short() {
			all = 200
		}
		var states []*nostr.Event
		tips := map[string][]gitwire.ObjectID{}
		for i := range all {
			by, d := byte(i%25), fmt.Sprint("tool", i)
			tip := w.Commit(d)
			has, other := fmt.Sprint("s", i%5), fmt.Sprint("s", (i+1+i/5%4)%5)
			tips[has] = append(tips[has], tip)
			w.announce(by, d, "https://"+other+".example.org/r.git", "https://"+has+".example.org/r.git")
			states = append(states, w.state(by, d, store.Live, tip))
		}
		for server, list := range tips {
			w.at(server, list...)
			w.change(server, func(s *site) { s.meet = func() { time.Sleep(50 * time.Millisecond) } })
		}
		w.pass(time.Minute)
		w.wantServed(true, states...)
		w.end()
		w.ungit = false
		w.start()
		w.pass(5*time.Second + 500*time.Millisecond)
		if s := w.sync.Status(t.Context()); s.ToLook != int64(all) || s.Looked == 0 || s.Lacking == 0 || len(s.Worst) == 0 {
			t.Errorf("half a second after it began: %+v", s)
		}
		w.pass(55 * time.Second)
		between := w.sync.Stats()
		for n := 0; w.sync.Stats().Plan.Lacking > 0; n++ {
			if n == 60 {
				t.Fatalf("after an hour: %+v", w.sync.Stats())
			}
			w.pass(time.Minute)
		}
		s := w.sync.Stats()
		if s.Brought != uint64(all) || s.Failed != 0 || between.Brought == 0 {
			t.Errorf("%+v, and after a minute %+v", s, between)
		}
		for _, server := range []string{"s0", "s1", "s2", "s3", "s4"} {
			w.change(server, func(x *site) { at(t, server, x, len(tips[server])) })
		}
		if n := strings.Count(log.String(), "git data from other servers completed events that waited"); n == 0 || n > 60 || !strings.Contains(log.String(), fmt.Sprint("count=", all, " left=0")) {
			t.Errorf("%d lines tell how far it has come:\n%s", n, log.String())
		}
	})
}

// at checks how often a server was asked: for each repository that it has once, and 120 requests at once and 60 a minute besides, of which a
// fetch counts as three.
func at(t *testing.T, server string, s *site, has int) {
	t.Helper()
	minutes := (s.asked[len(s.asked)-1] - s.asked[0]).Minutes()
	if vain := len(s.asked) - has; float64(vain*3) > 120+60*minutes+12*float64(has)+40 {
		t.Errorf("%s is asked %d times in vain in %.0f minutes", server, vain, minutes)
	}
}

// Where there are more repositories than can be compared with what others advertise within an hour, they take turns.
func TestManySurveysTakeTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("four hours of 500 repositories")
	}
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		const all = 500
		tip := w.Commit("one")
		w.at("first", tip)
		url := func(i int) string { return fmt.Sprintf("https://a.example.org/%d.git", i) }
		for i := range all {
			d := fmt.Sprint("tool", i)
			w.mu.Lock()
			w.sites[url(i)] = &site{has: w.sites["https://first.example.org/r.git"].has, shows: &gitwire.Refs{}}
			w.mu.Unlock()
			w.announce(byte(i%25), d, url(i))
			w.state(byte(i%25), d, store.Live, tip)
		}
		w.pass(2 * time.Minute)
		for i := range all {
			if s := w.sites[url(i)]; len(s.asked) == 0 {
				t.Fatalf("%d is not complete: %+v", i, w.sync.Stats())
			}
		}
		before := w.sync.Stats().Surveys
		w.pass(70 * time.Minute)
		if n := w.sync.Stats().Surveys - before; n == 0 || n > all-100 {
			t.Fatalf("%d surveys in the first hour", n)
		}
		w.pass(3 * time.Hour)
		never := 0
		for i := range all {
			if s := w.sites[url(i)]; len(s.asked) < 2 {
				never++
			}
		}
		if never > 0 {
			t.Errorf("%d of %d were compared with nothing in four hours", never, all)
		}
	})
}
