package hosting_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestSeveralTipsInOnePush(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(repo), "main")
	tip := r.commit("one")
	r.must("checkout", "-q", "-b", "other", base)
	other := r.commit("other")
	pr := func(commit string) *nostr.Event {
		return w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", commit}, nostr.Tag{"a", repo.Address()})
	}
	first, second := pr(tip), pr(other)
	name := func(e *nostr.Event) string { return "refs/nostr/" + e.ID.String() }
	r.must("push", w.cloneURL(repo), tip+":"+name(first), other+":"+name(second))
	if v := w.publish(second); !v.OK() {
		t.Fatalf("%+v", v)
	}
	w.eventually("the second tip is served", func() bool { return strings.Contains(w.lsRemote(w.cloneURL(repo)), other+" "+name(second)) })
	stranger, _ := w.clone(w.cloneURL(repo))
	if out, err := w.git(stranger.dir, "fetch", w.cloneURL(repo), tip); err == nil {
		t.Errorf("what nobody signed for came with it:\n%s", out)
	}
	if v := w.publish(first); !v.OK() {
		t.Fatalf("%+v", v)
	}
	w.eventually("the first tip is served", func() bool { return strings.Contains(w.lsRemote(w.cloneURL(repo)), tip+" "+name(first)) })
	w.served(first, second)
	stranger.must("fetch", "-q", w.cloneURL(repo), name(first))
	w.eventually("nothing waits on disk", func() bool {
		left, err := filepath.Glob(filepath.Join(w.dir, "incoming", "*"))
		return err == nil && len(left) == 0
	})
}

func TestUploadsOnTheirOwn(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	w.state(1, "tool", now, "refs/heads/main", tip)
	r.fails("push commits for events that are still to come on their own", "push", w.cloneURL(repo), "main", tip+":refs/nostr/"+strings.Repeat("0a", 32))
	r.must("push", w.cloneURL(repo), "main")
}

func TestPacksThatAreNone(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	blob := r.must("hash-object", "-w", "file")
	raw, err := hex.DecodeString(blob)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "tree"), append([]byte("100644 .git\x00"), raw...), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := r.must("commit-tree", "-m", "bad", "-p", tip, r.must("hash-object", "-t", "tree", "--literally", "-w", "tree"))
	state := w.state(1, "tool", now, "refs/heads/main", bad)
	r.fails("hasDotgit", "push", w.cloneURL(repo), bad+":refs/heads/main")
	w.waits(repo, state)
	if got, err := os.ReadDir(filepath.Join(w.dir, "incoming")); err != nil || len(got) != 0 {
		t.Errorf("left behind: %v, %v", got, err)
	}
}

func TestPacksAreCombined(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	for i := range int64(3) {
		tip := r.commit("commit " + strings.Repeat("i", int(i+1)))
		w.state(1, "tool", now+i, "refs/heads/main", tip)
		r.must("push", w.cloneURL(repo), "main")
	}
	packs := func() int {
		found, err := filepath.Glob(filepath.Join(w.dir, "??", "??", "*", "objects", "pack", "*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	if packs() != 3 {
		t.Fatalf("%d packs", packs())
	}
	for i := range 3 {
		out, err := w.git(w.TempDir(), "clone", "-q", "--depth", string(rune('1'+i)), w.cloneURL(repo), ".")
		if err != nil {
			t.Fatal(out)
		}
		if out, err := w.git(w.TempDir(), "clone", "-q", "--filter=blob:none", "--no-checkout", w.cloneURL(repo), "."); err != nil {
			t.Fatal(out)
		}
	}
	w.eventually("the packs are combined", func() bool { return w.host.Stats().Combined > 0 && packs() == 1 })
	w.clone(w.cloneURL(repo))
}

func TestADamagedRepositoryHoldsUpNobody(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	first := r.commit("one")
	w.state(1, "tool", now, "refs/heads/main", first)
	r.must("push", w.cloneURL(repo), "main")
	second := r.commit("two")
	state := w.state(1, "tool", now+1, "refs/heads/main", second)
	r.must("push", w.cloneURL(repo), "main")
	w.served(state)
	w.damaged.Store(true)
	again := w.state(1, "tool", now+2, "refs/heads/main", first)
	other := w.announce(2, "other", now)
	w.waits(again, other)
	if got := w.lsRemote(w.cloneURL(repo)); got != lines(second, "HEAD", second, "refs/heads/main") {
		t.Errorf("refs\n%s", got)
	}
}

// What was pushed before its event counts as what was pushed after it, and is not taken where there is no room for it.
func TestBoundsOfUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{Repository: 80_000})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(repo), "main")
	upload := func(name string) *nostr.Event {
		r.must("checkout", "-q", "--orphan", name)
		if err := os.WriteFile(filepath.Join(r.dir, "noise"), []byte(noise(50_000+len(name))), 0o600); err != nil {
			t.Fatal(err)
		}
		tip := r.commit(name)
		e := w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", tip}, nostr.Tag{"a", repo.Address()})
		r.must("push", w.cloneURL(repo), tip+":refs/nostr/"+e.ID.String())
		return e
	}
	first, second, third := upload("a"), upload("bb"), upload("ccc")
	for i, e := range []*nostr.Event{first, second} {
		w.publish(e)
		w.eventually("it is served", func() bool { return strings.Contains(w.lsRemote(w.cloneURL(repo)), e.ID.String()) })
		if _, bytes, err := w.host.Kept(); err != nil || bytes < int64(i+1)*30_000 {
			t.Errorf("after %d of them %d bytes count (%v)", i+1, bytes, err)
		}
	}
	w.publish(third)
	w.eventually("it is told", func() bool { return len(ok(w.host.Status()).Refused) > 0 })
	if got := ok(w.host.Status()).Refused[0]; !strings.Contains(string(got.Reason), "the repository would have") {
		t.Errorf("%+v", got)
	}
	w.waits(third)
}

// TestFilesOfRefsDoNotWaitForUploads: while the proof of an upload takes long, the files of another repository's refs are written.
func TestFilesOfRefsDoNotWaitForUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(repo), "main")
	tip := r.commit("one")
	r.must("checkout", "-q", "-b", "other", base)
	other := r.commit("other")
	pr := func(commit string) *nostr.Event {
		return w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", commit}, nostr.Tag{"a", repo.Address()})
	}
	first, second := pr(tip), pr(other)
	r.must("push", w.cloneURL(repo), tip+":refs/nostr/"+first.ID.String(), other+":refs/nostr/"+second.ID.String())
	hold := make(chan struct{})
	w.copies.mu.Lock()
	w.copies.hold = hold
	w.copies.mu.Unlock()
	w.publish(second)
	w.state(1, "tool", now+1, "refs/heads/renamed", base)
	w.eventually("the files say so", func() bool {
		for _, path := range ok(filepath.Glob(filepath.Join(w.dir, "??", "??", "*", "packed-refs"))) {
			if b, _ := os.ReadFile(path); strings.Contains(string(b), "refs/heads/renamed") {
				return true
			}
		}
		return false
	})
	close(hold)
	w.eventually("the upload is served", func() bool { return strings.Contains(w.lsRemote(w.cloneURL(repo)), second.ID.String()) })
}
