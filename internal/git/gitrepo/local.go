package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitproc"
)

// Bounds of bringing packs from a depot to this disk.
const (
	fetchesAtOnce = 8
	fetchWait     = time.Minute      // for a place
	fetchTime     = 30 * time.Minute // for all packs of a repository
	fetchTries    = 3                // of one reader: packs may be combined, or go, meanwhile
)

// Local is the part of what lies in a depot that is on this disk. It brings packs that are lacking, once for all who wait for them, and keeps packs
// within a bound. Any number of goroutines may use it.
type Local struct {
	d      *Disk
	most   int64 // bytes of packs; 0 is no bound
	room   func() error
	places *fair.Account

	ending sync.WaitGroup

	mu    sync.Mutex                // guards the fields below
	ends  map[ID]context.CancelFunc // of the fetches under way; nil once no more begin
	under map[ID]*fetch
	here  map[ID]*held // repositories with packs on this disk
	bytes int64        // of all these, and of those on their way
}

// held is what a repository has on this disk.
type held struct {
	bytes int64
	used  time.Time
}

// fetch is the fetch of what a repository lacks.
type fetch struct {
	over chan struct{} // closed at its end; guards err
	err  error

	got, all int64 // bytes; guarded by Local.mu
}

// lack is a file that is not on this disk.
type lack struct {
	pack refdb.Pack
	file refdb.File
}

func newLocal(d *Disk, c Config) (*Local, error) {
	l := &Local{
		d: d, most: c.Local, room: c.Room, under: map[ID]*fetch{}, ends: map[ID]context.CancelFunc{}, here: map[ID]*held{},
		places: fair.New(fair.Config{Name: "fetches of packs", Total: fetchesAtOnce, Most: fetchWait, Places: 256, PlacesOne: 64, Now: d.now}),
	}
	if l.room == nil {
		l.room = func() error { return nil }
	}
	return l, d.dir.eachRepository(context.Background(), l.weigh)
}

// close ends all fetches.
func (l *Local) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	for _, end := range l.ends {
		end()
	}
	l.ends = nil
	l.mu.Unlock()
	l.ending.Wait()
}

// reading counts a reader of a repository, all of whose packs are on this disk from then on until end is called. It waits until they are.
func (d *Disk) reading(ctx context.Context, repo ID, by fair.Party) (end func(), err error) {
	done := d.inUse.read(repo)
	if d.local == nil {
		return func() { done() }, nil
	}
	end = func() {
		if !done() {
			return
		}
		if err := d.local.weigh(repo); err != nil {
			d.inUse.log.Warn("packs on this disk are counted wrongly", "repository", repo.String(), "error", err)
		}
	}
	for range fetchTries {
		var x *fetch
		if x, err = d.local.begin(repo, by); err != nil || x == nil {
			break
		}
		if err = x.wait(ctx); err != nil {
			break
		}
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("bringing packs of repository %s: %w", repo, err)
	}
	return end, nil
}

func (x *fetch) wait(ctx context.Context) error {
	select {
	case <-x.over:
		return x.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Bring brings the packs of a repository to this disk, where they are not there, for a party.
func (l *Local) Bring(ctx context.Context, repo ID, party string) error {
	if l == nil || repo.IsZero() {
		return nil
	}
	end, err := l.d.reading(ctx, repo, fair.Party{Network: party})
	if err == nil {
		end()
	}
	return err
}

// Bringing tells how much has come of what a repository lacks; of no repository whose packs are here, or which nobody waits for.
func (l *Local) Bringing(repo ID) (got, all int64, is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.under[repo]
	if x == nil {
		return 0, 0, false
	}
	return x.got, x.all, true
}

// begin returns the fetch of what a repository lacks, which begins unless it is under way; nil where the repository lacks nothing.
func (l *Local) begin(repo ID, by fair.Party) (*fetch, error) {
	lacks, err := l.fetchable(repo)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if h := l.here[repo]; h != nil {
		h.used = l.d.now()
	}
	if x := l.under[repo]; x != nil && len(lacks) > 0 {
		return x, nil
	}
	if len(lacks) == 0 {
		return nil, nil
	}
	if l.ends == nil {
		return nil, context.Canceled
	}
	x := &fetch{over: make(chan struct{})}
	for _, one := range lacks {
		x.all += one.file.Bytes
	}
	l.under[repo] = x
	ctx, end := context.WithTimeout(context.Background(), fetchTime) // it may outlive who began it
	l.ends[repo] = end
	l.ending.Go(func() { l.run(ctx, end, repo, x, lacks, by) })
	return x, nil
}

// run fetches for all who wait. It goes on where they leave: what is half here is of use to nobody.
func (l *Local) run(ctx context.Context, end context.CancelFunc, repo ID, x *fetch, lacks []lack, by fair.Party) {
	defer end()
	err := l.fetch(ctx, repo, x, lacks, by)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.under, repo)
	delete(l.ends, repo)
	x.err = err
	close(x.over)
}

func (l *Local) fetch(ctx context.Context, repo ID, x *fetch, lacks []lack, by fair.Party) error {
	place, err := l.places.Wait(ctx, by, 1)
	if err != nil {
		if _, full := errors.AsType[fair.Refusal](err); full {
			err = gitproc.ErrBusy
		}
		return err
	}
	defer place.GiveBack()
	if err := l.reserve(repo, x.all); err != nil {
		return err
	}
	defer func() {
		l.mu.Lock()
		l.bytes -= x.all
		l.mu.Unlock()
	}()
	for _, one := range lacks {
		if err := l.file(ctx, repo, one); err != nil {
			return errors.Join(err, l.weigh(repo))
		}
		l.mu.Lock()
		x.got += one.file.Bytes
		l.mu.Unlock()
	}
	return l.weigh(repo)
}

// fetchable returns the files of a repository's packs that are not on this disk. Indexes come last: they lead readers to the others.
func (l *Local) fetchable(repo ID) (lacks []lack, err error) {
	m, err := l.d.depot.Manifest(repo)
	if err != nil || len(m) == 0 {
		return nil, err
	}
	if lacks, err = l.d.lacking(repo, m); err != nil {
		return nil, err
	}
	slices.SortStableFunc(lacks, func(a, b lack) int { return turn(a.file.Suffix) - turn(b.file.Suffix) })
	return lacks, nil
}

// lacking returns the files of a manifest's packs that are not on this disk.
func (d *Disk) lacking(repo ID, m refdb.Manifest) (lacks []lack, err error) {
	r, unlock := d.inUse.lock(repo)
	defer unlock()
	if err := d.inUse.stay(repo, r); err != nil {
		return nil, err
	}
	for _, p := range m {
		for _, x := range p.Files {
			bytes, err := d.dir.length(fileOf(repo, p, x.Suffix))
			if err != nil {
				return nil, err
			}
			if bytes != x.Bytes {
				lacks = append(lacks, lack{p, x})
			}
		}
	}
	return lacks, nil
}

// Away returns how many bytes of a manifest's packs are not on this disk.
func (d *Disk) Away(repo ID, m refdb.Manifest) (bytes int64, err error) {
	lacks, err := d.lacking(repo, m)
	for _, x := range lacks {
		bytes += x.file.Bytes
	}
	if err != nil {
		err = fmt.Errorf("packs of repository %s: %w", repo, err)
	}
	return bytes, err
}

// fileOf returns the name of a pack's file on this disk.
func fileOf(repo ID, p refdb.Pack, suffix string) string {
	return repo.path() + "/objects/pack/" + p.Name.String() + suffix
}

// file brings one file, whole and durable under another name before it has its own.
func (l *Local) file(ctx context.Context, repo ID, x lack) (err error) {
	d := l.d
	name := fmt.Sprintf("%s/%s-%d.file", incoming, d.dir.own, d.dir.serial.Add(1))
	d.dir.changes()
	to, err := d.dir.root.Create(name)
	if err != nil {
		return noted(err)
	}
	err = d.depot.Fetch(ctx, x.pack, x.file, to)
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err == nil {
		err = l.place(repo, x, name)
	}
	if err != nil {
		return errors.Join(noted(err), d.dir.removeFiles(name))
	}
	return nil
}

// place gives a file that was fetched its name.
func (l *Local) place(repo ID, x lack, from string) error {
	d := l.d
	_, unlock := d.inUse.lock(repo)
	defer unlock()
	if err := d.dir.begin(repo); err != nil {
		return err
	}
	d.dir.changes()
	if err := d.dir.root.Rename(from, fileOf(repo, x.pack, x.file.Suffix)); err != nil {
		return err
	}
	if x.file.Suffix == ".idx" {
		d.packs.drop(repo)
	}
	return nil
}

// Restore makes the directory of a repository, as far as it is not there, with the indexes of its packs, by which is decided what is here. The packs
// come when somebody reads them, and Project writes the files of refs. Nothing bounds the indexes but the room on the disk: those of all repositories
// have to be here.
func (l *Local) Restore(ctx context.Context, repo ID) error {
	d := l.d
	lacks, err := l.fetchable(repo)
	for _, x := range lacks {
		if x.file.Suffix != ".idx" || err != nil {
			continue
		}
		if full := l.room(); full != nil {
			err = fmt.Errorf("%w: there is no room for the index of a pack: %w", ErrNoSpace, full)
		} else {
			err = l.file(ctx, repo, x)
		}
	}
	if err == nil {
		_, unlock := d.inUse.lock(repo)
		defer unlock()
		err = d.dir.begin(repo)
	}
	if err != nil {
		return fmt.Errorf("restoring repository %s: %w", repo, err)
	}
	return nil
}

// Bytes returns how many bytes of packs are on this disk, or on their way, but for indexes.
func (l *Local) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// weigh counts what a repository has on this disk, but for indexes.
func (l *Local) weigh(repo ID) error {
	entries, err := l.d.dir.list(repo.path() + "/objects/pack")
	if err != nil {
		return err
	}
	var bytes int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !strings.HasSuffix(e.Name(), ".idx") { // what goes meanwhile has none
			bytes += info.Size()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.here[repo]
	if h == nil {
		h = &held{used: l.d.now()}
		l.here[repo] = h
	}
	l.bytes += bytes - h.bytes
	if h.bytes = bytes; bytes == 0 {
		delete(l.here, repo)
	}
	return nil
}
