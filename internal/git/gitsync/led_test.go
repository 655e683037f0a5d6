package gitsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// strictly makes a server give by id only what it shows: refs in pairs of a name and an id.
func (w *world) strictly(server string, pairs ...any) {
	w.change(server, func(s *site) {
		s.strict, s.shows = true, &gitwire.Refs{Head: "refs/heads/main"}
		for i := 0; i < len(pairs); i += 2 {
			s.shows.List = append(s.shows.List, gitwire.Ref{Name: pairs[i].(string), ID: pairs[i+1].(gitwire.ObjectID)})
		}
	})
}

// What a server withholds by id comes with the branch of the same name, or with the others.
func TestTipsLeadToWhatIsWithheld(t *testing.T) {
	for name, tt := range map[string]struct {
		refs  func(first, second, other gitwire.ObjectID) []any
		asked int
	}{
		"the same branch": {func(_, second, other gitwire.ObjectID) []any {
			return []any{"refs/heads/main", second, "refs/heads/other", other}
		}, 2},
		"another branch": {func(_, second, other gitwire.ObjectID) []any {
			return []any{"refs/heads/main", other, "refs/heads/x", second}
		}, 3},
		"a tag": {func(_, second, other gitwire.ObjectID) []any { return []any{"refs/tags/v1", second} }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
				first := w.Commit("one")
				second, other := w.Commit("two", first), w.Commit("other")
				repo := w.announce(1, "tool", w.at("a", second, other))
				w.strictly("a", tt.refs(first, second, other)...)
				state := w.state(1, "tool", store.Live, first)
				w.pass(time.Second)
				w.wantServed(true, repo, state)
				if n := w.asked("a"); n != tt.asked {
					t.Errorf("asked %d times", n)
				}
				if x := w.standing(repo); len(x.Lacks) != 0 || x.Sources[0].Text+x.Sources[0].Error != "" {
					t.Errorf("%+v", x)
				}
			})
		})
	}
}

// A pull request's commit may come with other pull requests, which are not asked for on account of a branch.
func TestPullRequestsLeadToCommits(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		main := w.Commit("one")
		tip := w.Commit("pull")
		more := w.Commit("more", tip)
		repo := w.announce(1, "tool", w.at("a", main, more))
		w.strictly("a", "refs/heads/main", main, "refs/nostr/"+strings.Repeat("a", 64), more)
		w.state(1, "tool", store.Live, main)
		w.pass(time.Second)
		pull := w.comes(w.event(2, nip34.KindPullRequest, nostr.Tag{"a", addressOf(repo).String()}, nostr.Tag{"c", tip.String()}), store.Live)
		w.pass(time.Minute)
		w.wantServed(true, repo, pull)
	})
}

// What no tip leads to is asked for that way once, until the refs of the server change; status says what was tried, and what the server said.
func TestTipsThatLeadNowhere(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		first, other := w.Commit("one"), w.Commit("other")
		repo := w.announce(1, "tool", w.at("a", other))
		w.strictly("a", "refs/heads/main", other)
		state := w.state(1, "tool", store.Live, first)
		w.pass(time.Second)
		w.wantWaits(true, state)
		text := func() string { return w.standing(repo).Sources[0].Text }
		if got := text(); w.asked("a") != 2 || !strings.Contains(got, "not our ref") || !strings.Contains(got, "what 1 of its refs lead to does not have it") {
			t.Errorf("asked %d times: %s", w.asked("a"), got)
		}
		w.pass(10 * time.Minute)
		var times []int
		w.change("a", func(s *site) { times = append(times, len(s.asked), len(s.wanted)) })
		if times[0] < 3 || !strings.Contains(text(), "the same as then") {
			t.Errorf("asked %d times: %s", times[0], text())
		}
		w.change("a", func(s *site) {
			if slices.ContainsFunc(s.wanted, func(g []gitwire.ObjectID) bool { return slices.Contains(g, other) }) {
				t.Errorf("the same tips are asked for again: %v", s.wanted)
			}
			for _, id := range w.All([]gitwire.ObjectID{first}, nil) {
				s.has[id] = true
			}
			next := w.Commit("two", first)
			for _, id := range w.All([]gitwire.ObjectID{next}, nil) {
				s.has[id] = true
			}
			s.shows.List[0].ID = next
		})
		w.pass(time.Hour)
		w.wantServed(true, repo, state)
	})
}

// A server with many refs is asked for a thousand of them at most, the named ones first.
func TestManyTips(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		first := w.Commit("one")
		second := w.Commit("two", first)
		tips, refs := []gitwire.ObjectID{second}, []any{}
		for i := range 1200 {
			tip := w.Commit(fmt.Sprint(i))
			tips, refs = append(tips, tip), append(refs, fmt.Sprintf("refs/heads/b%d", i), tip)
		}
		repo := w.announce(1, "tool", w.at("a", tips...))
		w.strictly("a", append(refs, "refs/heads/main", w.Commit("elsewhere"), "refs/tags/v1", second)...)
		w.state(1, "tool", store.Live, first)
		w.pass(time.Second)
		w.change("a", func(s *site) {
			if len(s.wanted) != 1 || len(s.wanted[0]) != 1000 {
				t.Errorf("%d groups", len(s.wanted))
			}
		})
		if x := w.standing(repo); !strings.Contains(x.Sources[0].Text, "what 1000 of its refs lead to") {
			t.Errorf("%+v", x)
		}
	})
}
