package gitcheck_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitcheck"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// The refs of a row are what the events say that are stored, whatever has happened to the row; a repair makes them so.
func TestRowsAreWhatTheEventsSay(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(w *world, r *refdb.Repository)
		says string
	}{
		"a branch elsewhere": {func(w *world, r *refdb.Repository) { r.Refs.Refs = refs.Set{{Name: "refs/heads/main", ID: w.pull}} }, "is not what the state"},
		"a branch too many": {func(w *world, r *refdb.Repository) {
			r.Refs.Refs = refs.Set{{Name: "refs/heads/main", ID: w.main}, {Name: "refs/heads/x", ID: w.main}}
		}, "is not what the state"},
		"a branch too few": {func(w *world, r *refdb.Repository) { r.Refs.Refs, r.Refs.Head = nil, "" }, "is not what the state"},
		"HEAD":             {func(w *world, r *refdb.Repository) { r.Refs.Head = "" }, "is not what the state"},
		"HEAD at nothing":  {func(w *world, r *refdb.Repository) { r.Refs.Head = "refs/heads/none" }, "is not what the state"},
		"the author":       {func(w *world, r *refdb.Repository) { r.Refs.Author[0]++ }, "is not what the state"},
		"the time":         {func(w *world, r *refdb.Repository) { r.Refs.CreatedAt += 100 }, "is not what the state"},
		"no state":         {func(w *world, r *refdb.Repository) { r.Refs.Ruling = refs.Ruling{} }, "rules"},
		"a tip elsewhere":  {func(w *world, r *refdb.Repository) { r.Refs.PullRequests[0].Tip = w.main }, "which no event says"},
		"a tip of nothing": {func(w *world, r *refdb.Repository) {
			r.Refs.PullRequests = append(r.Refs.PullRequests, refs.Pull{Stamp: nostr.Stamp{ID: nostr.ID{255, 255, 255}}, Tip: w.main})
		}, "which no event says"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			bad := w.row
			bad.Refs.PullRequests = append(refs.Pulls{}, bad.Refs.PullRequests...)
			test.harm(w, &bad)
			w.batch(func(b *store.Batch) error { return bad.Write(b, false) })
			if err := w.disk.Project(gitrepo.ID(bad.Dir), 0, bad.Shown()); err != nil { // else the files tell
				t.Fatal(err)
			}
			r := w.check()
			found := ""
			for _, p := range r.Problems {
				if strings.Contains(p, test.says) && strings.Contains(p, w.row.Of.String()) {
					found = p
				}
			}
			if found == "" {
				t.Fatalf("%q", r.Problems)
			}
			if done := must(gitcheck.Repair(t.Context(), w.config())); done.Rows != 1 {
				t.Errorf("%+v", done)
			}
			got, due := w.read(w.row.Of)
			if want := w.row.Refs.Ruling; fmt.Sprint(got.Refs.Ruling) != fmt.Sprint(want) || !due || got.Refs.Generation <= bad.Refs.Generation {
				t.Errorf("%+v, due: %v", got, due)
			}
			for _, x := range got.Refs.PullRequests {
				if x.Tip != w.pull {
					t.Errorf("%+v", x)
				}
			}
			w.sound()
		})
	}
}

// What a state named stays when it is deleted, or replaced by one of which not all is here.
func TestRowsOfStatesThatAreGone(t *testing.T) {
	w := newWorld(t)
	w.add(w.event(1, nip34.KindState, nostr.Tag{"d", "proj"}, nostr.Tag{"refs/heads/main", strings.Repeat("1", 40)}))
	w.sound()
	if done := must(gitcheck.Repair(t.Context(), w.config())); done.Rows != 0 {
		t.Errorf("%+v", done)
	}
}

// An update of a pull request may leave it to that one to name the repository.
func TestRowsWithUpdatesOfPullRequests(t *testing.T) {
	w := newWorld(t)
	update := w.event(9, nip34.KindPullRequestUpdate, nostr.Tag{"E", w.row.Refs.PullRequests[0].ID.String()}, nostr.Tag{"c", w.main.String()})
	lone := w.event(9, nip34.KindPullRequestUpdate, nostr.Tag{"E", strings.Repeat("7", 64)}, nostr.Tag{"c", w.main.String()}) // of one that went
	elsewhere := w.event(9, nip34.KindPullRequest, nostr.Tag{"a", "30617:" + strings.Repeat("5", 64) + ":proj"}, nostr.Tag{"c", w.main.String()})
	other := w.event(9, nip34.KindPullRequestUpdate, nostr.Tag{"E", elsewhere.ID.String()}, nostr.Tag{"c", w.main.String()})
	w.add(update, lone, elsewhere, other)
	r := w.row
	has := func(e *nostr.Event) {
		p := must(refs.ReadPullRequest(e))
		p.Repositories = []nip34.Address{r.Of}
		r.Refs = r.Refs.Next(r.Of, refs.Change{PullRequests: []refs.PullRequest{p}})
	}
	has(update)
	has(lone)
	write := func() {
		w.batch(func(b *store.Batch) error { return r.Write(b, false) })
		if err := w.disk.Project(gitrepo.ID(r.Dir), 0, r.Shown()); err != nil {
			t.Fatal(err)
		}
	}
	write()
	w.sound()
	has(other)
	write()
	if got := w.check(); len(got.Problems) != 1 || !strings.Contains(got.Problems[0], other.ID.String()) {
		t.Errorf("%q", got.Problems)
	}
}

// A pull request whose commit is here gets the ref that it lacks, also one that leaves it to another to name the repository; what is not
// here, names another one or is for one that is not announced gets none. A check tells of them, and they are no problem.
func TestRefsThatPullRequestsLack(t *testing.T) {
	w := newWorld(t)
	of, root := w.row.Of.String(), w.row.Refs.PullRequests[0].ID.String()
	lacking := w.event(9, nip34.KindPullRequest, nostr.Tag{"a", of}, nostr.Tag{"c", w.main.String()})
	update := w.event(8, nip34.KindPullRequestUpdate, nostr.Tag{"E", root}, nostr.Tag{"c", w.pull.String()})
	own := w.event(8, nip34.KindPullRequestUpdate, nostr.Tag{"E", root}, nostr.Tag{"a", of}, nostr.Tag{"c", w.main.String()})
	away := w.event(9, nip34.KindPullRequest, nostr.Tag{"a", of}, nostr.Tag{"c", strings.Repeat("7", 40)})
	other := w.event(9, nip34.KindPullRequest, nostr.Tag{"a", "30617:" + strings.Repeat("5", 64) + ":proj"}, nostr.Tag{"c", w.main.String()})
	elsewhere := w.event(9, nip34.KindPullRequestUpdate, nostr.Tag{"E", root}, nostr.Tag{"a", "30617:" + strings.Repeat("5", 64) + ":proj"}, nostr.Tag{"c", w.main.String()})
	bare := w.event(9, nip34.KindPullRequest, nostr.Tag{"a", of})
	w.add(lacking, update, own, away, other, elsewhere, bare)
	if r := w.sound(); r.Unshown != 3 {
		t.Errorf("%+v", r)
	}
	if done := must(gitcheck.Repair(t.Context(), w.config())); done.Tips != 3 || done.Rows+done.Files != 0 || len(done.Problems) != 0 {
		t.Errorf("%+v", done)
	}
	got, due := w.read(w.row.Of)
	want := map[nostr.ID]string{lacking.ID: w.main.String(), update.ID: w.pull.String(), own.ID: w.main.String(), w.row.Refs.PullRequests[0].ID: w.pull.String()}
	for _, x := range got.Refs.PullRequests {
		if want[x.ID] != x.Tip.String() || x.Author == (nostr.PubKey{}) || x.CreatedAt == 0 {
			t.Errorf("%+v", x)
		}
		delete(want, x.ID)
	}
	if len(want) != 0 || !due || fmt.Sprint(got.Refs.Ruling) != fmt.Sprint(w.row.Refs.Ruling) || got.Refs.Generation != w.row.Refs.Generation+1 {
		t.Errorf("%v are lacking, due %v, %+v", want, due, got.Refs)
	}
	if r := w.sound(); r.Unshown != 0 || r.Behind != 1 {
		t.Errorf("%+v", r)
	}
	if done := must(gitcheck.Repair(t.Context(), w.config())); done.Tips != 0 {
		t.Errorf("again: %+v", done)
	}
}

// A commit of which not all is here gets no ref: it would be missing for whoever clones.
func TestARefOfWhatIsNotWhole(t *testing.T) {
	w := newWorld(t)
	lacking := w.event(9, nip34.KindPullRequest, nostr.Tag{"a", w.row.Of.String()}, nostr.Tag{"c", w.commit("third", w.commit("second", w.pull)).String()})
	w.add(lacking)
	id := gitrepo.ID(w.row.Dir)
	tip := must(refs.ReadPullRequest(lacking)).Tip
	pack := w.git(tip.String()+"\n", "pack-objects", "--stdout", "-q")
	w.put(w.path(w.row, "objects/pack"), pack)
	if missing := must(w.disk.Missing(id, []gitwire.ObjectID{tip})); len(missing) != 0 {
		t.Fatal("the commit is not in a pack")
	}
	if done := must(gitcheck.Repair(t.Context(), w.config())); done.Tips != 0 || len(done.Problems) != 0 {
		t.Errorf("%+v", done)
	}
	if got, _ := w.read(w.row.Of); len(got.Refs.PullRequests) != 1 {
		t.Errorf("%+v", got.Refs.PullRequests)
	}
}

// put adds a pack to a directory as no relay does.
func (w *world) put(dir, pack string) {
	w.Helper()
	name := filepath.Join(dir, "pack-"+strings.Repeat("3", 40)+".pack")
	if err := os.WriteFile(name, []byte(pack), 0o600); err != nil {
		w.Fatal(err)
	}
	w.git("", "index-pack", name)
}
