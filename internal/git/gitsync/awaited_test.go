package gitsync_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/gitsync"
)

// awaited are the names of repositories that wait, each with whether the search for it is through.
func (w *world) awaited() (out []string) {
	list, _ := w.sync.Awaited(w.Context())
	for _, x := range list {
		out = append(out, fmt.Sprint(x.Of.D, " ", x.Through))
	}
	return out
}

func TestWhatIsAwaited(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		w.announce(1, "tool", w.at("empty"))
		w.announce(2, "bare", w.at("empty"))
		w.announce(3, "pushed", w.at("empty"))
		w.state(1, "tool", store.Live, tip)
		w.state(3, "pushed", store.Direct, w.Commit("two"))
		w.pass(time.Second)
		if got := fmt.Sprint(w.awaited()); got != "[tool true]" {
			t.Errorf("awaited: %s", got)
		}
		w.change("empty", func(s *site) { s.hangs = true })
		w.pass(time.Minute)
		if got := fmt.Sprint(w.awaited()); got != "[tool false]" {
			t.Errorf("while it is asked again: %s", got)
		}
	})
}

// What answers otherwise than a git server, or may not be asked, is not waited for; what is not reached is.
func TestWhoIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&gitfetch.StatusError{Code: 404}, true}, {&gitfetch.StatusError{Code: 400}, true}, {&gitfetch.StatusError{Code: 429}, false}, {&gitfetch.StatusError{Code: 502}, false},
		{&gitfetch.ProtocolError{Text: "a web page"}, true}, {publicnet.ErrForbidden, true}, {errors.New("connection refused"), false}, {gitfetch.ErrSilent, false},
	} {
		inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
			w.announce(1, "tool", w.at("a"))
			w.change("a", func(s *site) { s.fails = fmt.Errorf("fetch: %w", c.err) })
			w.state(1, "tool", store.Live, w.Commit("one"))
			w.pass(time.Second)
			if got, want := fmt.Sprint(w.awaited()), fmt.Sprint([]string{fmt.Sprint("tool ", c.want)}); got != want {
				t.Errorf("%v: %s, want %s", c.err, got, want)
			}
		})
	}
}

// The search has looked at a change once it knows what that has made missing, also where it makes nothing missing.
func TestUpToWhatWasLooked(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("first")
		repo := w.announce(9, "first", w.at("a", tip))
		w.state(9, "first", store.Live, tip)
		w.pass(2 * time.Second)
		if _, looked := w.sync.Awaited(t.Context()); looked != 0 {
			t.Errorf("before the first look at everything: %d", looked)
		}
		w.pass(time.Minute)
		w.wantServed(true, repo)
		_, at, _, _ := w.store.Changes(0)
		if _, looked := w.sync.Awaited(t.Context()); looked < at {
			t.Errorf("served: looked up to %d of %d", looked, at)
		}
		for i := range 3 {
			w.announce(byte(i+1), "tool", w.at("empty"))
			if i > 0 {
				w.state(byte(i+1), "tool", store.Live, w.Commit(fmt.Sprint(i)))
			}
			_, at, _, _ := w.store.Changes(0)
			w.pass(time.Second)
			if list, looked := w.sync.Awaited(t.Context()); looked < at || len(list) != i {
				t.Errorf("looked up to %d of %d, and found %d", looked, at, len(list))
			}
		}
	})
}
