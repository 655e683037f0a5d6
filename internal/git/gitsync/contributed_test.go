package gitsync_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitfetch"
	"github.com/graspd/graspd/internal/git/githttp"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/gitsync"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// A contributor's place whose files are lost is completed from the other servers that the pull request names.
func TestAContributorsPlaceThatIsLost(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		w.end()
		w.prs = true
		w.start()
		tip := w.Commit("a fix")
		place := grasp.Contributed(author(2), "tool")
		e := w.comes(w.event(2, nip34.KindPullRequest, nostr.Tag{"c", tip.String()}, nostr.Tag{"a", "30617:" + author(9).String() + ":tool"},
			nostr.Tag{"clone", w.service.ContributedURL(author(2), "tool"), w.at("b", tip)}), store.Direct)
		if r := w.host.Push(t.Context(), githttp.PushCall{Of: place, From: "192.0.2.1", Progress: func(string) {},
			Push: &gitwire.Push{Commands: []gitwire.Command{{Ref: refs.TipName(e.ID), New: tip}}},
			Pack: bytes.NewReader(w.Pack(w.All([]gitwire.ObjectID{tip}, nil)))}); r.Unpack != "" || r.Outcomes[0].Refused != "" {
			t.Fatalf("%+v", r)
		}
		w.wantServed(true, e)
		row := func() refdb.Repository {
			v := w.store.View()
			defer v.Close()
			return ok(refdb.Read(v, place))
		}
		w.pass(2 * time.Hour)
		if w.asked("b") != 0 {
			t.Error("a whole place is completed")
		}
		if err := w.disk.Remove(gitrepo.ID(row().Dir)); err != nil {
			t.Fatal(err)
		}
		w.change("b", func(s *site) { s.fails = &gitfetch.StatusError{Code: 500} })
		w.pass(65 * time.Minute)
		if w.asked("b") == 0 {
			t.Fatal("nobody is asked for it")
		}
		w.change("b", func(s *site) { s.fails = nil })
		w.pass(65 * time.Minute)
		r := row()
		if missing := ok(w.disk.Missing(gitrepo.ID(r.Dir), []gitwire.ObjectID{tip})); len(missing) > 0 {
			t.Error("it has not come back")
		}
		if r.Refs.PullRequests.Get(refs.TipName(e.ID)) != tip || w.disk.Refs(gitrepo.ID(r.Dir)) == nil {
			t.Errorf("it shows %+v", r.Refs)
		}
	})
}

// A pull request that waits at its signer's place is fetched from the other servers that it names, unless an announced repository here waits
// for it too: that one gets it, as those of the announced are never brought to the place.
func TestAPullRequestThatWaitsAtAContributorsPlace(t *testing.T) {
	inWorld(t, gitsync.Config{}, func(t *testing.T, w *world) {
		w.end()
		w.prs = true
		w.start()
		tip, other, never := w.Commit("a fix"), w.Commit("another"), w.Commit("that nobody has")
		place := grasp.Contributed(author(2), "tool")
		contribution := func(tip, has gitwire.ObjectID, elsewhere string) *nostr.Event {
			return w.event(2, nip34.KindPullRequest, nostr.Tag{"c", tip.String()}, nostr.Tag{"a", "30617:" + author(9).String() + ":tool"},
				nostr.Tag{"clone", w.service.ContributedURL(author(2), "tool"), w.at(elsewhere, has)})
		}
		row := func() refdb.Repository {
			v := w.store.View()
			defer v.Close()
			return ok(refdb.Read(v, place))
		}
		one := w.comes(contribution(tip, tip, "b"), store.Direct)
		w.pass(2 * time.Minute)
		if w.asked("b") != 0 {
			t.Error("nobody waits for the signer's push")
		}
		w.pass(2 * time.Minute)
		w.wantServed(true, one)
		if r := row(); r.Refs.PullRequests.Get(refs.TipName(one.ID)) != tip || w.disk.Refs(gitrepo.ID(r.Dir)) == nil {
			t.Errorf("the place shows %+v", r.Refs)
		}
		two, lost := w.comes(contribution(other, other, "c"), store.Direct), w.comes(contribution(never, tip, "d"), store.Direct)
		w.pass(10 * time.Minute)
		w.wantServed(true, two)
		w.wantServed(false, lost)
		if r := row(); len(r.Refs.PullRequests) != 2 {
			t.Errorf("the place shows %+v", r.Refs)
		}
		asked := w.asked("d")
		w.pass(3 * time.Hour)
		if more := w.asked("d") - asked; asked == 0 || more > 40 {
			t.Errorf("what lapsed was asked for %d times, and %d times later", asked, more)
		}
	})
}
