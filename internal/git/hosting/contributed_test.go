package hosting_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// prs is where a contributor pushes.
func (w *world) prs(signer byte, d string) string {
	return strings.Replace(w.service.CloneURL(key(signer), d), "/npub1", "/prs/npub1", 1)
}

// contribution is a pull request by somebody for a repository, whose commit they push to their own place.
func (w *world) contribution(by byte, a, d, commit string, at int64) *nostr.Event {
	return w.event(by, at, nip34.KindPullRequest, nostr.Tag{"c", commit}, nostr.Tag{"a", a}, nostr.Tag{"clone", "https://elsewhere.example/x.git", w.prs(by, d)})
}

func (w *world) contributed(by byte, d string) refdb.Repository {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	return ok(refdb.Read(v, grasp.Contributed(key(by), d)))
}

const elsewhere = "30617:0100000000000000000000000000000000000000000000000000000000000009:tool"

func TestContributorsPushBothWaysRound(t *testing.T) {
	w := forContributors(t)
	r := w.newRepo()
	tip := r.commit("a fix of what is elsewhere")
	// Nothing is there, and that takes no row and no directory.
	if got := w.lsRemote(w.prs(2, "tool")); got != "" {
		t.Errorf("an empty one shows %q", got)
	}
	if x := w.contributed(2, "tool"); x.Refs.Generation != 0 || !x.Dir.IsZero() {
		t.Errorf("a look has left %+v", x)
	}
	// The event first.
	e := w.contribution(2, elsewhere, "tool", tip, now)
	if v := w.publish(e); !v.OK() || v.Reason != "purgatory: won't be served until git data arrives (commit "+tip+")" {
		t.Fatalf("%+v", v)
	}
	w.waits(e)
	for _, d := range []string{"tool", "other", ""} { // who looks for its data elsewhere hears of the place
		var all []nip34.Address
		err := w.host.Announced(t.Context(), d, func(of nip34.Address) error { all = append(all, of); return nil })
		if there := slices.Contains(all, grasp.Contributed(key(2), "tool")); err != nil || there != (d != "other") {
			t.Errorf("of %q there are %v, %v", d, all, err)
		}
	}
	r.fails("is taken here", "push", w.prs(2, "tool"), tip+":refs/heads/main")
	r.fails("is taken here", "push", w.prs(2, "tool"), tip+":refs/tags/v1")
	r.fails("", "push", w.prs(3, "tool"), tip+":"+refs.TipName(e.ID))
	r.fails("", "push", w.prs(2, "other"), tip+":"+refs.TipName(e.ID))
	w.waits(e)
	r.must("push", w.prs(2, "tool"), tip+":"+refs.TipName(e.ID))
	w.served(e)
	if got := w.lsRemote(w.prs(2, "tool")); got != lines(tip, refs.TipName(e.ID)) {
		t.Errorf("after the push: %q", got)
	}
	if got := w.lsRemote(w.prs(3, "tool")); got != "" {
		t.Errorf("somebody else's shows %q", got)
	}
	// The commit first.
	second := r.commit("another")
	e2 := w.contribution(2, elsewhere, "tool", second, now+1)
	r.must("push", w.prs(2, "tool"), second+":"+refs.TipName(e2.ID))
	if got := w.lsRemote(w.prs(2, "tool")); strings.Contains(got, second) {
		t.Errorf("nobody has signed for it: %q", got)
	}
	if v := w.publish(e2); !v.OK() {
		t.Fatalf("%+v", v)
	}
	w.eventually("the tip is served", func() bool { return strings.Contains(w.lsRemote(w.prs(2, "tool")), second) })
	w.served(e2)
	other := w.newRepo()
	other.must("fetch", "-q", w.prs(2, "tool"), refs.TipName(e2.ID))
	if got := strings.TrimSpace(other.must("rev-parse", "FETCH_HEAD")); got != second {
		t.Errorf("fetched %s", got)
	}
	// Another commit than the event's is never shown.
	e3 := w.contribution(2, elsewhere, "tool", tip, now+2)
	r.must("push", w.prs(2, "tool"), second+":"+refs.TipName(e3.ID))
	w.publish(e3)
	w.eventually("the wrong commit is dropped", func() bool { return w.host.Stats().Uploads == 0 })
	if got := w.lsRemote(w.prs(2, "tool")); !strings.Contains(got, tip+" "+refs.TipName(e3.ID)) || strings.Contains(got, second+" "+refs.TipName(e3.ID)) {
		t.Errorf("its own commit is here: %q", got)
	}
	// A commit of SHA-256 is waited for, as for what is announced here, and nothing else comes in its stead.
	long := w.contribution(2, elsewhere, "tool", strings.Repeat("ab", 32), now+3)
	if v := w.publish(long); !v.OK() {
		t.Errorf("%+v", v)
	}
	w.waits(long)
	r.fails("", "push", w.prs(2, "tool"), tip+":"+refs.TipName(long.ID))
	w.waits(long)
	if v := w.publish(w.contribution(2, elsewhere, "tool", "main", now+4)); v.OK() {
		t.Errorf("a branch as a commit: %+v", v)
	}
}

// TestContributionsAreMirrored into the announced repository, and never back.
func TestContributionsAreMirrored(t *testing.T) {
	t.Parallel()
	w := forContributors(t)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(repo), "main")
	tip := r.commit("fix")
	e := w.contribution(2, repo.Address(), "tool", tip, now)
	w.publish(e)
	r.must("push", w.prs(2, "tool"), tip+":"+refs.TipName(e.ID))
	if got := w.lsRemote(w.cloneURL(repo)); !strings.Contains(got, tip+" "+refs.TipName(e.ID)) {
		t.Errorf("not mirrored when the push ends:\n%s", got)
	}
	// The commit first.
	tip2 := r.commit("fix 2")
	e2 := w.contribution(2, repo.Address(), "tool", tip2, now+1)
	r.must("push", w.prs(2, "tool"), tip2+":"+refs.TipName(e2.ID))
	w.publish(e2)
	w.eventually("mirrored", func() bool { return strings.Contains(w.lsRemote(w.cloneURL(repo)), tip2+" "+refs.TipName(e2.ID)) })
	// Never back.
	tip3 := r.commit("fix 3")
	e3 := w.contribution(2, repo.Address(), "tool", tip3, now+2)
	w.publish(e3)
	r.must("push", w.cloneURL(repo), tip3+":"+refs.TipName(e3.ID))
	w.served(e3)
	time.Sleep(50 * time.Millisecond)
	if got := w.lsRemote(w.prs(2, "tool")); strings.Contains(got, tip3) {
		t.Errorf("mirrored back:\n%s", got)
	}
	if got := w.lsRemote(w.cloneURL(repo)); !strings.Contains(got, base+" refs/heads/main") {
		t.Errorf("branches have moved:\n%s", got)
	}
}

// TestContributionsToWhatIsAnnouncedLater are mirrored when somebody looks what that repository lacks, and fetched from nobody.
func TestContributionsToWhatIsAnnouncedLater(t *testing.T) {
	w := forContributors(t)
	r := w.newRepo()
	base := r.commit("base")
	tip := r.commit("fix")
	address := nip34.Address{Kind: nip34.KindRepository, PubKey: key(1), D: "tool"}
	e := w.contribution(2, address.String(), "tool", tip, now)
	w.publish(e)
	r.must("push", w.prs(2, "tool"), tip+":"+refs.TipName(e.ID))
	w.served(e)
	repo := w.announce(1, "tool", now)
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(repo), base+":refs/heads/main")
	if l := w.lacks(repo); len(l.Needs) != 0 {
		t.Errorf("it is looked for elsewhere: %+v", l.Needs)
	}
	w.eventually("mirrored", func() bool { return strings.Contains(w.lsRemote(w.cloneURL(repo)), tip+" "+refs.TipName(e.ID)) })
}

// TestAContributionThatIsDeleted takes its ref with it, and the repository goes after its last one.
func TestAContributionThatIsDeleted(t *testing.T) {
	w := forContributors(t)
	r := w.newRepo()
	tip := r.commit("fix")
	e := w.contribution(2, elsewhere, "tool", tip, now)
	w.publish(e)
	r.must("push", w.prs(2, "tool"), tip+":"+refs.TipName(e.ID))
	if x := w.contributed(2, "tool"); x.Gone != 0 || x.Dir.IsZero() {
		t.Fatalf("%+v", x)
	}
	w.publish(w.event(2, now+5, nostr.KindDeletion, nostr.Tag{"e", e.ID.String()}))
	w.eventually("it is empty again", func() bool { return w.lsRemote(w.prs(2, "tool")) == "" })
	if x := w.contributed(2, "tool"); x.Gone == 0 {
		t.Errorf("it stays for ever: %+v", x)
	}
	again := w.contribution(2, elsewhere, "tool", tip, now+6)
	w.publish(again)
	r.must("push", w.prs(2, "tool"), tip+":"+refs.TipName(again.ID))
	if x := w.contributed(2, "tool"); x.Gone != 0 {
		t.Errorf("it would go with a pull request in it: %+v", x)
	}
}

// TestWhatContributorsMayNot: what names no place of its own signer is refused as before, and nothing is there where it is off.
func TestWhatContributorsMayNot(t *testing.T) {
	w := forContributors(t)
	tip := strings.Repeat("a1", 20)
	for name, e := range map[string]*nostr.Event{
		"another's":      w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", tip}, nostr.Tag{"a", elsewhere}, nostr.Tag{"clone", w.prs(3, "tool")}),
		"other name":     w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", tip}, nostr.Tag{"a", elsewhere}, nostr.Tag{"clone", w.prs(2, "tools")}),
		"no repository":  w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", tip}, nostr.Tag{"clone", w.prs(2, "tool")}),
		"no clone":       w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", tip}, nostr.Tag{"a", elsewhere}),
		"no commit":      w.event(2, now, nip34.KindPullRequest, nostr.Tag{"a", elsewhere}, nostr.Tag{"clone", w.prs(2, "tool")}),
		"another server": w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", tip}, nostr.Tag{"a", elsewhere}, nostr.Tag{"clone", strings.Replace(w.prs(2, "tool"), "//", "//x", 1)}),
		"an issue":       w.event(2, now, nip34.KindIssue, nostr.Tag{"c", tip}, nostr.Tag{"a", elsewhere}, nostr.Tag{"clone", w.prs(2, "tool")}),
	} {
		if v := w.publish(e); v.Outcome != policy.Unrelated {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := w.publish(w.contribution(2, elsewhere, "tool", tip, now)); !v.OK() {
		t.Errorf("a good one: %+v", v)
	}
	get := func(of *world, path string) int {
		t.Helper()
		r, err := http.Get(of.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		return r.StatusCode
	}
	const service = "/info/refs?service=git-upload-pack"
	path := strings.TrimPrefix(w.prs(2, "tool"), w.url)
	if got := get(w, "/prs/npub1xyz/tool.git"+service); got != http.StatusBadRequest {
		t.Errorf("a malformed npub: %d", got)
	}
	off := newWorld(t, hosting.Limits{})
	if got := get(off, path+service); got != http.StatusNotFound {
		t.Errorf("where it is off: %d", got)
	}
	if v := off.publish(off.contribution(2, elsewhere, "tool", tip, now)); v.Outcome != policy.Unrelated {
		t.Errorf("where it is off: %+v", v)
	}
	if _, found, err := off.host.Find(grasp.Contributed(key(2), "tool")); found || err != nil {
		t.Errorf("where it is off it is found: %v", err)
	}
}

// lose takes the files of a repository away, as a bad disk does.
func (w *world) lose(of nip34.Address) {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	r := ok(refdb.Read(v, of))
	if err := errors.Join(w.disk.Remove(gitrepo.ID(r.Dir)), os.RemoveAll(filepath.Join(w.dir, "trash"))); err != nil {
		w.Fatal(err)
	}
}

// lacksTips gives the events whose tips a repository lacks and nobody here has.
func (w *world) lacksTips(of nip34.Address) (events []nostr.ID) {
	w.Helper()
	for _, n := range ok(w.host.Lacks(w.Context(), of)).Needs {
		if n.Tip {
			events = append(events, n.Event)
		}
	}
	return events
}

// TestLostFilesComeFromContributors: an announced repository whose files are lost has the tips again that a contributed one has; what both
// have lost is looked for elsewhere.
func TestLostFilesComeFromContributors(t *testing.T) {
	w := forContributors(t)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(repo), "main")
	tip := r.commit("fix")
	e := w.contribution(2, repo.Address(), "tool", tip, now)
	w.publish(e)
	r.must("push", w.prs(2, "tool"), tip+":"+refs.TipName(e.ID))
	w.lose(addressOf(repo))
	if got := w.lacksTips(addressOf(repo)); len(got) != 0 {
		t.Errorf("looked for elsewhere, though a contributor's place has it: %v", got)
	}
	w.eventually("the tip is back", func() bool {
		v := w.store.View()
		defer v.Close()
		x := ok(refdb.Read(v, addressOf(repo)))
		return len(ok(w.disk.Missing(gitrepo.ID(x.Dir), []gitwire.ObjectID{objectID(tip)}))) == 0
	})
	w.lose(addressOf(repo))
	w.lose(grasp.Contributed(key(2), "tool"))
	if got := w.lacksTips(addressOf(repo)); !slices.Equal(got, []nostr.ID{e.ID}) {
		t.Errorf("what both have lost is looked for as %v", got)
	}
	if got := w.lacksTips(grasp.Contributed(key(2), "tool")); !slices.Equal(got, []nostr.ID{e.ID}) {
		t.Errorf("what a contributor's place has lost is looked for as %v", got)
	}
}

// TestAContributorsPlaceThatIsLost comes back from the announced repository that has mirrored it.
func TestAContributorsPlaceThatIsLost(t *testing.T) {
	t.Parallel()
	w := forContributors(t)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(repo), "main")
	tip := r.commit("fix")
	e := w.contribution(2, repo.Address(), "tool", tip, now)
	w.publish(e)
	r.must("push", w.prs(2, "tool"), tip+":"+refs.TipName(e.ID))
	place := grasp.Contributed(key(2), "tool")
	if got := w.lacksTips(place); len(got) != 0 {
		t.Errorf("a whole one lacks %v", got)
	}
	var all []nip34.Address
	if err := w.host.Contributed(t.Context(), func(of nip34.Address) error { all = append(all, of); return nil }); err != nil || !slices.Equal(all, []nip34.Address{place}) {
		t.Errorf("places are %v, %v", all, err)
	}
	w.eventually("the log learns that the files are written", func() bool {
		v := w.store.View()
		defer v.Close()
		return ok(v.Row(refdb.DueName(place))) == nil
	})
	w.lose(place)
	if got := w.lacksTips(place); len(got) != 0 {
		t.Errorf("looked for elsewhere, though the repository here has it: %v", got)
	}
	w.eventually("it can be fetched again", func() bool {
		_, err := w.git(w.newRepo().dir, "fetch", "-q", w.prs(2, "tool"), refs.TipName(e.ID))
		return err == nil
	})
	if got := w.lsRemote(w.prs(2, "tool")); got != lines(tip, refs.TipName(e.ID)) {
		t.Errorf("it shows %q", got)
	}
}
