package gitsync_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/histogram"
	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/gitplan"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// An event of another relay names what is not here: it is fetched at once, and served.
func TestWhatARelayBringsIsFetched(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		first := w.Commit("one")
		repo := w.announce(1, "tool", w.at("empty"), w.at("a", first))
		state := w.state(1, "tool", store.Live, first)
		w.wantServed(false, repo, state)
		w.pass(time.Second)
		w.wantServed(true, repo, state)
		if w.asked("empty") != 1 || w.asked("a") != 1 {
			t.Errorf("asked %d and %d times", w.asked("empty"), w.asked("a"))
		}
		second := w.Commit("two", first)
		w.at("a", second)
		next := w.state(1, "tool", store.Live, second)
		w.pass(time.Second)
		w.wantServed(true, next)
		if w.asked("empty") != 1 {
			t.Error("who gave last is not asked first")
		}
		s := w.sync.Stats()
		if s.Fetches != 3 || s.Failed != 0 || s.Brought != 2 || s.Bytes == 0 || s.Plan.Lacking != 0 {
			t.Errorf("%+v", s)
		}
		if list, all := w.sync.Lacking(10); len(list) != 0 || all != 0 {
			t.Errorf("%v lack something", list)
		}
		if x := w.standing(repo); len(x.Lacks) != 0 || len(x.Sources) != 2 || x.Sources[1].Text != "shows no refs" || x.Sources[0].Error+x.Sources[0].Text != "" {
			t.Errorf("%+v", x)
		}
	})
}

// A push is waited for; who pushes is asked nothing in their stead.
func TestAPushIsWaitedFor(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		repo := w.announce(1, "tool", w.at("a", tip))
		state := w.state(1, "tool", store.Direct, tip)
		w.pass(gitplan.PushWithin - time.Second)
		if w.asked("a") != 0 {
			t.Fatal("a push is expected, and others are asked")
		}
		x := w.standing(repo)
		if len(x.Lacks) != 1 || x.Lacks[0].Event != state.ID.String() || x.Lacks[0].Objects != 1 || !x.Lacks[0].Waits || x.Lacks[0].Tip || x.Next <= 0 || x.Next > gitplan.PushWithin {
			t.Errorf("%+v", x)
		}
		w.pass(2 * time.Second)
		w.wantServed(true, repo, state)
	})
}

func TestAPushThatFailed(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		repo := w.announce(1, "tool", w.at("a", tip))
		state := w.state(1, "tool", store.Direct, tip)
		w.pass(time.Second)
		w.pushFails(repo)
		w.pass(time.Second)
		w.wantServed(true, repo, state)
	})
}

// What comes otherwise ends the fetch for it.
func TestWhatComesOtherwiseStopsTheFetch(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		repo := w.announce(1, "tool", w.at("slow"))
		w.change("slow", func(s *site) { s.hangs = true })
		state := w.state(1, "tool", store.Live, tip)
		w.pass(time.Second)
		if x := w.standing(repo); len(x.Sources) != 1 || !x.Sources[0].Fetching {
			t.Fatalf("%+v", x)
		}
		x := ok(w.host.Take(t.Context(), ok(w.host.Lacks(t.Context(), addressOf(repo))), "a push"))
		if err := x.Pack(t.Context(), []gitwire.ObjectID{tip}, strings.NewReader(string(w.Pack(w.All([]gitwire.ObjectID{tip}, nil)))), func(error) {}); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		w.wantServed(true, state)
		if s := w.sync.Stats(); s.Plan.Fetching != 0 || s.Failed != 0 || s.Plan.Resting != 0 {
			t.Errorf("%+v", s)
		}
		if x := w.standing(repo); len(x.Sources) > 0 && x.Sources[0].Error != "" {
			t.Errorf("%+v", x)
		}
	})
}

// A server from which nothing comes for ten seconds has another one asked besides.
func TestASilentServerHoldsNothingUp(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		repo := w.announce(1, "tool", w.at("slow"), w.at("b", tip))
		w.change("slow", func(s *site) { s.hangs = true })
		w.state(1, "tool", store.Live, tip)
		w.pass(9 * time.Second)
		w.wantServed(false, repo)
		w.pass(2 * time.Second)
		w.wantServed(true, repo)
		if s := w.sync.Stats(); s.Plan.Fetching != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestWorkHoldsUpNoServer: while the relay works on what a server has sent, it asks the server for the next repositories, and no other server
// for the same.
func TestWorkHoldsUpNoServer(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		var tips []gitwire.ObjectID
		for i := range 10 {
			tips = append(tips, w.Commit(fmt.Sprint(i)))
		}
		all, works := w.at("a", tips...), make(chan struct{})
		w.change("a", func(s *site) { s.works = works })
		var states []*nostr.Event
		for i := range tips {
			w.announce(byte(i), "tool", all, w.at("b", tips...))
			states = append(states, w.state(byte(i), "tool", store.Live, tips[i]))
		}
		w.pass(15 * time.Second)
		if a, b := w.asked("a"), w.asked("b"); a+b < 8 || a < 6 {
			t.Errorf("asked %d and %d times", a, b)
		}
		// Where the first server had as many requests under way as one gets at once, the other was asked for what the first was not.
		of := map[gitwire.ObjectID]string{}
		for _, name := range []string{"a", "b"} {
			w.change(name, func(s *site) {
				for _, tip := range s.every {
					if of[tip] != "" && of[tip] != name {
						t.Errorf("%s and %s were asked for the same", of[tip], name)
					}
					of[tip] = name
				}
			})
		}
		close(works)
		w.pass(15 * time.Second)
		w.wantServed(true, states...)
	})
}

// The tips of pull requests come from the servers that their own events name.
func TestTipsOfPullRequests(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		base := w.Commit("base")
		repo := w.announce(1, "tool", w.at("a", base))
		w.state(1, "tool", store.Live, base)
		w.pass(time.Second)
		tip := w.Commit("fix", base)
		e := w.comes(w.event(2, nip34.KindPullRequest, nostr.Tag{"c", tip.String()}, nostr.Tag{"a", repo.Address()}, nostr.Tag{"clone", w.at("fork", tip)}), store.Live)
		w.wantServed(false, e)
		w.pass(time.Second)
		w.wantServed(true, e)
		found, is, err := w.host.Find(addressOf(repo))
		if err != nil || !is || len(found.Refs.List) != 2 || found.Refs.List[1].Name != "refs/nostr/"+e.ID.String() || found.Refs.List[1].ID != tip {
			t.Errorf("%+v, %v", found.Refs, err)
		}
		if x := w.standing(repo); len(x.Lacks) != 0 {
			t.Errorf("%+v", x.Lacks)
		}
	})
}

// A server that only a pull request names is asked for its tip alone.
func TestAForkIsAskedForItsTip(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip, main := w.Commit("fix"), w.Commit("main")
		repo := w.announce(1, "tool")
		w.state(1, "tool", store.Live, main)
		e := w.comes(w.event(2, nip34.KindPullRequest, nostr.Tag{"c", tip.String()}, nostr.Tag{"a", repo.Address()}, nostr.Tag{"clone", w.at("fork", tip, main)}), store.Live)
		w.pass(10 * time.Second)
		w.wantServed(true, repo, e)
		w.change("fork", func(s *site) {
			if len(s.asked) != 1 || len(s.wanted) != 1 || len(s.wanted[0]) != 1 || s.wanted[0][0] != tip {
				t.Errorf("asked %d times, for %v", len(s.asked), s.wanted)
			}
		})
	})
}

// A server is asked for few objects at a time that it does not show. Those that it does not have keep nobody else's from coming.
func TestWhatIsLostKeepsNothingElseAway(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		base := w.Commit("base")
		tip := w.Commit("fix", base)
		repo := w.announce(1, "tool", w.at("a", base))
		w.change("a", func(s *site) { s.byID = 4 })
		w.state(1, "tool", store.Live, base)
		w.pass(time.Second)
		pull := func(by byte, tip gitwire.ObjectID) *nostr.Event {
			return w.comes(w.event(by, nip34.KindPullRequest, nostr.Tag{"c", tip.String()}, nostr.Tag{"a", repo.Address()}), store.Live)
		}
		e := pull(2, tip)
		for by := range byte(20) {
			w.pass(time.Second)
			pull(3+by, w.Commit(fmt.Sprint("lost ", by), base))
		}
		w.change("a", func(s *site) { s.has[tip] = true })
		w.pass(2 * time.Hour)
		w.wantServed(true, e)
	})
}

// What comes first is asked for each time, and everything else has its turn.
func TestTurnsOfGroups(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 256} {
		ahead := map[int]bool{}
		for fetch := range uint64(64 * 20) {
			groups := make([]int, n)
			for i := range groups {
				groups[i] = i
			}
			gitsync.InTurn(fetch, groups)
			seen := map[int]bool{}
			for i, g := range groups {
				seen[g] = true
				if i < 4 {
					ahead[g] = true
				}
			}
			if len(seen) != n || n > 1 && (groups[0] != 0 || groups[1] != 1) {
				t.Fatalf("%d groups, fetch %d: %v", n, fetch, groups)
			}
		}
		if len(ahead) != n {
			t.Errorf("of %d groups %d were ever among the first four", n, len(ahead))
		}
	}
}

// A private service tells what it has to those servers alone that announcements name, and fetches from others nevertheless.
func TestWhatIsHereIsToldToNamedServersAlone(t *testing.T) {
	for _, reticent := range []bool{true, false} {
		inWorld(t, gitsync.Config{Reticent: reticent}, func(t *testing.T, w *world) {
			base := w.Commit("base")
			repo := w.announce(1, "tool", w.at("a", base))
			w.state(1, "tool", store.Live, base)
			w.pass(time.Second)
			tip, next := w.Commit("fix", base), w.Commit("next", base)
			e := w.comes(w.event(2, nip34.KindPullRequest, nostr.Tag{"c", tip.String()}, nostr.Tag{"a", repo.Address()}, nostr.Tag{"clone", w.at("fork", tip)}), store.Live)
			w.pass(time.Second)
			w.wantServed(true, e)
			w.at("a", next)
			w.state(1, "tool", store.Live, next)
			w.pass(time.Second)
			w.change("fork", func(s *site) {
				if len(s.told) > 0 == reticent {
					t.Errorf("reticent %v: a server that only a pull request names is told %v", reticent, s.told)
				}
			})
			w.change("a", func(s *site) {
				if len(s.told) == 0 {
					t.Errorf("reticent %v: one that the announcement names is told nothing", reticent)
				}
			})
		})
	}
}

// Whatever is wrong with a server, it is told, and asked again when it may be.
func TestHowServersFail(t *testing.T) {
	status := func(code int, retry time.Duration) error {
		return fmt.Errorf("fetch x: %w", &gitfetch.StatusError{Code: code, RetryAfter: retry})
	}
	for name, tt := range map[string]struct {
		do     func(*site)
		first  time.Duration // that it is left alone at least
		rests  bool
		failed bool
		says   string
	}{
		"404":                {func(s *site) { s.fails = status(404, 0) }, 20 * time.Second, false, true, "HTTP 404"},
		"401":                {func(s *site) { s.fails = status(401, 0) }, 20 * time.Second, false, true, "HTTP 401"},
		"429":                {func(s *site) { s.fails = status(429, 7*time.Minute) }, 7 * time.Minute, true, true, "HTTP 429"},
		"503":                {func(s *site) { s.fails = status(503, 0) }, 20 * time.Second, true, true, "HTTP 503"},
		"500":                {func(s *site) { s.fails = status(500, 0) }, 20 * time.Second, true, true, "HTTP 500"},
		"a private address":  {func(s *site) { s.fails = fmt.Errorf("dial: %w", publicnet.ErrForbidden) }, 20 * time.Second, true, true, publicnet.ErrForbidden.Error()},
		"no answer":          {func(s *site) { s.fails = errors.New("no answer\x00\n" + strings.Repeat("x", 1000)) }, 20 * time.Second, true, true, "no answer"},
		"a broken pack":      {func(s *site) { s.broken = true }, 20 * time.Second, true, true, "cut off"},
		"too busy here":      {func(s *site) { s.fails = gitproc.ErrBusy }, 20 * time.Second, false, true, gitproc.ErrBusy.Error()},
		"nothing that helps": {func(s *site) { s.has = nil }, 20 * time.Second, false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
				tip := w.Commit("one")
				repo := w.announce(1, "tool", w.at("a", tip))
				w.change("a", tt.do)
				w.state(1, "tool", store.Live, tip)
				w.pass(time.Second)
				x := w.standing(repo)
				if len(x.Sources) != 1 || !strings.Contains(x.Sources[0].Error, tt.says) || (x.Sources[0].Error == "") == tt.failed || len(x.Sources[0].Error) > 200 ||
					strings.ContainsAny(x.Sources[0].Error, "\x00\n") || x.Sources[0].At.IsZero() {
					t.Errorf("%+v", x.Sources)
				}
				s := w.sync.Stats()
				if (s.Plan.Resting == 1) != tt.rests || (s.Failed == 1) != tt.failed || w.asked("a") != 1 {
					t.Errorf("asked %d times, %+v", w.asked("a"), s)
				}
				w.pass(tt.first - 2*time.Second)
				if w.asked("a") != 1 {
					t.Fatalf("asked %d times", w.asked("a"))
				}
				w.at("a", tip)
				w.pass(tt.first + time.Minute)
				w.wantServed(true, repo)
			})
		})
	}
}

// A fault in a fetch is contained: its place comes free, and it is tried again.
func TestAFaultInAFetch(t *testing.T) {
	inWorld(t, gitsync.Config{Concurrency: 1}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		repo := w.announce(1, "tool", w.at("a", tip))
		w.change("a", func(s *site) { s.panics = true })
		w.state(1, "tool", store.Live, tip)
		w.pass(time.Second)
		if n, last := w.faults.Seen(); n != 1 || last.In != "a fetch from another git server" {
			t.Errorf("%d faults, %+v", n, last)
		}
		if s := w.sync.Stats(); s.Plan.Fetching != 0 || s.Plan.Resting != 0 {
			t.Errorf("%+v", s)
		}
		w.change("a", func(s *site) { s.panics = false })
		w.pass(time.Minute)
		w.wantServed(true, repo)
	})
}

// What a restart left is found by the first look at everything.
func TestTheFirstSweepFindsWhatIsLacked(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		var repos []*nostr.Event
		for i := range 20 {
			d := fmt.Sprint("tool", i)
			repos = append(repos, w.announce(1, d, w.at("a")), w.state(1, d, store.Live, tip))
		}
		w.pass(time.Second)
		w.end()
		w.start()
		w.at("a", tip)
		w.pass(4 * time.Second)
		w.wantServed(false, repos...)
		w.pass(2 * time.Second)
		w.wantServed(true, repos...)
		if s := w.sync.Stats(); s.Sweeps != 1 || s.Swept != 20 || s.ToSweep != 20 || s.Surveys != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// Once an hour repositories that lack nothing are compared with what other servers advertise.
func TestSurveys(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip, old := w.Commit("one"), w.Commit("old")
		repo := w.announce(1, "tool", w.at("a", tip), w.at("b"), w.at("c"))
		w.change("a", func(s *site) { s.shows.List = []gitwire.Ref{{Name: "refs/heads/main", ID: tip}} })
		w.change("b", func(s *site) {
			s.shows.List = []gitwire.Ref{{Name: "refs/heads/main", ID: old}, {Name: "refs/heads/x", ID: old}}
		})
		w.change("c", func(s *site) { s.fails = &gitfetch.StatusError{Code: 404} })
		w.state(1, "tool", store.Live, tip)
		w.pass(10 * time.Minute)
		if s := w.sync.Stats(); s.Surveys != 0 || s.Sweeps != 1 {
			t.Fatalf("%+v", s)
		}
		w.pass(45 * time.Minute)
		w.announce(2, "empty", "https://d.example.org/r.git") // there is nothing to compare
		w.pass(15 * time.Minute)
		if s := w.sync.Stats(); s.Surveys != 3 || s.Sweeps != 2 {
			t.Fatalf("%+v", s)
		}
		var told []string
		for _, x := range w.standing(repo).Sources {
			told = append(told, x.Host()+": "+x.Error+x.Text)
		}
		want := "a.example.org: |b.example.org: has other commits at 1, has 1 that are not signed for|c.example.org: HTTP 404 Not Found"
		if got := strings.Join(told, "|"); got != want {
			t.Errorf("%s", got)
		}
		if x := w.sync.Status(t.Context()); x.Lacking != 0 || len(x.Worst) != 0 || x.Brought != 1 {
			t.Errorf("%+v", x)
		}
		all := w.sync.Repositories(t.Context())
		if x := all[addressOf(repo).String()]; len(x.Servers) != 3 || len(x.Lacks) != 0 {
			t.Errorf("%+v", all)
		}
	})
}

// A stop in the middle of fetches ends at once, and nothing goes on.
func TestShutdown(t *testing.T) {
	inWorld(t, gitsync.Config{Concurrency: 4}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		for i := range byte(6) {
			server := fmt.Sprint("s", i)
			w.announce(i, "tool", w.at(server))
			w.change(server, func(s *site) { s.hangs = true })
			w.state(i, "tool", store.Live, tip)
		}
		w.pass(12 * time.Second)
		if s := w.sync.Stats(); s.Plan.Fetching < 2 {
			t.Fatalf("%+v", s)
		}
		begun := time.Now()
		w.end()
		synctest.Wait()
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %v", took)
		}
		if w.disk.Open() != 0 {
			t.Errorf("%d quarantines are left", w.disk.Open())
		}
		// Who asks later hears something.
		if s := w.sync.Stats(); s.Plan.Fetching != 0 {
			t.Errorf("%+v", s)
		}
		w.sync.Standing(t.Context(), nip34.Address{})
		w.start()
	})
}

// Who does not want to wait for an answer any more does not.
func TestQuestionsEnd(t *testing.T) {
	s := gitsync.New(gitsync.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if x := s.Standing(ctx, nip34.Address{D: "x"}); x.Of.D != "x" || len(x.Sources) != 0 {
		t.Errorf("%+v", x)
	}
}

// More identifiers than are kept, in the middle of a sweep: all are looked at again.
func TestManyThatAreStirred(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		repo := w.announce(1, "tool", w.at("a"))
		state := w.state(1, "tool", store.Live, tip)
		w.pass(time.Minute)
		w.end()
		w.start()
		w.at("a", tip)
		err := w.door.Exclusively(t.Context(), "", func(x *ingest.Exclusive) error {
			for i := range 10_001 {
				x.Tell(refdb.LacksPrefix + fmt.Sprint("other", i))
			}
			return x.SetRow("something", []byte("else"))
		})
		if err != nil {
			t.Fatal(err)
		}
		w.pass(3 * time.Second)
		w.wantServed(true, repo, state)
	})
}

// Nothing lapses while somebody is being asked for it, from the first moment on; once they have answered it does.
func TestNothingLapsesWhileItIsAskedFor(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip, fix := w.Commit("one"), w.Commit("fix")
		repo := w.announce(1, "tool", w.at("a"))
		state := w.state(1, "tool", store.Live, tip)
		pull := w.comes(w.event(2, nip34.KindPullRequest, nostr.Tag{"c", fix.String()}, nostr.Tag{"a", repo.Address()}), store.Live)
		w.pass(29*time.Minute + 30*time.Second)
		goOn := make(chan struct{})
		answer := sync.OnceFunc(func() { close(goOn) })
		defer answer()
		w.at("a")
		w.change("a", func(s *site) { s.meet = func() { <-goOn } })
		w.pushFails(repo) // it is asked now
		w.pass(10 * time.Minute)
		w.wantWaits(true, repo, state, pull)
		answer()
		w.pass(5 * time.Minute)
		w.wantWaits(false, repo, state, pull)
	})
}

// Of what servers send something is not taken here: whatever else they have comes all the same, and what is not taken never comes along with
// others again, whatever event names it.
func TestWhatIsNotTakenKeepsNothingElseAway(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		repo := w.announce(1, "tool", w.at("a", tip))
		w.state(1, "tool", store.Live, tip)
		w.pass(time.Second)
		w.wantServed(true, repo)
		var fixes []gitwire.ObjectID
		for i := range 8 {
			fixes = append(fixes, w.Commit(fmt.Sprint("fix", i), tip))
		}
		bad := fixes[5]
		w.at("a", fixes...)
		w.change("a", func(s *site) { s.bad = bad })
		pull := func(by byte, c gitwire.ObjectID) *nostr.Event {
			return w.comes(w.event(by, nip34.KindPullRequest, nostr.Tag{"c", c.String()}, nostr.Tag{"a", repo.Address()}), store.Live)
		}
		var pulls []*nostr.Event
		for i, c := range fixes {
			pulls = append(pulls, pull(byte(10+i), c))
		}
		w.pass(10 * time.Second)
		w.wantServed(true, slices.Delete(slices.Clone(pulls), 5, 6)...)
		w.wantServed(false, pulls[5])
		if s := w.sync.Stats(); s.Plan.Resting != 0 || s.Plan.Lacking != 1 {
			t.Errorf("%+v", s)
		}
		n := w.asked("a")
		good := w.Commit("good", tip)
		w.change("a", func(s *site) { s.has[good] = true })
		again := pull(30, bad)
		last := pull(31, good)
		w.pass(10 * time.Second)
		w.wantServed(true, last)
		w.wantServed(false, again)
		if n := w.asked("a") - n; n > 2 {
			t.Errorf("asked %d times, as what is known not to be taken came along", n)
		}
	})
}

// What a server sends is too much to be taken at once, and is in parts.
func TestWhatIsTooMuchAtOnceComesInParts(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		repo := w.announce(1, "tool", w.at("a", tip))
		w.state(1, "tool", store.Live, tip)
		w.pass(time.Second)
		var pulls []*nostr.Event
		var fixes []gitwire.ObjectID
		for i := range byte(8) {
			fixes = append(fixes, w.Commit(fmt.Sprint("fix", i), tip))
			pulls = append(pulls, w.comes(w.event(10+i, nip34.KindPullRequest, nostr.Tag{"c", fixes[i].String()}, nostr.Tag{"a", repo.Address()}), store.Live))
		}
		w.at("a", fixes...)
		w.change("a", func(s *site) { s.most, s.shows = 3, &gitwire.Refs{} })
		w.pushFails(repo)
		w.pass(10 * time.Second)
		w.wantServed(true, pulls...)
	})
}

// A host that failed for long is asked in a moment when the relay that it is as well is connected again.
func TestAHostThatIsThereAgain(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		repo := w.announce(1, "tool", w.at("a", tip))
		w.change("a", func(s *site) { s.fails = errors.New("no route to host") })
		w.state(1, "tool", store.Live, tip)
		w.pass(3 * time.Hour)
		w.comes(w.event(1, nip34.KindRepository, repo.Tags...), store.Direct)
		state := w.state(1, "tool", store.Live, tip)
		w.pass(time.Second)
		w.change("a", func(s *site) { s.fails = nil })
		w.pass(3 * time.Minute)
		w.wantServed(false, state)
		w.connected <- "wss://b.example.org"
		w.pass(10 * time.Second)
		w.wantServed(false, state)
		w.connected <- "wss://a.example.org"
		w.pass(10 * time.Second)
		w.wantServed(true, state)
	})
}

// How long fetches take is counted, by how they end; those that are stopped from here are not.
func TestHowLongFetchesTake(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		tip := w.Commit("one")
		repo := w.announce(1, "tool", w.at("failing"), w.at("a", tip))
		w.change("failing", func(s *site) { s.fails, s.meet = errors.New("planted"), func() { time.Sleep(3 * time.Second) } })
		w.change("a", func(s *site) { s.meet = func() { time.Sleep(7 * time.Second) } })
		state := w.state(1, "tool", store.Live, tip)
		w.pass(time.Minute)
		w.wantServed(true, repo, state)
		var good, bad histogram.Counts
		good.Add(7 * time.Second)
		bad.Add(3 * time.Second)
		if s := w.sync.Stats(); s.Took != good || s.TookFailed != bad {
			t.Errorf("%v, %v", s.Took, s.TookFailed)
		}
		for _, server := range []string{"failing", "a"} {
			w.change(server, func(s *site) { s.hangs, s.meet = true, nil })
		}
		next := w.Commit("two", tip)
		w.state(1, "tool", store.Live, next)
		w.pass(time.Second)
		x := ok(w.host.Take(t.Context(), ok(w.host.Lacks(t.Context(), addressOf(repo))), "a push"))
		if err := x.Pack(t.Context(), []gitwire.ObjectID{next}, bytes.NewReader(w.Pack(w.All([]gitwire.ObjectID{next}, nil))), func(error) {}); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		if s := w.sync.Stats(); s.Plan.Fetching != 0 || s.Took != good || s.TookFailed != bad {
			t.Errorf("one that was stopped counts: %v, %v", s.Took, s.TookFailed)
		}
	})
}
