package gitsync_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// old has the repositories' own URLs on a bootstrap relay.
const old = grasp.RelayURL("wss://old.example.org")

// Whatever an announcement or a pull request names, only the repository's own URL on a bootstrap relay is free of the rule for addresses, also
// where graspd only compares refs.
func TestOnlyARepositorysOwnURLIsImplied(t *testing.T) {
	inWorld(t, gitsync.Config{Bootstrap: []grasp.RelayURL{old}}, func(t *testing.T, w *world) {
		tip, pull := w.Commit("one"), w.Commit("pull")
		repo := w.announce(1, "tool", w.at("a", tip))
		other := w.announce(2, "y", w.at("b", tip))
		w.at("c", pull)
		w.state(1, "tool", store.Live, tip)
		w.state(2, "y", store.Live, tip)
		w.comes(w.event(3, nip34.KindPullRequest, nostr.Tag{"a", addressOf(repo).String()}, nostr.Tag{"c", pull.String()}, nostr.Tag{"clone", "https://c.example.org/r.git"}), store.Live)
		check := func() {
			t.Helper()
			for server, of := range map[string]nip34.Address{"a": addressOf(repo), "b": addressOf(other), "c": addressOf(repo)} {
				w.change(server, func(s *site) {
					if want := grasp.Implied([]grasp.RelayURL{old}, of); len(want) != 1 || !slices.Equal(s.exempt, want) {
						t.Errorf("%s: %q is exempt, want %q; asked %d times", server, s.exempt, want, len(s.asked))
					}
				})
			}
		}
		w.pass(time.Minute)
		check()
		for _, server := range []string{"a", "b"} {
			w.change(server, func(s *site) { s.exempt, s.asked = nil, nil })
		}
		w.pass(2 * time.Hour) // the sweep compares refs
		check()
	})
}

// Who names other paths of a bootstrap relay at a private address keeps nobody from what is there: that these are not dialed says nothing about
// the server.
func TestForbiddenPathsOfABootstrapRelay(t *testing.T) {
	inWorld(t, gitsync.Config{Bootstrap: []grasp.RelayURL{old}}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		forbidden := fmt.Errorf("fetch: %w", publicnet.ErrForbidden)
		w.announce(1, "bait", w.at("old", tip), w.at("private", tip))
		w.change("old", func(s *site) { s.fails = forbidden })
		w.change("private", func(s *site) { s.fails = forbidden })
		w.state(1, "bait", store.Live, tip)
		w.pass(time.Minute)
		if rest := w.sync.Stats().Plan.Resting; rest != 1 || w.asked("old") == 0 || w.asked("private") == 0 {
			t.Errorf("%d servers rest, asked %d and %d times", rest, w.asked("old"), w.asked("private"))
		}
	})
}
