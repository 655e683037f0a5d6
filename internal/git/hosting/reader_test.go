package hosting_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/git/depot"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/git/hosting"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// other is a disk of another machine that reads what a world has.
type other struct {
	*hosting.Reader
	w    *world
	dir  string
	disk *gitrepo.Disk
	end  func()
}

func (w *world) other(m *objecttest.Memory, dir string) *other {
	w.Helper()
	packs := depot.New(depot.Config{Objects: m, Rows: w.store, Now: w.clock, Pause: time.Millisecond})
	disk := ok(gitrepo.Open(gitrepo.Config{Dir: dir, Git: w.processes, Now: w.clock, Depot: packs}))
	o := &other{w: w, dir: dir, disk: disk, Reader: hosting.NewReader(hosting.Config{Store: w.store, Disk: disk, Kept: hosting.NewKept(packs, disk), Now: w.clock})}
	ctx, cancel := context.WithCancel(context.Background())
	var runs sync.WaitGroup
	runs.Go(func() { _ = o.KeepUp(ctx) })
	o.end = sync.OnceFunc(func() {
		cancel()
		runs.Wait()
		if err := disk.Close(); err != nil {
			w.Error(err)
		}
	})
	w.Cleanup(o.end)
	return o
}

func (o *other) files(kind string) []string {
	o.w.Helper()
	return ok(filepath.Glob(filepath.Join(o.dir, "??/??/*/objects/pack/*"+kind)))
}

// reads has somebody fetch what a repository has, as of now.
func (o *other) reads(author byte, d string) {
	o.w.Helper()
	r, found, err := o.Find(address(author, d))
	if err != nil || !found {
		o.w.Fatal(found, err)
	}
	if err := o.AwaitFiles(o.w.Context(), address(author, d), r.Generation); err != nil {
		o.w.Fatal(err)
	}
	var pack bytes.Buffer
	if err := o.Packs().Pack(o.w.Context(), r.Dir, &gitwire.Fetch{Wants: []gitwire.ObjectID{r.Refs.List[0].ID}}, "", &pack); err != nil || pack.Len() == 0 {
		o.w.Error(err)
	}
	if got, err := o.disk.Refs(ok(gitrepo.ParseID(r.Dir))); err != nil || fmt.Sprint(got.List) != fmt.Sprint(r.Refs.List) {
		o.w.Errorf("files of refs have %v (%v), not %v", got, err, r.Refs.List)
	}
}

// TestADiskThatOnlyReads keeps up with what another machine writes: indexes come at once, packs with who reads them, and what no manifest has any more
// goes. What lies there alone stays.
func TestADiskThatOnlyReads(t *testing.T) {
	t.Parallel()
	m := new(objecttest.Memory)
	w := keeping(t, m, 0)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	push := func(i int) {
		t.Helper()
		w.state(1, "tool", now+int64(i), "refs/heads/main", r.commit(fmt.Sprint("commit ", i)))
		r.must("push", "-q", w.cloneURL(repo), "main")
	}
	push(0)
	o := w.other(m, t.TempDir())
	w.eventually("indexes come that were there before", func() bool { return len(o.files(".idx")) == 1 })
	push(1)
	w.eventually("indexes come of what is pushed", func() bool { return len(o.files(".idx")) == 2 })
	if got := o.files(".pack"); len(got) > 0 {
		t.Errorf("%q come before anybody reads them", got)
	}
	o.reads(1, "tool")
	if got := o.files(".pack"); len(got) != 2 {
		t.Errorf("%q are here", got)
	}
	for i := 2; i < 10; i++ {
		push(i)
	}
	o.reads(1, "tool")
	w.host.Visit(address(1, "tool"))
	w.eventually("packs are combined", func() bool { return len(w.manifest(1, "tool")) == 1 })
	w.eventually("others go", func() bool { return len(o.files(".pack")) == 0 && len(o.files(".idx")) == 1 })
	o.reads(1, "tool")

	// A directory of which the log says that it has data, and whose packs lie there alone.
	lone := w.row(1, "tool").Dir
	alone := func(row []byte) {
		t.Helper()
		if err := store.Update(w.store, func(b *store.Batch) error { return b.SetRow(refdb.ManifestName(lone), row) }); err != nil {
			t.Fatal(err)
		}
	}
	whole := w.manifest(1, "tool").Append(nil)
	alone(nil)
	push2, r2 := w.announce(1, "more", now), w.newRepo()
	w.state(1, "more", now, "refs/heads/main", r2.commit("more"))
	r2.must("push", "-q", w.cloneURL(push2), "main")
	w.eventually("all before was seen", func() bool { return len(o.files(".idx")) == 2 })
	if got := o.files(".pack"); len(got) != 1 {
		t.Errorf("%q are here", got)
	}
	alone(whole)

	// A repository that is removed.
	w.withdraw(1, "tool")
	w.eventually("its packs go", func() bool { return len(o.files(".pack")) == 0 && len(o.files(".idx")) == 1 })
	if r, found, err := o.Find(address(1, "tool")); err != nil || !found || r.Dir != "" { // its announcement is still there
		t.Errorf("it is found: %+v (%v)", r, err)
	}
}

// withdraw removes a repository, as of one whose announcement went long ago.
func (w *world) withdraw(author byte, d string) {
	w.Helper()
	r := w.row(author, d)
	r.Gone = 1
	if err := w.door.Exclusively(w.Context(), "", func(t *ingest.Exclusive) error {
		if err := r.Write(t.Batch, false); err != nil {
			return err
		}
		_, done, err := w.ledger.Remove(t.Turn, address(author, d), 2)
		if err == nil && !done {
			err = fmt.Errorf("it stays")
		}
		return err
	}); err != nil {
		w.Fatal(err)
	}
}

// TestFilesOfRefsFromElsewhere: whatever files of refs there are, of another history, of before, or of nobody knows when, who reads them reads what the
// log says.
func TestFilesOfRefsFromElsewhere(t *testing.T) {
	t.Parallel()
	m := new(objecttest.Memory)
	w := keeping(t, m, 0)
	repo, r := w.announce(1, "tool", now), w.newRepo()
	w.state(1, "tool", now, "refs/heads/main", r.commit("one"))
	r.must("push", "-q", w.cloneURL(repo), "main")
	o := w.other(m, t.TempDir())
	o.reads(1, "tool")
	row := w.row(1, "tool")
	for _, generation := range []uint64{0, row.Refs.Generation - 1, row.Refs.Generation + 1} {
		for _, reads := range []interface {
			AwaitFiles(context.Context, nip34.Address, uint64) error
		}{o, w.host} {
			disk := map[bool]*gitrepo.Disk{true: o.disk, false: w.disk}[reads == o]
			if err := disk.Project(gitrepo.ID(row.Dir), generation, &gitwire.Refs{}); err != nil {
				t.Fatal(err)
			}
			if err := reads.AwaitFiles(t.Context(), row.Of, row.Refs.Generation); err != nil {
				t.Fatal(err)
			}
			if got, err := disk.Refs(gitrepo.ID(row.Dir)); err != nil || fmt.Sprint(got.List) != fmt.Sprint(row.Shown().List) {
				t.Errorf("generation %d, with %v: %v (%v)", generation, row.Refs.Generation, got, err)
			}
		}
	}
}
