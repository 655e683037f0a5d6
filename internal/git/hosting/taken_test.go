package hosting_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/gitrepo/gitfake"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestWhatIsTakenBackIsRefused: a branch that is moved by force, one that is deleted, and a pull request whose event is deleted.
func TestWhatIsTakenBackIsRefused(t *testing.T) {
	t.Parallel()
	w := forContributors(t)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	url := w.cloneURL(repo)
	stays := r.commit("stays")
	moved := r.commit("moved")
	r.must("checkout", "-q", "-b", "side", stays)
	merged := r.must("commit-tree", "-m", "merged", "-p", stays, "HEAD^{tree}")
	deleted := r.must("commit-tree", "-m", "deleted", "-p", stays, "HEAD^{tree}")
	proposed := r.must("commit-tree", "-m", "proposed", "-p", stays, "HEAD^{tree}")
	w.state(1, "tool", now, "refs/heads/main", moved, "refs/heads/side", deleted, "refs/heads/merged", merged)
	r.must("push", url, "main", deleted+":refs/heads/side", merged+":refs/heads/merged")
	pr := w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", proposed}, nostr.Tag{"a", repo.Address()})
	if v := w.publish(pr); !v.OK() {
		t.Fatalf("%+v", v)
	}
	r.must("push", url, proposed+":refs/nostr/"+pr.ID.String())
	w.served(pr)
	fetch := func(id string, given bool) {
		t.Helper()
		for _, version := range []string{"0", "2"} {
			at := w.newRepo()
			if out, err := w.git(at.dir, "-c", "protocol.version="+version, "fetch", "-q", url, id); (err == nil) != given {
				t.Errorf("version %s, %s: %v %s", version, id, err, out)
			}
		}
	}
	for _, id := range []string{moved, deleted, merged, proposed, stays} {
		fetch(id, true)
	}
	next := r.must("commit-tree", "-m", "next", "-p", merged, "HEAD^{tree}")
	w.state(1, "tool", now+1, "refs/heads/main", next)
	r.must("push", "-f", url, next+":main", ":side", ":merged")
	if v := w.publish(w.event(2, now+1, 5, nostr.Tag{"e", pr.ID.String()})); !v.OK() {
		t.Fatalf("%+v", v)
	}
	for _, id := range []string{moved, deleted, proposed} {
		fetch(id, false)
	}
	for _, id := range []string{merged, stays, next} {
		fetch(id, true)
	}
}

// TestEveryRepositoryIsLookedAtOnceADay, in parts of a thousand.
func TestEveryRepositoryIsLookedAtOnceADay(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	var want []string
	for _, d := range []string{"a", "b", "c"} {
		repo, r := w.announce(1, d, now), w.newRepo()
		tip := r.commit(d)
		w.state(1, d, now, "refs/heads/main", tip)
		r.must("push", w.cloneURL(repo), "main")
		want = append(want, repo.Address())
	}
	w.announce(1, "without data", now)
	look, at := w.host.Looking(2), time.Unix(now, 0)
	var got []string
	for range 2 {
		got = append(got, look(at)...)
		at = at.Add(time.Hour)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Fatalf("looked at %q", got)
	}
	if got := look(at.Add(20 * time.Hour)); len(got) > 0 {
		t.Errorf("looked at %q within a day", got)
	}
	if got := look(at.Add(22 * time.Hour)); len(got) != 2 {
		t.Errorf("a day later: looked at %q", got)
	}
}

// TestAllRepositoriesAreLookedAtWithinADay: however many there are.
func TestAllRepositoriesAreLookedAtWithinADay(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	const all = 61
	err := w.door.Exclusively(t.Context(), "", func(turn *ingest.Exclusive) error {
		for n := range all {
			r := refdb.Repository{Of: nip34.Address{Kind: nip34.KindRepository, PubKey: key(1), D: fmt.Sprint(n)}, Dir: refdb.Dir{byte(n + 1)}}
			if err := turn.SetRow(refdb.RowName(r.Of), r.Append(nil)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	look, got := w.host.Looking(1), 0
	for hour := range 23 {
		got += len(look(time.Unix(now, 0).Add(time.Duration(hour) * time.Hour)))
	}
	if got != all {
		t.Errorf("looked at %d within a day, want %d", got, all)
	}
}

// TestPacksLookObjectsUpForAMoment: what a fetch asks for is not kept for that.
func TestPacksLookObjectsUpForAMoment(t *testing.T) {
	var asked []string
	disk := gitfake.New()
	disk.Fail = func(method string, _ gitrepo.ID) error {
		asked = append(asked, method)
		return nil
	}
	w := newWorld(t, hosting.Limits{})
	packs := hosting.New(hosting.Config{Disk: disk, Store: w.store, Service: w.service}).Packs()
	if _, err := packs.Missing(gitrepo.ID{1}.String(), []gitwire.ObjectID{{}}); err != nil || !slices.Equal(asked, []string{"Lacks"}) {
		t.Errorf("%q (%v)", asked, err)
	}
}
