package gitcheck_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitcheck"
	"github.com/graspd/graspd/internal/git/gitproc"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

var theGit = sync.OnceValues(func() (*gitproc.Git, error) { return gitproc.Open(context.Background(), gitproc.Config{CPUs: 4}) })

// world is the data of a relay that has two branches, a tag, and a pull request of a repository.
type world struct {
	*testing.T
	store *store.Store
	disk  *gitrepo.Disk
	dir   string // of the disk
	own   string // somebody's clone
	now   int64

	main gitwire.ObjectID
	pull gitwire.ObjectID
	row  refdb.Repository
	seen []string // how far it came
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), own: t.TempDir(), now: 1_700_000_000}
	w.store = must(store.Open(store.Options{Dir: "data", FS: vfs.NewMem()}))
	w.disk = must(gitrepo.Open(gitrepo.Config{Dir: w.dir, Git: must(theGit())}))
	t.Cleanup(func() {
		if err := errors.Join(w.disk.Close(), w.store.Close()); err != nil {
			t.Error(err)
		}
	})
	w.git("", "init", "-q", "--bare", "-b", "main")
	w.main = w.commit("main")
	w.pull = w.commit("pull", w.main)
	w.row = w.host(1, "proj", 1)
	return w
}

func (w *world) git(in string, args ...string) string {
	w.Helper()
	c := exec.Command("git", append([]string{"--git-dir=" + w.own}, args...)...)
	c.Stdin = strings.NewReader(in)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := c.CombinedOutput()
	if err != nil {
		w.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// ask is the one line that git prints.
func (w *world) ask(in string, args ...string) string {
	w.Helper()
	return strings.TrimSuffix(w.git(in, args...), "\n")
}

func (w *world) id(text string) gitwire.ObjectID {
	w.Helper()
	return must(gitwire.ParseObjectID(text))
}

func (w *world) commit(text string, parents ...gitwire.ObjectID) gitwire.ObjectID {
	w.Helper()
	blob := w.ask(text, "hash-object", "-w", "--stdin")
	args := []string{"commit-tree", "-m", text, w.ask("100644 blob "+blob+"\tfile\n", "mktree")}
	for _, p := range parents {
		args = append(args, "-p", p.String())
	}
	return w.id(w.ask("", args...))
}

// admit takes what tips lead to beyond some objects into a directory, as a pack of its own.
func (w *world) admit(id gitrepo.ID, tip gitwire.ObjectID, not ...gitwire.ObjectID) {
	w.Helper()
	in := tip.String() + "\n"
	for _, x := range not {
		in += "^" + x.String() + "\n"
	}
	q := must(w.disk.Begin(id))
	must(q.Receive(w.Context(), strings.NewReader(w.git(in, "pack-objects", "--revs", "--stdout", "-q")), gitrepo.Receiving{}))
	must(q.Prove(w.Context(), gitrepo.Proving{Tips: []gitwire.ObjectID{tip}}))
	if err := errors.Join(w.disk.Admit(q, id), q.Close()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) event(author byte, kind nostr.Kind, tags ...nostr.Tag) *nostr.Event {
	w.now++
	e := &nostr.Event{PubKey: nostr.PubKey{author}, CreatedAt: w.now, Kind: kind, Tags: tags}
	e.ID = e.ComputeID()
	return e
}

// host makes a repository with its events, its row and its directory, whose last byte is n.
func (w *world) host(author byte, d string, n byte) refdb.Repository {
	w.Helper()
	of := nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{author}, D: d}
	id := gitrepo.ID{0xab, 0xcd, 15: n}
	ann := w.event(author, nip34.KindRepository, nostr.Tag{"d", d})
	state := w.event(author, nip34.KindState, nostr.Tag{"d", d}, nostr.Tag{"HEAD", "ref: refs/heads/main"}, nostr.Tag{"refs/heads/main", w.main.String()})
	pull := w.event(9, nip34.KindPullRequest, nostr.Tag{"a", of.String()}, nostr.Tag{"c", w.pull.String()})
	w.admit(id, w.main)
	w.admit(id, w.pull, w.main)
	members := grasp.FamilyOf([]grasp.Listing{must(refs.ReadAnnouncement(ann)).Listing}).Councils().Of(of.PubKey)
	r := refdb.Repository{Of: of, Dir: refdb.Dir(id)}
	r.Refs = r.Refs.Next(of, refs.Change{
		Members: members, States: []refs.State{must(refs.ReadState(state))}, PullRequests: []refs.PullRequest{must(refs.ReadPullRequest(pull))},
	})
	if err := w.disk.Project(id, 0, r.Shown()); err != nil {
		w.Fatal(err)
	}
	w.batch(func(b *store.Batch) error {
		return r.Write(b, false)
	})
	w.add(ann, state, pull)
	return r
}

func (w *world) add(events ...*nostr.Event) {
	w.Helper()
	w.batch(func(b *store.Batch) error {
		for _, e := range events {
			if _, err := b.Add(e, store.Direct); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) batch(do func(*store.Batch) error) {
	w.Helper()
	b := must(w.store.Begin())
	if err := do(b); err != nil {
		w.Fatal(err)
	}
	must(b.Commit())
}

func (w *world) path(r refdb.Repository, names ...string) string {
	id := gitrepo.ID(r.Dir).String()
	return filepath.Join(append([]string{w.dir, id[:2], id[2:4], id}, names...)...)
}

// packs are the files of the pack with an object.
func (w *world) pack(r refdb.Repository, id gitwire.ObjectID) string {
	w.Helper()
	for _, name := range must(filepath.Glob(w.path(r, "objects/pack/*.idx"))) {
		if strings.Contains(w.git("", "verify-pack", "-v", name), id.String()+" ") {
			return strings.TrimSuffix(name, ".idx")
		}
	}
	w.Fatalf("no pack has %s", id)
	return ""
}

func (w *world) config() gitcheck.Config {
	return gitcheck.Config{Store: w.store, Disk: w.disk, Rand: rand.Reader, Now: func() time.Time { return time.Unix(w.now, 0) },
		Progress: func(done, all int64) { w.seen = append(w.seen, fmt.Sprint(done, "/", all)) }}
}

func (w *world) check() gitcheck.Report {
	w.Helper()
	return must(gitcheck.Check(w.Context(), w.config()))
}

func (w *world) read(of nip34.Address) (r refdb.Repository, due bool) {
	v := w.store.View()
	defer v.Close()
	return must(refdb.Read(v, of)), must(v.Row(refdb.DueName(of))) != nil
}

// sound requires that nothing is wrong.
func (w *world) sound() gitcheck.Report {
	w.Helper()
	r := w.check()
	if len(r.Problems) > 0 {
		w.Errorf("%q", r.Problems)
	}
	return r
}

func TestWhatIsSound(t *testing.T) {
	w := newWorld(t)
	w.host(2, "other", 2)
	w.batch(func(b *store.Batch) error { // nothing has come for it
		return refdb.Repository{Of: nip34.Address{Kind: nip34.KindRepository, PubKey: nostr.PubKey{3}, D: "empty"}}.Write(b, true)
	})
	r := w.sound()
	if r.Repositories != 2 || r.Refs != 4 || r.Bytes == 0 || r.Behind != 0 || r.Unnamed != 0 || fmt.Sprint(w.seen) != "[1/3 2/3 3/3]" {
		t.Errorf("%+v %v", r, w.seen)
	}
	if done := must(gitcheck.Repair(t.Context(), w.config())); done.Files+done.Found != 0 || len(done.Problems) > 0 {
		t.Errorf("%+v", done)
	}
	if got, due := w.read(w.row.Of); fmt.Sprint(got) != fmt.Sprint(w.row) || due {
		t.Errorf("a repair of what is sound made %+v", got)
	}
}

// Files that are due are as they were before, whatever they say, and their objects are looked at.
func TestFilesThatAreDue(t *testing.T) {
	w := newWorld(t)
	w.batch(func(b *store.Batch) error { return w.row.Write(b, true) })
	for _, text := range []string{"", "# pack-refs with: peeled fully-peeled sorted \n"} {
		if err := os.WriteFile(w.path(w.row, "packed-refs"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := w.sound(); r.Behind != 1 {
			t.Errorf("%+v", r)
		}
	}
	if err := os.Remove(w.path(w.row, "HEAD")); err != nil {
		t.Fatal(err)
	}
	if r := w.check(); len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "HEAD is not there") {
		t.Errorf("%+v", r)
	}
	if done := must(gitcheck.Repair(t.Context(), w.config())); done.Files != 1 || len(done.Problems) > 0 {
		t.Errorf("%+v", done)
	}
	w.sound()
}

func TestFilesAreMadeAnew(t *testing.T) {
	for name, harm := range map[string]func(w *world) error{
		"packed-refs":  func(w *world) error { return os.WriteFile(w.path(w.row, "packed-refs"), []byte("x"), 0o600) },
		"HEAD":         func(w *world) error { return os.Remove(w.path(w.row, "HEAD")) },
		`"refs/heads"`: func(w *world) error { return os.Mkdir(w.path(w.row, "refs/heads"), 0o700) },
	} {
		w := newWorld(t)
		if err := harm(w); err != nil {
			t.Fatal(err)
		}
		if r := w.check(); len(r.Problems) != 1 || !strings.Contains(r.Problems[0], name) || !strings.Contains(r.Problems[0], w.row.Of.D) {
			t.Errorf("%s: %+v", name, r)
		}
		if done := must(gitcheck.Repair(t.Context(), w.config())); done.Files != 1 || len(done.Problems) > 0 {
			t.Errorf("%s: %+v", name, done)
		}
		w.sound()
		if got, due := w.read(w.row.Of); fmt.Sprint(got) != fmt.Sprint(w.row) || due {
			t.Errorf("%s: the row became %+v", name, got)
		}
	}
}

// What is lost is not shown any more, the rest is, and others with the same identifier are looked at by the next start.
func TestWhatIsLost(t *testing.T) {
	type left struct{ state, pull bool }
	for name, test := range map[string]struct {
		harm func(w *world) error
		left
		says []string
	}{
		"the pack of the branch": {func(w *world) error { return os.Remove(w.pack(w.row, w.main) + ".pack") }, left{},
			[]string{"that the state ", "data is missing of refs/nostr/"}},
		"the pack of the pull request": {func(w *world) error { return os.Truncate(w.pack(w.row, w.pull)+".pack", 50) }, left{state: true},
			[]string{"data is missing of refs/nostr/"}},
		"the directory": {func(w *world) error { return os.RemoveAll(w.path(w.row)) }, left{},
			[]string{"that the state ", "data is missing of refs/nostr/"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			same, other := w.host(2, "proj", 2), w.host(3, "other", 3)
			if err := test.harm(w); err != nil {
				t.Fatal(err)
			}
			if r := w.check(); len(r.Problems) == 0 || !strings.Contains(r.Problems[0], w.row.Of.String()) {
				t.Errorf("%+v", r)
			}
			done := must(gitcheck.Repair(t.Context(), w.config()))
			if done.Files != 0 || len(done.Problems) != len(test.says) {
				t.Fatalf("%+v", done)
			}
			for i, text := range test.says {
				if !strings.Contains(done.Problems[i], text) || !strings.Contains(done.Problems[i], w.row.Of.String()) {
					t.Errorf("%q, and not %q", done.Problems[i], text)
				}
			}
			got, due := w.read(w.row.Of)
			if got.Refs.Ruled != test.state || (len(got.Refs.Refs) > 0) != test.state || (len(got.Refs.PullRequests) > 0) != test.pull ||
				got.Dir == w.row.Dir || got.Dir.IsZero() == test.state || due != test.state || got.Refs.Generation <= w.row.Refs.Generation ||
				(got.Bytes > 0) != test.state || got.Moved != w.now {
				t.Errorf("%+v, due: %v", got, due)
			}
			if _, due := w.read(same.Of); !due {
				t.Error("what has the same identifier is not looked at")
			}
			if _, due := w.read(other.Of); due {
				t.Error("what has another identifier is looked at")
			}
			w.sound()
			if kept := must(filepath.Glob(filepath.Join(w.dir, "trash", "*"))); (len(kept) == 1) != (name != "the directory") {
				t.Errorf("in the trash: %q", kept)
			}
		})
	}
}

// Damage to what nothing leads to loses nothing, but what builds on it is not taken for complete any more.
func TestDamageToWhatNobodyNeeds(t *testing.T) {
	w := newWorld(t)
	id := gitrepo.ID(w.row.Dir)
	base := w.commit("base")
	upon := w.commit("upon", base)
	w.admit(id, base)
	w.admit(id, upon, base)
	if err := os.Remove(w.pack(w.row, base) + ".pack"); err != nil {
		t.Fatal(err)
	}
	if r := w.check(); len(r.Problems) != 1 {
		t.Errorf("%+v", r)
	}
	if done := must(gitcheck.Repair(t.Context(), w.config())); done.Files != 1 || len(done.Problems) > 0 {
		t.Errorf("%+v", done)
	}
	got, _ := w.read(w.row.Of)
	if lacks, err := w.disk.Missing(gitrepo.ID(got.Dir), []gitwire.ObjectID{upon, w.main, w.pull}); err != nil || len(lacks) != 1 || lacks[0] != upon {
		t.Errorf("%v (%v)", lacks, err)
	}
	w.sound()
}

// Loss that git sees only once files are mended is found by the same repair.
func TestDamageBehindDamage(t *testing.T) {
	for name, harm := range map[string]func(w *world) error{
		"a setting": func(w *world) error { return os.WriteFile(w.path(w.row, "config"), nil, 0o600) },
		"no HEAD":   func(w *world) error { return os.Remove(w.path(w.row, "HEAD")) },
	} {
		w := newWorld(t)
		pull := w.row
		pull.Refs.Ruling = refs.Ruling{}
		w.batch(func(b *store.Batch) error { return pull.Write(b, false) })
		base := w.pack(w.row, w.main)
		if err := errors.Join(w.disk.Project(gitrepo.ID(pull.Dir), 0, pull.Shown()), os.Remove(base+".pack"), os.Remove(base+".idx"), harm(w)); err != nil {
			t.Fatal(err)
		}
		if err := w.disk.Close(); err != nil {
			t.Fatal(err)
		}
		w.disk = must(gitrepo.Open(gitrepo.Config{Dir: w.dir, Git: must(theGit())})) // which does not know the pack
		done := must(gitcheck.Repair(t.Context(), w.config()))
		if len(done.Problems) != 1 || !strings.Contains(done.Problems[0], "data is missing of refs/nostr/") {
			t.Errorf("%s: %+v", name, done)
		}
		w.sound()
	}
}

// A damaged directory without a HEAD goes, too, and refs without any directory are told.
func TestNothingIsLeftBehind(t *testing.T) {
	w := newWorld(t)
	if err := errors.Join(os.Remove(w.pack(w.row, w.main)+".pack"), os.Remove(w.path(w.row, "HEAD"))); err != nil {
		t.Fatal(err)
	}
	must(gitcheck.Repair(t.Context(), w.config()))
	if r := w.sound(); r.Unnamed != 0 {
		t.Errorf("%+v", r)
	}
	w.row.Dir = refdb.Dir{}
	w.batch(func(b *store.Batch) error { return w.row.Write(b, false) })
	if r := w.check(); len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "refs and no directory") {
		t.Errorf("%+v", r)
	}
	if done := must(gitcheck.Repair(t.Context(), w.config())); len(done.Problems) != 2 {
		t.Errorf("%+v", done)
	}
	w.sound()
}

// A repository whose row is lost is known by what its owner says its refs are; directories that a kill left are only counted.
func TestLostRows(t *testing.T) {
	w := newWorld(t)
	w.admit(gitrepo.ID{1}, w.main) // a kill between objects and the log
	other := w.host(2, "other", 2)
	elsewhere := w.event(9, nip34.KindPullRequest, nostr.Tag{"a", w.row.Of.String()}, nostr.Tag{"c", w.pull.String()})
	w.add(elsewhere)
	files := w.row.Shown() // as they were before something happened to that pull request
	files.List = append(files.List, gitwire.Ref{Name: refs.TipName(elsewhere.ID), ID: w.main})
	files.Sort()
	if err := w.disk.Project(gitrepo.ID(w.row.Dir), 0, files); err != nil {
		t.Fatal(err)
	}
	w.batch(func(b *store.Batch) error {
		return errors.Join(b.SetRow(refdb.RowName(w.row.Of), nil), b.SetRow(refdb.DueName(w.row.Of), []byte(w.row.Of.String())))
	})
	r := w.check()
	if r.Repositories != 1 || r.Unnamed != 1 || len(r.Problems) != 2 || !strings.Contains(r.Problems[0], "has lost which directory") ||
		!strings.Contains(r.Problems[0], gitrepo.ID(w.row.Dir).String()) || !strings.Contains(r.Problems[1], "does not know it") {
		t.Errorf("%+v", r)
	}
	if done := must(gitcheck.Repair(t.Context(), w.config())); done.Found != 1 || done.Files != 0 || len(done.Problems) > 0 {
		t.Errorf("%+v", done)
	}
	if r := w.sound(); r.Repositories != 2 || r.Unnamed != 1 || r.Behind != 1 {
		t.Errorf("%+v", r)
	}
	got, due := w.read(w.row.Of)
	if got.Dir != w.row.Dir || !got.Refs.All().Equal(w.row.Refs.All()) || got.Refs.Head != "refs/heads/main" || got.Refs.ID != w.row.Refs.ID || !due || got.Bytes == 0 {
		t.Errorf("%+v", got)
	}
	if got, _ := w.read(other.Of); got.Dir != other.Dir {
		t.Errorf("%+v", got)
	}
}

// A directory that has what a state names is given to nobody who has another one, or has announced nothing.
func TestDirectoriesThatNobodyLost(t *testing.T) {
	w := newWorld(t)
	w.add(w.event(7, nip34.KindState, nostr.Tag{"d", "proj"}, nostr.Tag{"refs/heads/main", w.main.String()}))
	id := gitrepo.ID{1}
	w.admit(id, w.main)
	if err := w.disk.Project(id, 0, &gitwire.Refs{List: []gitwire.Ref{{Name: "refs/heads/main", ID: w.main}}}); err != nil {
		t.Fatal(err)
	}
	if r := w.sound(); r.Unnamed != 1 {
		t.Errorf("%+v", r)
	}
}

// A row of which nothing is known but that files are due goes.
func TestStrayRows(t *testing.T) {
	w := newWorld(t)
	of := w.row.Of
	of.D = "gone"
	w.batch(func(b *store.Batch) error { return b.SetRow(refdb.DueName(of), []byte(of.String())) })
	if r := w.check(); len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "gone: its files are due") {
		t.Errorf("%+v", r)
	}
	must(gitcheck.Repair(t.Context(), w.config()))
	w.sound()
}

// A damaged directory is not given back to a repository whose row is lost.
func TestALostRowAndDamage(t *testing.T) {
	w := newWorld(t)
	w.batch(func(b *store.Batch) error { return b.SetRow(refdb.RowName(w.row.Of), nil) })
	if err := os.Remove(w.pack(w.row, w.main) + ".pack"); err != nil {
		t.Fatal(err)
	}
	if done := must(gitcheck.Repair(t.Context(), w.config())); done.Found != 0 || len(done.Problems) != 1 || !strings.Contains(done.Problems[0], "push everything again") {
		t.Errorf("%+v", done)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.batch(func(b *store.Batch) error {
		for i := range 120 {
			r := w.row
			r.Of.D, r.Dir = fmt.Sprint("bad\n", i), refdb.Dir{1, byte(i), 9}
			if err := r.Write(b, false); err != nil {
				return err
			}
		}
		return nil
	})
	r := w.check()
	if len(r.Problems) != 100 || !r.More || strings.Contains(strings.Join(r.Problems, ""), "\n") {
		t.Errorf("%d, %v: %q", len(r.Problems), r.More, r.Problems[0])
	}
}

func TestItEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gitcheck.Check(ctx, w.config()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestObjectsOfPacksAreRead: where packs lie in an object store, each is there as it was put, and the disk may lack it.
func TestObjectsOfPacksAreRead(t *testing.T) {
	w := newWorld(t)
	m := new(objecttest.Memory)
	d := depot.New(depot.Config{Objects: m, Rows: w.store, Pause: time.Microsecond})
	put, done, err := d.Put(t.Context(), must(w.disk.Packed(gitrepo.ID(w.row.Dir))))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	b := must(w.store.Begin())
	if err := refdb.Adopt(b, w.row, put); err != nil {
		t.Fatal(err)
	}
	must(b.Commit())
	c := gitcheck.Config{Store: w.store, Disk: w.disk, Depot: d, Now: time.Now}
	clean := func(what string, want ...string) {
		t.Helper()
		r, err := gitcheck.Check(t.Context(), c)
		if err != nil || len(r.Problems) != len(want) || r.Elsewhere != 1 || r.Bytes != refdb.Manifest(put).Bytes() {
			t.Fatalf("%s: %+v, %v", what, r, err)
		}
		for i, p := range r.Problems {
			if !strings.Contains(p, want[i]) {
				t.Errorf("%s: %q", what, p)
			}
		}
	}
	clean("all is there")
	for _, e := range must(os.ReadDir(w.dir)) {
		if len(e.Name()) == 2 {
			if err := os.RemoveAll(filepath.Join(w.dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	clean("the disk has nothing")
	if err := m.Delete(t.Context(), put[0].Object()+".idx"); err != nil {
		t.Fatal(err)
	}
	clean("an object is gone", put[0].Object()+".idx is gone")
	m.Fault = func(objecttest.Request) objecttest.Fault { return objecttest.Fault{Lost: true} }
	if r, err := gitcheck.Check(t.Context(), c); !errors.Is(err, depot.ErrUnanswered) {
		t.Errorf("%+v, %v", r, err)
	}
	c.Depot = nil
	clean("nobody has asked the object store")
}
