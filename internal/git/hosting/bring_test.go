package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func addressOf(e *nostr.Event) nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: e.Tags.D()}
}

func objectID(hex string) gitwire.ObjectID { return ok(gitwire.ParseObjectID(hex)) }

func (w *world) lacks(repo *nostr.Event) refdb.Lack {
	w.Helper()
	return ok(w.host.Lacks(w.Context(), addressOf(repo)))
}

func (w *world) take(repo *nostr.Event) *hosting.Taking {
	w.Helper()
	return ok(w.host.Take(w.Context(), w.lacks(repo), "others"))
}

// needed are the ids of all that is lacked, in the order in which they are.
func needed(l refdb.Lack) (ids []gitwire.ObjectID) {
	for _, n := range l.Needs {
		ids = append(ids, n.IDs...)
	}
	return ids
}

// stopped is for packs that need not give way.
func stopped(error) {}

// comes lets a pack come for all that a repository lacks, and gives what is complete by it.
func (w *world) comes(repo *nostr.Event, pack string) ([]nostr.ID, error) {
	w.Helper()
	t := w.take(repo)
	err := t.Pack(w.Context(), needed(w.lacks(repo)), strings.NewReader(pack), stopped)
	return t.Brought, err
}

func (w *world) nothingIsLeft() {
	w.Helper()
	w.eventually("nothing is under construction", func() bool {
		left, err := filepath.Glob(filepath.Join(w.dir, "incoming", "*"))
		return err == nil && len(left) == 0
	})
}

func (w *world) wantBrought(brought []nostr.ID, events ...*nostr.Event) {
	w.Helper()
	var want []nostr.ID
	for _, e := range events {
		want = append(want, e.ID)
	}
	slices.SortFunc(want, nostr.ID.Compare)
	got := slices.SortedFunc(slices.Values(brought), nostr.ID.Compare)
	if !slices.Equal(got, want) {
		w.Fatalf("brought %v, want %v", got, want)
	}
}

// What a state names comes with a pack of another server, and the repository is served at once, tags and what they are about.
func TestWhatComesForAStateIsServed(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	r.must("tag", "-a", "-m", "v1", "v1")
	tag := r.must("rev-parse", "v1")
	state := w.state(1, "tool", now, "refs/heads/main", tip, "refs/tags/v1", tag)
	w.waits(repo, state)
	l := w.lacks(repo)
	if !l.Hosted || len(l.Needs) != 1 || len(l.Needs[0].IDs) != 2 || len(w.take(repo).Haves()) != 0 {
		t.Fatalf("%+v", l)
	}
	brought, err := w.comes(repo, w.pack(r, tag))
	if err != nil {
		t.Fatal(err)
	}
	w.wantBrought(brought, state)
	w.served(repo, state)
	if got, want := w.lsRemote(w.cloneURL(repo)), lines(tip, "HEAD", tip, "refs/heads/main", tag, "refs/tags/v1", tip, "refs/tags/v1^{}"); got != want {
		t.Errorf("refs\n%s", got)
	}
	w.clone(w.cloneURL(repo))
	if l := w.lacks(repo); len(l.Needs) != 0 {
		t.Errorf("lacks %+v", l.Needs)
	}
	// The next one is little, beside what is here.
	second := r.commit("two")
	next := w.state(1, "tool", now+1, "refs/heads/main", second, "refs/tags/v1", tag)
	if haves := w.take(repo).Haves(); !slices.Contains(haves, objectID(tip)) || !slices.Contains(haves, objectID(tag)) {
		t.Errorf("haves %v", haves)
	}
	if brought, err = w.comes(repo, w.packOf(r, second, tip)); err != nil {
		t.Fatal(err)
	}
	w.wantBrought(brought, next)
	w.served(next)
	w.nothingIsLeft()
}

// packOf is a thin pack of what a commit leads to and another one does not.
func (w *world) packOf(r *repo, tip, without string) string {
	w.Helper()
	out, err := w.gitIn(r.dir, tip+"\n^"+without+"\n", "pack-objects", "-q", "--revs", "--thin", "--stdout")
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// What two pull requests name comes in one pack, of which one is complete and the other is not: that one waits on.
func TestAPackThatCompletesOneOfTwo(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo, r, other := w.announce(1, "tool", now), w.newRepo(), w.newRepo()
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(repo), "main")
	tip := r.commit("one")
	missing := other.commit("elsewhere")
	first, second := w.pullRequest(repo, tip), w.pullRequest(repo, missing)
	w.waits(first, second)
	var lack *gitrepo.MissingError
	brought, err := w.comes(repo, w.pack(r, base))
	if !errors.As(err, &lack) || len(brought) > 0 {
		t.Errorf("neither is complete: %v, %v", brought, err)
	}
	brought, err = w.comes(repo, w.pack(r, tip))
	if err != nil {
		t.Fatal(err)
	}
	w.wantBrought(brought, first)
	w.served(first)
	w.waits(second)
	want := lines(base, "HEAD", base, "refs/heads/main", tip, "refs/nostr/"+first.ID.String())
	if got := w.lsRemote(w.cloneURL(repo)); got != want {
		t.Errorf("refs\n%s", got)
	}
	if _, err = w.comes(repo, w.pack(r, tip)); !errors.As(err, &lack) {
		t.Errorf("%v", err)
	}
	if brought, err = w.comes(repo, w.pack(other, missing)); err != nil {
		t.Fatal(err)
	}
	w.wantBrought(brought, second)
	w.served(second)
	w.nothingIsLeft()
}

func (w *world) pullRequest(repo *nostr.Event, tip string) *nostr.Event {
	w.Helper()
	e := w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", tip}, nostr.Tag{"a", repo.Address()})
	if v := w.publish(e); !v.OK() {
		w.Fatalf("%+v", v)
	}
	return e
}

// A pack with more than was asked for: nothing of it is kept that no event leads to.
func TestAPackWithTooMuch(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	r.must("checkout", "-q", "--orphan", "other")
	more := r.commit("what nobody signed for")
	state := w.state(1, "tool", now, "refs/heads/main", tip)
	pack, err := w.gitIn(r.dir, tip+"\n"+more+"\n", "pack-objects", "-q", "--revs", "--stdout")
	if err != nil {
		t.Fatal(err)
	}
	brought, err := w.comes(repo, pack)
	if err != nil {
		t.Fatal(err)
	}
	w.wantBrought(brought, state)
	w.served(state)
	clone := w.newRepo()
	if out, err := w.git(clone.dir, "fetch", w.cloneURL(repo), more); err == nil {
		t.Errorf("what nobody signed for is served by id:\n%s", out)
	}
	if missing := ok(w.disk.Missing(gitrepo.ID(w.lacks(repo).Dir), []gitwire.ObjectID{objectID(more)})); len(missing) != 1 {
		t.Error("what nobody signed for is kept")
	}
	w.nothingIsLeft()
}

// What is no pack, is cut off, or lacks an object is an error, and changes nothing.
func TestPacksThatBringNothing(t *testing.T) {
	w := newWorld(t, hosting.Limits{Push: 100_000})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	first := r.commit("one")
	tip := r.commit("two")
	state := w.state(1, "tool", now, "refs/heads/main", tip)
	whole := w.pack(r, tip)
	for name, pack := range map[string]string{
		"nothing": "", "no pack": strings.Repeat("no pack", 100), "cut off": whole[:len(whole)-7], "one that is too large": whole[:12] + strings.Repeat("x", 200_000),
		"of another commit": w.pack(r, first), "without what it leads to": w.packOf(r, tip, first),
	} {
		brought, err := w.comes(repo, pack)
		if err == nil || len(brought) > 0 {
			t.Errorf("%s: brought %v, %v", name, brought, err)
		}
	}
	w.waits(repo, state)
	w.nothingIsLeft()
	if brought, err := w.comes(repo, whole); err != nil || len(brought) != 1 {
		t.Errorf("%v, %v", brought, err)
	}
	w.served(repo, state)
}

// A pack with other ids than those of a need is not read.
func TestAPackForNothing(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	r.must("branch", "other")
	second := r.commit("two")
	state := w.state(1, "tool", now, "refs/heads/main", second, "refs/heads/old", tip)
	x := w.take(repo)
	pack := strings.NewReader(w.pack(r, second))
	whole := pack.Len()
	if err := x.Pack(t.Context(), []gitwire.ObjectID{objectID(tip)}, pack, stopped); err != nil || len(x.Brought) != 0 || pack.Len() != whole {
		t.Errorf("%v, %v, %d bytes left", err, x.Brought, pack.Len())
	}
	if x.MaxBytes() != hosting.DefaultLimits().Push {
		t.Error(x.MaxBytes())
	}
	w.waits(state)
}

// What somebody is bringing does not lapse meanwhile.
func TestWhatIsBeingBroughtDoesNotLapse(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	state := w.state(1, "tool", now, "refs/heads/main", tip)
	until := func() time.Time {
		x := ok(w.host.Status())
		for _, wait := range x.Waits {
			if wait.ID == state.ID.String() {
				return wait.Until.Time
			}
		}
		return time.Time{}
	}
	before := until()
	w.pass(20 * time.Minute)
	x, pack := w.take(repo), w.pack(r, tip)
	broken := func(pause time.Duration) {
		t.Helper()
		in := io.MultiReader(strings.NewReader(pack[:50]), &pausing{func() { w.pass(pause) }}, strings.NewReader("it ends in something else"))
		if err := x.Pack(t.Context(), needed(w.lacks(repo)), in, stopped); err == nil {
			t.Fatal("a broken pack is taken")
		}
	}
	if broken(30 * time.Second); !until().Equal(before) {
		t.Errorf("each moment is written: %v, and was %v", until(), before)
	}
	broken(31 * time.Second)
	if longer := until().Sub(before); longer < 21*time.Minute || longer > 22*time.Minute {
		t.Errorf("the wait is longer by %v", longer)
	}
	w.waits(repo, state)
}

// pausing is the end of a part of what is read, before which something happens.
type pausing struct{ do func() }

func (p *pausing) Read([]byte) (int, error) {
	p.do()
	return 0, io.EOF
}

// An owner's bounds hold for what comes from elsewhere.
func TestBoundsOfWhatComes(t *testing.T) {
	w := newWorld(t, hosting.Limits{Repositories: 1, Repository: 3000})
	repo, other, r := w.announce(1, "tool", now), w.announce(1, "other", now), w.newRepo()
	tip := r.commit("one")
	state := w.state(1, "tool", now, "refs/heads/main", tip)
	more := w.state(1, "other", now, "refs/heads/main", tip)
	if brought, err := w.comes(repo, w.pack(r, tip)); err != nil || len(brought) != 1 {
		t.Fatalf("%v, %v", brought, err)
	}
	w.served(state)
	if _, err := w.host.Take(t.Context(), w.lacks(other), "others"); err == nil || !strings.Contains(err.Error(), "may have no more") {
		t.Errorf("a second repository: %v", err)
	}
	w.waits(more)
	big := r.commit(noise(20_000))
	next := w.state(1, "tool", now+1, "refs/heads/main", big)
	if brought, err := w.comes(repo, w.packOf(r, big, tip)); err == nil || len(brought) != 0 || !strings.Contains(err.Error(), "may have") {
		t.Errorf("too large a repository: %v, %v", brought, err)
	}
	w.waits(next)
	w.nothingIsLeft()
	x := w.take(repo)
	if err := x.Pack(t.Context(), needed(w.lacks(repo)), strings.NewReader(w.packOf(r, big, tip)), stopped); !hosting.TooMuch(err) {
		t.Errorf("too large a repository counts as %v", err)
	}
	if err := x.Pack(t.Context(), needed(w.lacks(repo)), strings.NewReader("no pack"), stopped); hosting.TooMuch(err) {
		t.Errorf("%v counts as too much", err)
	}
}

func noise(n int) string {
	b, chance := make([]byte, n), rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = "0123456789abcdef"[chance.IntN(16)]
	}
	return string(b)
}

// The bound of a repository holds for several packs of one server together.
func TestBoundsOfSeveralPacks(t *testing.T) {
	w := newWorld(t, hosting.Limits{Repository: 10_000})
	repo := w.announce(1, "tool", now)
	var packs []string
	var events []*nostr.Event
	for i := range 2 {
		r := w.newRepo()
		tip := r.commit(fmt.Sprint(i, noise(10_000)))
		packs, events = append(packs, w.pack(r, tip)), append(events, w.pullRequest(repo, tip))
	}
	x := w.take(repo)
	l := w.lacks(repo)
	for i, n := range []refdb.Need{l.Needs[slices.IndexFunc(l.Needs, func(n refdb.Need) bool { return n.Event == events[0].ID })],
		l.Needs[slices.IndexFunc(l.Needs, func(n refdb.Need) bool { return n.Event == events[1].ID })]} {
		if err := x.Pack(t.Context(), n.IDs, strings.NewReader(packs[i]), stopped); (err == nil) != (i == 0) {
			t.Errorf("pack %d: %v", i, err)
		}
	}
	w.wantBrought(x.Brought, events[0])
	w.served(events[0])
	w.waits(events[1])
}

// The tip of a pull request that is served already, and is not here.
func TestATipOfAServedPullRequest(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	both := func(author, other byte, ident string) *nostr.Event {
		pk := key(other)
		return w.announce(author, ident, now, nostr.Tag{"maintainers", pk.String()})
	}
	mine, theirs := both(1, 2, "tool"), both(2, 1, "tool")
	r := w.newRepo()
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", w.cloneURL(mine), "main")
	tip := r.commit("fix")
	e := w.event(3, now, nip34.KindPullRequest, nostr.Tag{"c", tip}, nostr.Tag{"a", mine.Address()}, nostr.Tag{"a", theirs.Address()})
	if v := w.publish(e); !v.OK() {
		t.Fatalf("%+v", v)
	}
	r.must("push", w.cloneURL(mine), tip+":refs/nostr/"+e.ID.String())
	w.served(e)
	w.forgetsAwaited() // of a repository only so many are remembered
	l := w.lacks(theirs)
	if len(l.Needs) != 1 || l.Needs[0].Event != e.ID || !l.Needs[0].Tip || l.Needs[0].Came != 0 {
		t.Errorf("%+v", l.Needs)
	}
	brought, err := w.comes(theirs, w.pack(r, tip))
	if err != nil {
		t.Fatal(err)
	}
	w.wantBrought(brought, e)
	if got := w.lsRemote(w.cloneURL(theirs)); !strings.Contains(got, tip+" refs/nostr/"+e.ID.String()) {
		t.Errorf("refs\n%s", got)
	}
	if l := w.lacks(theirs); len(l.Needs) != 0 {
		t.Errorf("lacks %+v", l.Needs)
	}
}

// forgetsAwaited has every repository forget which tips it awaits.
func (w *world) forgetsAwaited() {
	w.Helper()
	var names []string
	v := w.store.View()
	err := v.EachRow(refdb.AwaitedPrefix, "", func(name string, _ []byte) (bool, error) {
		names = append(names, name)
		return true, nil
	})
	v.Close()
	if err != nil || len(names) == 0 {
		w.Fatalf("awaited tips of %d repositories: %v", len(names), err)
	}
	if err := w.door.Exclusively(w.Context(), "", func(t *ingest.Exclusive) error {
		for _, name := range names {
			if err := t.SetRow(name, nil); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		w.Fatal(err)
	}
}

func TestAnnounced(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	r := w.newRepo()
	tip := r.commit("one")
	served := w.announce(1, "a", now)
	w.state(1, "a", now, "refs/heads/main", tip)
	r.must("push", w.cloneURL(served), "main")
	w.announce(1, "a", now+1, nostr.Tag{"description", "newer"})
	w.announce(2, "a", now)
	w.announce(3, "b", now)
	list := func(d string) string {
		seen := map[string]bool{}
		if err := w.host.Announced(t.Context(), d, func(of nip34.Address) error {
			seen[fmt.Sprint(of.PubKey[1], of.D)] = true
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var out []string
		for x := range seen {
			out = append(out, x)
		}
		slices.Sort(out)
		return strings.Join(out, ",")
	}
	if a, b, c, all := list("a"), list("b"), list("c"), list(""); a != "1a,2a" || b != "3b" || c != "" || all != "1a,2a,3b" {
		t.Errorf("%q %q %q %q", a, b, c, all)
	}
	stop := errors.New("enough")
	if err := w.host.Announced(t.Context(), "", func(nip34.Address) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.host.Lacks(ctx, addressOf(served)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What is lost on disk counts no more when something comes in its place.
func TestWhatIsLostLeavesRoomForItself(t *testing.T) {
	w := newWorld(t, hosting.Limits{Repository: 50_000, Author: 50_000, Total: 50_000})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	if err := os.WriteFile(filepath.Join(r.dir, "noise"), []byte(noise(60_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	tip := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", tip)
	r.must("push", w.cloneURL(repo), "main")
	if err := w.disk.Remove(gitrepo.ID(w.lacks(repo).Dir)); err != nil {
		t.Fatal(err)
	}
	if brought, err := w.comes(repo, w.pack(r, tip)); err != nil || len(brought) != 1 {
		t.Fatal(brought, err)
	}
	if n := len(w.lacks(repo).Needs); n != 0 {
		t.Errorf("%d are lacked still", n)
	}
	if _, bytes, err := w.host.Kept(); err != nil || bytes < 30_000 || bytes > 40_000 {
		t.Errorf("%d bytes count (%v)", bytes, err)
	}
}

// What somebody is being asked for goes on waiting, and so does the announcement that it is about, until nobody is asked any more.
func TestWhatIsOnItsWayGoesOnWaiting(t *testing.T) {
	w := newWorld(t, hosting.Limits{})
	repo, tip := w.announce(1, "tool", now), w.newRepo().commit("one")
	state, other := w.state(1, "tool", now, "refs/heads/main", tip), w.announce(2, "other", now)
	keeps := func(want bool) {
		t.Helper()
		for _, e := range []*nostr.Event{repo, state} {
			if w.ledger.Keeps(e) != want {
				t.Errorf("kind %d goes on waiting: %v", e.Kind, !want)
			}
		}
		if w.ledger.Keeps(other) {
			t.Error("so does another one")
		}
	}
	keeps(false)
	one, two := w.take(repo), w.take(repo)
	keeps(true)
	one.Close()
	one.Close()
	keeps(true)
	two.Close()
	keeps(false)
}
