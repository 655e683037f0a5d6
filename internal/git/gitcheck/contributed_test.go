package gitcheck_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitcheck"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// contribute makes the place of a contributor, with a pull request for a repository that is elsewhere.
func (w *world) contribute() refdb.Repository {
	w.Helper()
	const service = "relay.example.org"
	author := nostr.PubKey{9}
	of := grasp.Contributed(author, "proj")
	elsewhere := nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{8}, D: "proj"}
	pull := w.event(9, nip34.KindPullRequest, nostr.Tag{"a", elsewhere.String()}, nostr.Tag{"c", w.pull.String()},
		nostr.Tag{"clone", must(grasp.ParseService(service)).ContributedURL(author, "proj")})
	r := refdb.Repository{Of: of, Dir: refdb.Dir{0xab, 0xcd, 15: 7}}
	p := must(refs.ReadPullRequest(pull))
	p.Repositories = append(p.Repositories, of)
	r.Refs = r.Refs.Next(of, refs.Change{Members: &grasp.Set{}, PullRequests: []refs.PullRequest{p}})
	w.admit(gitrepo.ID(r.Dir), w.pull)
	if err := w.disk.Project(gitrepo.ID(r.Dir), 0, r.Shown()); err != nil {
		w.Fatal(err)
	}
	w.add(pull)
	w.batch(func(b *store.Batch) error { return r.Write(b, false) })
	return r
}

// TestAContributorsPlace: a whole one is sound, and of one whose files are gone it is said what is lost.
func TestAContributorsPlace(t *testing.T) {
	w := newWorld(t)
	r := w.contribute()
	if got := w.sound(); got.Repositories != 2 || got.Refs != 3 {
		t.Errorf("%+v", got)
	}
	if done := must(gitcheck.Repair(t.Context(), w.config())); done.Rows+done.Files+done.Tips+done.Found != 0 || len(done.Problems) > 0 {
		t.Errorf("a repair of what is sound: %+v", done)
	}
	if err := errors.Join(w.disk.Remove(gitrepo.ID(r.Dir)), os.RemoveAll(w.path(r))); err != nil {
		t.Fatal(err)
	}
	if got := w.check(); len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "there is no such directory") {
		t.Errorf("%q", got.Problems)
	}
	name := r.Refs.PullRequests[0].Name()
	if done := must(gitcheck.Repair(t.Context(), w.config())); len(done.Problems) != 1 || !strings.Contains(done.Problems[0], "data is missing of "+name) {
		t.Errorf("%q", done.Problems)
	}
	left, _ := w.read(r.Of)
	if len(left.Refs.PullRequests) != 0 || !left.Dir.IsZero() || left.Gone != 0 || left.Refs.Generation == 0 {
		t.Errorf("%+v", left) // with that row, a relay looks for what is lost
	}
	w.sound()
}
