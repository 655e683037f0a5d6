package hosting_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestACopyHasTheRefsOfItsStore: refs that move between the copy of the store and that of the repositories are put back in the copy,
// and what came then needs no place in it.
func TestACopyHasTheRefsOfItsStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	r := w.newRepo()
	first := r.commit("one")
	moves, stays := w.announce(1, "moves", now), w.announce(1, "stays", now)
	for _, e := range []*nostr.Event{moves, stays} {
		w.state(1, e.Tags.D(), now, "refs/heads/main", first)
		r.must("push", w.cloneURL(e), "main")
	}
	w.eventually("the log knows that the files are written", func() bool {
		n := 0
		v := w.store.View()
		defer v.Close()
		if err := v.EachRow(refdb.DuePrefix, "", func(string, []byte) (bool, error) { n++; return true, nil }); err != nil {
			t.Fatal(err)
		}
		return n == 0
	})
	if err := w.store.Copy("copy"); err != nil {
		t.Fatal(err)
	}
	second := r.commit("two")
	w.state(1, "moves", now+1, "refs/heads/other", second)
	r.must("push", w.cloneURL(moves), "main:other", ":main")
	late := w.announce(1, "late", now)
	w.state(1, "late", now, "refs/heads/main", second)
	r.must("push", w.cloneURL(late), "main")
	to := filepath.Join(t.TempDir(), "git")
	if err := w.disk.Copy(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	copied := ok(store.Open(store.Options{Dir: "copy", FS: w.fs, ReadOnly: true}))
	disk := ok(gitrepo.Open(gitrepo.Config{Dir: to}))
	if err := hosting.RefsAsOf(copied, w.store, disk); err != nil {
		t.Fatal(err)
	}
	v := copied.View()
	for _, e := range []*nostr.Event{moves, stays} {
		row := ok(refdb.Read(v, nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: e.Tags.D()}))
		id := gitrepo.ID(row.Dir).String()
		found := ok(filepath.Glob(filepath.Join(to, "*", "*", id)))
		if len(found) != 1 {
			t.Fatalf("%s is in %q", id, found)
		}
		if got := w.refsIn(found[0]); got != first+" refs/heads/main" {
			t.Errorf("%s has %s", e.Tags.D(), got)
		}
		if out, err := w.git(found[0], "fsck", "--full", "--strict"); err != nil || strings.Contains(out, "missing") {
			t.Errorf("%v: %s", err, out)
		}
	}
	v.Close()
	if err := disk.Close(); err != nil {
		t.Error(err)
	}
	if err := copied.Close(); err != nil {
		t.Error(err)
	}
	if got := w.lsRemote(w.cloneURL(moves)); !strings.Contains(got, second+" refs/heads/other") || strings.Contains(got, "refs/heads/main") {
		t.Errorf("the copy has changed what it is a copy of: %s", got)
	}
}

// refsIn are the refs of a repository on disk.
func (w *world) refsIn(dir string) string {
	w.Helper()
	out, err := w.git(dir, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	return out
}
