package hosting_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// keeping is a world whose packs lie in an object store.
func keeping(t *testing.T, in objects.Store, local int64) *world {
	t.Helper()
	return openWorld(t, hosting.Limits{}, false, policy.Archive{}, false, extra{objects: in, local: local})
}

// wipe removes all that the directory of the git data has.
func (w *world) wipe() {
	w.Helper()
	entries := ok(os.ReadDir(w.dir))
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(w.dir, e.Name())); err != nil {
			w.Fatal(err)
		}
	}
}

// restart ends the host and starts it again, with what was durable when it was killed where kill is set.
func (w *world) restart(kill, wipe bool) {
	w.Helper()
	after := w.fs
	if kill {
		after = w.fs.CrashClone(vfs.CrashCloneCfg{})
	}
	w.end()
	w.fs = after
	if wipe {
		w.wipe()
	}
	w.start()
}

func address(author byte, d string) nip34.Address {
	return nip34.Address{Kind: nip34.KindRepository, PubKey: key(author), D: d}
}

func (w *world) row(author byte, d string) refdb.Repository {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	return ok(refdb.Read(v, address(author, d)))
}

func (w *world) manifest(author byte, d string) refdb.Manifest {
	w.Helper()
	v := w.store.View()
	defer v.Close()
	return ok(refdb.ReadManifest(v, w.row(author, d).Dir))
}

// packFiles are the files of packs that the disk has, of a kind.
func (w *world) keptFiles(suffix string) []string {
	w.Helper()
	return ok(filepath.Glob(filepath.Join(w.dir, "??/??/*/objects/pack/*"+suffix)))
}

// TestAnEmptyMachineServes: what was pushed is served by a machine that has the store and the objects, and nothing else.
func TestAnEmptyMachineServes(t *testing.T) {
	t.Parallel()
	m := new(objecttest.Memory)
	w := keeping(t, m, 0)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	var last string
	for i := range 3 {
		last = r.commit(fmt.Sprint("commit ", i))
		w.state(1, "tool", now+int64(i), "refs/heads/main", last)
		r.must("push", "-q", w.cloneURL(repo), "main")
		if got := w.manifest(1, "tool"); len(got) != i+1 {
			t.Fatalf("after push %d the manifest has %d packs", i, len(got))
		}
	}
	if got, want := w.row(1, "tool").Bytes, w.manifest(1, "tool").Bytes(); got != want || want == 0 {
		t.Errorf("it counts %d bytes, and its packs have %d", got, want)
	}
	w.eventually("no files of refs are due", func() bool {
		v := w.store.View()
		defer v.Close()
		return ok(v.Row(refdb.DueName(address(1, "tool")))) == nil
	})
	w.restart(false, true)
	if got := w.keptFiles(".pack"); len(got) > 0 {
		t.Errorf("packs come before anybody reads them: %q", got)
	}
	dir := filepath.Dir(filepath.Dir(filepath.Dir(w.keptFiles(".idx")[0])))
	if got := string(ok(os.ReadFile(filepath.Join(dir, "packed-refs")))); !strings.Contains(got, last+" refs/heads/main\n") {
		t.Errorf("files of refs: %q", got)
	}
	clone, refs := w.clone(w.cloneURL(repo))
	if want := "refs/remotes/origin/main " + last; !strings.Contains(refs, want) || clone.must("rev-parse", "HEAD") != last {
		t.Errorf("refs %s, not %s", refs, want)
	}
	clone.must("fsck", "--full")
	if got := w.keptFiles(".pack"); len(got) != 3 {
		t.Errorf("%q", got)
	}
	next := clone.commit("after the fire")
	w.state(1, "tool", now+10, "refs/heads/main", next)
	clone.must("push", "-q", "origin", "main")
	if got := w.lsRemote(w.cloneURL(repo)); got != lines(next, "HEAD", next, "refs/heads/main") {
		t.Errorf("refs\n%s", got)
	}
}

// TestAColdRepositoryIsPushedTo: the first who comes after everything was lost pushes.
func TestAColdRepositoryIsPushedTo(t *testing.T) {
	t.Parallel()
	w := keeping(t, new(objecttest.Memory), 0)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	w.state(1, "tool", now, "refs/heads/main", r.commit("one"))
	r.must("push", "-q", w.cloneURL(repo), "main")
	w.restart(false, true)
	second := r.commit("two")
	w.state(1, "tool", now+1, "refs/heads/main", second)
	r.must("push", "-q", w.cloneURL(repo), "main")
	w.restart(false, true)
	clone, _ := w.clone(w.cloneURL(repo))
	if clone.must("rev-parse", "HEAD", "HEAD~1"); clone.must("rev-parse", "HEAD") != second {
		t.Error("the push is lost")
	}
}

// TestTheDirectoryIsRemovedWhileItRuns: repositories are made anew when somebody asks for them.
func TestTheDirectoryIsRemovedWhileItRuns(t *testing.T) {
	t.Parallel()
	w := keeping(t, new(objecttest.Memory), 0)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	w.state(1, "tool", now, "refs/heads/main", r.commit("one"))
	r.must("push", "-q", w.cloneURL(repo), "main")
	for _, e := range ok(os.ReadDir(w.dir)) {
		if len(e.Name()) == 2 {
			if err := os.RemoveAll(filepath.Join(w.dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	clone, _ := w.clone(w.cloneURL(repo))
	second := clone.commit("two")
	w.state(1, "tool", now+1, "refs/heads/main", second)
	clone.must("push", "-q", "origin", "main")
}

// TestNothingIsDecidedByADirectory: a pack that a directory has and no manifest does not make a state complete.
func TestNothingIsDecidedByADirectory(t *testing.T) {
	t.Parallel()
	w := keeping(t, new(objecttest.Memory), 0)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	w.state(1, "tool", now, "refs/heads/main", r.commit("one"))
	r.must("push", "-q", w.cloneURL(repo), "main")
	// A pack is linked, and its commit never comes: so looks a push between the link and the commit.
	second := r.commit("two")
	q := ok(w.disk.Begin(gitrepo.ID(w.row(1, "tool").Dir)))
	pack, err := r.gitIn(r.dir, second+"\n", "pack-objects", "--revs", "--stdout", "-q")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Receive(t.Context(), strings.NewReader(pack), gitrepo.Receiving{}); err != nil {
		t.Fatal(err)
	}
	tip := ok(gitwire.ParseObjectID([]byte(second)))
	if _, err := q.Prove(t.Context(), gitrepo.Proving{Commits: []gitwire.ObjectID{tip}}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.disk.Admit(q, gitrepo.ID(w.row(1, "tool").Dir)), q.Close()); err != nil {
		t.Fatal(err)
	}
	state := w.state(1, "tool", now+1, "refs/heads/main", second)
	w.waits(state)
	third := r.commit("three")
	later := w.state(1, "tool", now+2, "refs/heads/main", third)
	r.must("push", "-q", w.cloneURL(repo), "main") // brings both
	w.served(later)
	w.restart(false, true)
	clone, _ := w.clone(w.cloneURL(repo))
	clone.must("fsck", "--full")
	if clone.must("rev-parse", "HEAD") != third {
		t.Error("it is behind")
	}
}

// TestCombinedPacksAreKept: packs are combined, what is in the manifest is in the store, and what is not goes two days later.
func TestCombinedPacksAreKept(t *testing.T) {
	t.Parallel()
	m := new(objecttest.Memory)
	w := keeping(t, m, 0)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	var last string
	for i := range 10 {
		last = r.commit(fmt.Sprint("commit ", i))
		w.state(1, "tool", now+int64(i), "refs/heads/main", last)
		r.must("push", "-q", w.cloneURL(repo), "main")
	}
	w.host.Visit(address(1, "tool"))
	w.eventually("packs are combined", func() bool { return len(w.manifest(1, "tool")) == 1 })
	if got, want := w.row(1, "tool").Bytes, w.manifest(1, "tool").Bytes(); got != want {
		t.Errorf("it counts %d bytes, and its packs have %d", got, want)
	}
	w.eventually("the owner has fewer bytes", func() bool { return second(w.host.Kept()) == w.row(1, "tool").Bytes })
	w.eventually("old packs go from the disk", func() bool { return len(w.keptFiles(".pack")) == 1 })
	count := func() int { return len(ok(m.List(t.Context(), "packs/", "", 1000))) }
	before, keeps := count(), len(w.manifest(1, "tool")[0].Files)
	if before < 20+keeps {
		t.Errorf("%d objects", before)
	}
	for i, want := range []int{before, before, keeps} {
		if err := w.host.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := count(); got != want {
			t.Errorf("after look %d there are %d objects, not %d", i, got, want)
		}
		w.pass(13 * time.Hour)
	}
	w.restart(false, true)
	clone, _ := w.clone(w.cloneURL(repo))
	clone.must("fsck", "--full")
	if clone.must("rev-parse", "HEAD") != last {
		t.Error("it is behind")
	}
}

func second(_ int, bytes int64, err error) int64 { return ok(bytes, err) }

// TestWhatAManifestHasStays, also where somebody has put it into the trash.
func TestWhatAManifestHasStays(t *testing.T) {
	t.Parallel()
	m := new(objecttest.Memory)
	w := keeping(t, m, 0)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	w.state(1, "tool", now, "refs/heads/main", r.commit("one"))
	r.must("push", "-q", w.cloneURL(repo), "main")
	object := w.manifest(1, "tool")[0].Object()
	if err := w.door.Exclusively(t.Context(), "", func(x *ingest.Exclusive) error { return w.ledger.Trash(x.Turn, []string{object}) }); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.pass(25 * time.Hour)
		if err := w.host.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := ok(m.List(t.Context(), object, "", 10)); len(got) < 2 {
		t.Errorf("%v", got)
	}
	v := w.store.View()
	defer v.Close()
	if row := ok(v.Row(refdb.TrashName(object))); row != nil {
		t.Error("it is in the trash for ever")
	}
}

// TestWhatLayOnTheDiskAlone is in the object store once a machine has one.
func TestWhatLayOnTheDiskAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	tip := r.commit("one")
	w.state(1, "tool", now, "refs/heads/main", tip)
	r.must("push", "-q", w.cloneURL(repo), "main")
	m := new(objecttest.Memory)
	w.start = func() {
		if err := w.port.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		w.open(lent{w.port}, hosting.Limits{}, false, policy.Archive{}, false, extra{objects: m})
	}
	w.restart(false, false)
	if got := w.manifest(1, "tool"); len(got) != 1 || got.Bytes() != w.row(1, "tool").Bytes {
		t.Errorf("%+v", got)
	}
	w.restart(false, true)
	clone, _ := w.clone(w.cloneURL(repo))
	clone.must("fsck", "--full")
	if clone.must("rev-parse", "HEAD") != tip {
		t.Error("it is behind")
	}
}

// TestUploadsWaitForTheObjectStore: what cannot be held again as the object store does not answer is held once it does, and then has the events that
// came meanwhile.
func TestUploadsWaitForTheObjectStore(t *testing.T) {
	t.Parallel()
	m := new(objecttest.Memory)
	told := make(chan string, 10)
	w := openWorld(t, hosting.Limits{}, false, policy.Archive{}, false, extra{objects: m, heard: func(line string) {
		if strings.Contains(line, "commits that wait") {
			told <- line
		}
	}})
	repo, r := w.announce(1, "tool", now), w.newRepo()
	w.state(1, "tool", now, "refs/heads/main", r.commit("base"))
	r.must("push", "-q", w.cloneURL(repo), "main")
	tip := r.commit("change")
	e := w.event(2, now, nip34.KindPullRequest, nostr.Tag{"c", tip}, nostr.Tag{"a", address(1, "tool").String()})
	r.must("push", "-q", w.cloneURL(repo), tip+":refs/nostr/"+e.ID.String())
	w.end()
	m.Fault = func(objecttest.Request) objecttest.Fault { return objecttest.Fault{Lost: true} }
	w.start()
	if line := <-told; !strings.Contains(line, "the object store does not do what it is asked") || strings.Contains(line, "dropped") {
		t.Errorf("it is not given up for now: %s", line)
	}
	if v := w.publish(e); !v.OK() {
		t.Fatal(v)
	}
	w.waits(e)
	w.end()
	m.Fault = nil
	w.start()
	w.eventually("it is taken in", func() bool { return strings.Contains(w.lsRemote(w.cloneURL(repo)), tip) })
	w.served(e)
}

// TestTheDiskIsBounded: there are more repositories than disk.
func TestTheDiskIsBounded(t *testing.T) {
	t.Parallel()
	const bound = 300 << 10
	w := keeping(t, new(objecttest.Memory), bound)
	var tips []string
	for i := range byte(6) {
		d := fmt.Sprint("tool", i)
		repo, r := w.announce(1, d, now), w.newRepo()
		noise := make([]byte, 100<<10)
		rnd := rand.NewChaCha8([32]byte{i})
		_, _ = rnd.Read(noise)
		if err := os.WriteFile(filepath.Join(r.dir, "noise"), noise, 0o600); err != nil {
			t.Fatal(err)
		}
		tips = append(tips, r.commit(d))
		w.state(1, d, now, "refs/heads/main", tips[i])
		r.must("push", "-q", w.cloneURL(repo), "main")
	}
	onDisk := func() (n int64) {
		for _, f := range w.keptFiles(".pack") {
			n += ok(os.Stat(f)).Size()
		}
		return n
	}
	for range 2 {
		for i := range byte(6) {
			clone, _ := w.clone(w.service.CloneURL(key(1), fmt.Sprint("tool", i)))
			if got := clone.must("rev-parse", "HEAD"); got != tips[i] {
				t.Errorf("repository %d is at %s", i, got)
			}
			if err := w.disk.Local().Shrink(); err != nil {
				t.Fatal(err)
			}
			w.eventually("within the bound", func() bool { return w.disk.Local().Shrink() == nil && onDisk() <= bound })
		}
	}
	if n := len(w.keptFiles(".idx")); n != 6 {
		t.Errorf("%d indexes", n)
	}
}

// TestAnObjectThatIsDamaged: nobody gets what is not as it was, and others go on.
func TestAnObjectThatIsDamaged(t *testing.T) {
	t.Parallel()
	m := new(objecttest.Memory)
	w := keeping(t, m, 0)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	w.state(1, "tool", now, "refs/heads/main", r.commit("one"))
	r.must("push", "-q", w.cloneURL(repo), "main")
	p := w.manifest(1, "tool")[0]
	name := p.Object() + ".pack"
	body := ok(m.Get(t.Context(), name, 0, 1<<20))
	body[20] ^= 1
	if err := m.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if o, err := m.Put(t.Context(), name, strings.NewReader(string(body))); o != objects.Done {
		t.Fatal(o, err)
	}
	w.restart(false, true)
	if out, err := w.git(w.TempDir(), "clone", "-q", w.cloneURL(repo), "x"); err == nil {
		t.Errorf("a damaged repository was cloned: %s", out)
	}
	if got := w.keptFiles(".pack"); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// TestLivesWithAStoreThatMisbehaves: whatever happens to requests, processes and directories, what was acknowledged is cloned whole.
func TestLivesWithAStoreThatMisbehaves(t *testing.T) {
	t.Parallel()
	seeds := 3
	if testing.Short() {
		seeds = 1
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { t.Parallel(); live(t, seed) })
	}
}

func live(t *testing.T, seed uint64) {
	m := &objecttest.Memory{Fault: objecttest.Random(seed, 0)}
	w := keeping(t, m, 200<<10)
	rnd := rand.New(rand.NewPCG(seed, 5))
	type project struct {
		d    string
		r    *repo
		said string // the commit of which git said that it is here
		at   int64
	}
	var all []*project
	for i := range 3 {
		d := fmt.Sprint("tool", i)
		w.announce(1, d, now)
		all = append(all, &project{d: d, r: w.newRepo(), at: now})
	}
	url := func(p *project) string { return w.service.CloneURL(key(1), p.d) }
	var pushing sync.WaitGroup
	push := func(p *project) {
		tip := p.r.commit(fmt.Sprint(p.d, " ", rnd.Uint64(), strings.Repeat(" and more", rnd.IntN(9000))))
		p.at++
		w.state(1, p.d, p.at, "refs/heads/main", tip)
		if _, err := p.r.git(p.r.dir, "push", "-q", url(p), "main"); err == nil {
			p.said = tip
		}
	}
	for step := range 40 {
		p := all[rnd.IntN(len(all))]
		switch rnd.IntN(10) {
		default:
			push(p)
		case 0:
			w.restart(rnd.IntN(2) == 0, true)
		case 1:
			w.host.Visit(address(1, p.d))
		case 2:
			w.pass(13 * time.Hour)
			_ = w.host.Compare(t.Context())
		case 3:
			m.Deliver()
		}
		pushing.Wait()
		if p.said == "" || step%5 > 0 {
			continue
		}
		w.eventually("a clone of "+p.d, func() bool { return w.wholly(url(p), p.said) })
	}
	m.Fault = nil
	w.restart(true, true)
	for _, p := range all {
		if p.said != "" && !w.wholly(url(p), p.said) {
			t.Errorf("%s lacks %s", p.d, p.said)
		}
	}
}

// wholly reports whether a clone of a URL is sound, and has a commit on its branch.
func (w *world) wholly(url, commit string) bool {
	dir := filepath.Join(w.TempDir(), "clone")
	if out, err := w.git(w.TempDir(), "clone", "-q", url, dir); err != nil {
		w.Log(out)
		return false
	}
	out, err := w.git(dir, "fsck", "--full")
	if err == nil {
		out, err = w.git(dir, "merge-base", "--is-ancestor", commit, "HEAD")
	}
	if err != nil {
		w.Error(out)
	}
	return err == nil
}

// TestUploadsAreThereAfterARestart: commits whose event is still to come were acknowledged, and outlive the machine.
func TestUploadsAreThereAfterARestart(t *testing.T) {
	t.Parallel()
	m := new(objecttest.Memory)
	w := keeping(t, m, 0)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	base := r.commit("base")
	w.state(1, "tool", now, "refs/heads/main", base)
	r.must("push", "-q", w.cloneURL(repo), "main")
	var events []*nostr.Event
	for i := range 3 {
		tip := r.commit(fmt.Sprint("change ", i))
		e := w.event(2, now+int64(i), nip34.KindPullRequest, nostr.Tag{"c", tip}, nostr.Tag{"a", address(1, "tool").String()})
		events = append(events, e)
		r.must("push", "-q", w.cloneURL(repo), tip+":refs/nostr/"+e.ID.String())
	}
	rows := func() (n int) {
		v := w.store.View()
		defer v.Close()
		if err := v.EachRow(refdb.UploadPrefix, "", func(string, []byte) (bool, error) { n++; return true, nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := rows(); n != 3 {
		t.Fatalf("%d rows", n)
	}
	// Of one the event comes before the restart, and of one after.
	if v := w.publish(events[0]); !v.OK() {
		t.Fatal(v)
	}
	w.eventually("the first one is taken in", func() bool { return rows() == 2 })
	w.restart(true, true)
	w.eventually("uploads are held again", func() bool { return w.host.Stats().Uploads == 2 })
	if v := w.publish(events[1]); !v.OK() {
		t.Fatal(v)
	}
	w.eventually("the second one is taken in", func() bool { return rows() == 1 })
	w.served(events[:2]...)
	// What the store has of the last one is away when it is needed, and comes back.
	for i := range 3 {
		if err := w.host.Compare(t.Context()); err != nil {
			t.Fatal(i, err)
		}
		w.pass(5 * time.Minute)
	}
	w.restart(false, true)
	w.eventually("the last one is held again", func() bool { return w.host.Stats().Uploads == 1 })
	if v := w.publish(events[2]); !v.OK() {
		t.Fatal(v)
	}
	w.eventually("it is taken in", func() bool { return rows() == 0 })
	w.served(events...)
	w.restart(false, true)
	clone, _ := w.clone(w.cloneURL(repo))
	for _, e := range events {
		clone.must("fetch", "-q", "origin", "refs/nostr/"+e.ID.String())
	}
	clone.must("fsck", "--full")
}

// TestWhatTheDiskAloneHas goes into the object store at the start, and is there on an empty disk; what is lost of one repository is told, and holds up
// no other.
func TestWhatTheDiskAloneHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosting.Limits{})
	const n = 20
	var tips []string
	url := func(i int) string { return w.service.CloneURL(key(1), fmt.Sprint("tool", i)) }
	for i := range n {
		d := fmt.Sprint("tool", i)
		repo, r := w.announce(1, d, now), w.newRepo()
		tips = append(tips, r.commit(d))
		w.state(1, d, now, "refs/heads/main", tips[i])
		r.must("push", "-q", w.cloneURL(repo), "main")
	}
	lost := filepath.Join(w.dir, filepath.FromSlash(gitrepo.ID(w.row(1, "tool7").Dir).In("")))
	if err := os.RemoveAll(lost); err != nil {
		t.Fatal(err)
	}
	m := new(objecttest.Memory)
	puts := 0
	m.Fault = func(q objecttest.Request) objecttest.Fault {
		if q.Op == "put" {
			puts++
		}
		return objecttest.Fault{Lost: q.Op == "put" && puts > 10 && puts < 50}
	}
	w.has.objects = m
	w.restart(false, false)
	if len(w.wrong) != 1 || !strings.Contains(w.wrong[0].Error(), ":tool7: its git data is neither on this disk nor in the object store") {
		t.Errorf("%q", w.wrong)
	}
	w.restart(false, true)
	for i, tip := range tips {
		d := fmt.Sprint("tool", i)
		if got, want := w.row(1, d).Bytes, w.manifest(1, d).Bytes(); i != 7 && got != want {
			t.Errorf("%s counts %d bytes, and its packs have %d", d, got, want)
		}
		if i != 7 && !w.wholly(url(i), tip) {
			t.Errorf("%s is not here", d)
		}
	}
	if len(w.wrong) != 1 {
		t.Errorf("the second start says %q", w.wrong)
	}
	// Without the object store, the directory says again which packs there are.
	wrong, err := w.kept.Whole(t.Context(), w.store, nil)
	if err != nil || len(wrong) != 1 {
		t.Errorf("%q, %v", wrong, err)
	}
	if err := hosting.Alone(t.Context(), w.store); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if m := w.manifest(1, fmt.Sprint("tool", i)); len(m) > 0 {
			t.Errorf("tool%d still has a manifest", i)
		}
	}
	w.has.objects = nil
	w.restart(false, false)
	for i, tip := range tips {
		if i != 7 && !w.wholly(url(i), tip) {
			t.Errorf("tool%d is not here without the object store", i)
		}
	}
}

// TestAStartWithADamagedIndex: it is told, and all other repositories are served.
func TestAStartWithADamagedIndex(t *testing.T) {
	t.Parallel()
	m := new(objecttest.Memory)
	w := keeping(t, m, 0)
	var tips []string
	for _, d := range []string{"tool", "other"} {
		repo, r := w.announce(1, d, now), w.newRepo()
		tips = append(tips, r.commit(d))
		w.state(1, d, now, "refs/heads/main", tips[len(tips)-1])
		r.must("push", "-q", w.cloneURL(repo), "main")
	}
	if err := m.Delete(t.Context(), w.manifest(1, "tool")[0].Object()+".idx"); err != nil {
		t.Fatal(err)
	}
	w.restart(false, true)
	if len(w.wrong) != 1 || !strings.Contains(w.wrong[0].Error(), ":tool: ") || !errors.Is(w.wrong[0], depot.ErrDamaged) {
		t.Errorf("%q", w.wrong)
	}
	if !w.wholly(w.service.CloneURL(key(1), "other"), tips[1]) {
		t.Error("the other one is not here")
	}
	if w.wholly(w.service.CloneURL(key(1), "tool"), tips[0]) {
		t.Error("the damaged one is whole")
	}
}
