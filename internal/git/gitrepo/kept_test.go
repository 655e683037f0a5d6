package gitrepo_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// shelf is a depot in memory.
type shelf struct {
	t testing.TB

	mu      sync.Mutex
	has     map[gitrepo.ID]refdb.Manifest
	files   map[string][]byte // by the names of objects
	fetches []string          // kinds of files, in order
	hold    chan struct{}     // fetches wait until it is closed; nil: they do not
	begun   chan struct{}     // gets something as a fetch begins
	fail    error
}

func newShelf(t testing.TB) *shelf {
	return &shelf{t: t, has: map[gitrepo.ID]refdb.Manifest{}, files: map[string][]byte{}, begun: make(chan struct{}, 100)}
}

func (s *shelf) Manifest(repo gitrepo.ID) (refdb.Manifest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.has[repo]), nil
}

func (s *shelf) Fetch(ctx context.Context, p refdb.Pack, f refdb.File, to gitrepo.File) error {
	s.mu.Lock()
	s.fetches = append(s.fetches, f.Suffix)
	hold, b, err := s.hold, s.files[p.Object()+f.Suffix], s.fail
	s.mu.Unlock()
	s.begun <- struct{}{}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if _, bad := to.WriteAt(b, 0); bad != nil {
		return bad
	}
	return err
}

// put puts packs, which a manifest has from then on in the place of others.
func (s *shelf) put(repo gitrepo.ID, packs []gitrepo.Packed, instead ...refdb.PackName) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	m := slices.DeleteFunc(s.has[repo], func(p refdb.Pack) bool { return slices.Contains(instead, p.Name) })
	for _, x := range packs {
		p := refdb.Pack{Name: x.Name}
		bodies := map[string][]byte{}
		for _, suffix := range x.Suffixes {
			file, err := x.Open(suffix)
			if err != nil {
				s.t.Fatal(err)
			}
			b, err := io.ReadAll(file)
			if err := errors.Join(err, file.Close()); err != nil {
				s.t.Fatal(err)
			}
			bodies[suffix] = b
			p.Files = append(p.Files, refdb.File{Suffix: suffix, Bytes: int64(len(b)), Sum: sha256.Sum256(b)})
		}
		for suffix, b := range bodies {
			s.files[p.Object()+suffix] = b
		}
		m = append(m, p)
	}
	slices.SortFunc(m, func(a, b refdb.Pack) int { return slices.Compare(a.Name[:], b.Name[:]) })
	s.has[repo] = m
}

// swap is how combined packs take their place.
func (s *shelf) swap(repo gitrepo.ID) gitrepo.Swap {
	return func(_ context.Context, c gitrepo.Combined) (bool, error) {
		if !c.May() {
			return false, nil
		}
		s.put(repo, c.Fresh, c.Old...)
		return true, nil
	}
}

func (s *shelf) fetched() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.fetches = nil }()
	return strings.Join(s.fetches, " ")
}

// keptDisk is a disk whose packs lie on a shelf.
func keptDisk(t testing.TB, c gitrepo.Config) (*gitrepo.Disk, *shelf, string) {
	t.Helper()
	s := newShelf(t)
	c.Dir, c.Depot = tempDir(t), s
	return openDisk(t, c), s, c.Dir
}

// pushKept brings what a tip needs into a repository, and to the shelf.
func pushKept(t testing.TB, d *gitrepo.Disk, s *shelf, repo gitrepo.ID, pack []byte, p gitrepo.Proving) {
	t.Helper()
	q, err := d.Begin(repo)
	if err != nil {
		t.Fatal(err)
	}
	receive(t, q, pack)
	if _, err := q.Prove(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	packs, err := q.Packs()
	if err = errors.Join(err, d.Admit(q, repo)); err != nil {
		t.Fatal(err)
	}
	s.put(repo, packs)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}

// manyKept pushes a history in so many parts.
func manyKept(t testing.TB, d *gitrepo.Disk, s *shelf, repo gitrepo.ID, c *clone, name string, n int) (tips ids) {
	t.Helper()
	var tip gitwire.ObjectID
	for range n {
		next := c.commit(name, 2, tip)
		p, pack := gitrepo.Proving{Tips: ids{next}}, []string{next.String()}
		if !tip.IsZero() {
			p.Haves, pack = ids{tip}, append(pack, "^"+tip.String())
		}
		pushKept(t, d, s, repo, c.pack(pack...), p)
		tip = next
		tips = append(tips, tip)
	}
	if err := d.Project(repo, 0, refsOf("refs/heads/main", "refs/heads/"+name, tip)); err != nil {
		t.Fatal(err)
	}
	return tips
}

// packedBytes returns how long is the pack of a repository that leads to a tip.
func packedBytes(d *gitrepo.Disk, repo gitrepo.ID, tip gitwire.ObjectID) (int, error) {
	var n counter
	err := d.Pack(context.Background(), repo, &gitwire.Fetch{Wants: ids{tip}}, "", &n)
	return int(n), err
}

type counter int

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

func wipeOut(t testing.TB, dir string, repo gitrepo.ID) {
	t.Helper()
	if err := os.RemoveAll(pathOf(dir, repo)); err != nil {
		t.Fatal(err)
	}
}

// TestPacksComeOnceForAllWhoWait: whole, under another name first, packs before indexes.
func TestPacksComeOnceForAllWhoWait(t *testing.T) {
	t.Parallel()
	d, s, dir := keptDisk(t, gitrepo.Config{})
	tip := manyKept(t, d, s, some(1), newClone(t), "main", 2)[1]
	whole, err := packedBytes(d, some(1), tip)
	if err != nil || s.fetched() != "" {
		t.Fatal(err, "or what is here is fetched")
	}
	wipeOut(t, dir, some(1))
	if err := errors.Join(d.Local().Restore(t.Context(), some(1)), d.Project(some(1), 0, refsOf("refs/heads/main", "refs/heads/main", tip))); err != nil {
		t.Fatal(err)
	}
	if got := s.fetched(); got != ".idx .idx" {
		t.Errorf("to decide, %s came", got)
	}
	wantMissing(t, d, some(1), ids{tip}, 0)
	s.hold = make(chan struct{})
	for range 2 {
		<-s.begun
	}
	var g sync.WaitGroup
	for range 5 {
		g.Go(func() {
			if n, err := packedBytes(d, some(1), tip); err != nil || n != whole {
				t.Errorf("%d bytes of %d, %v", n, whole, err)
			}
		})
	}
	<-s.begun
	if got, all, is := d.Local().Bringing(some(1)); !is || got != 0 || all < 500 {
		t.Errorf("%d of %d, %v", got, all, is)
	}
	if got := packFiles(t, dir); got != "idx idx" {
		t.Errorf("half a file is there: %s", got)
	}
	// Who leaves ends nobody's fetch.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Local().Bring(ctx, some(1), ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(s.hold)
	g.Wait()
	if got := s.fetched(); got != ".pack .pack" {
		t.Errorf("%s came", got)
	}
	if _, _, is := d.Local().Bringing(some(1)); is {
		t.Error("it is still under way")
	}
	if left := entries(t, filepath.Join(dir, "incoming")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestAFetchThatFails leaves nothing, and the next one may have more luck.
func TestAFetchThatFails(t *testing.T) {
	t.Parallel()
	d, s, dir := keptDisk(t, gitrepo.Config{})
	tip := manyKept(t, d, s, some(1), newClone(t), "main", 1)[0]
	for _, name := range entries(t, filepath.Join(pathOf(dir, some(1)), "objects", "pack")) {
		if strings.HasSuffix(name, ".pack") {
			if err := os.Remove(filepath.Join(pathOf(dir, some(1)), "objects", "pack", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.fail = errors.New("planted")
	if _, err := packedBytes(d, some(1), tip); !errors.Is(err, s.fail) {
		t.Error(err)
	}
	if got := packFiles(t, dir); got != "idx" {
		t.Errorf("there are %s", got)
	}
	if left := entries(t, filepath.Join(dir, "incoming")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	s.fail = nil
	if _, err := packedBytes(d, some(1), tip); err != nil {
		t.Error(err)
	}
	// A file that is shorter than it was is fetched anew.
	file := filepath.Join(pathOf(dir, some(1)), "objects", "pack", s.has[some(1)][0].Name.String()+".pack")
	if err := errors.Join(os.Chmod(file, 0o600), os.Truncate(file, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := packedBytes(d, some(1), tip); err != nil {
		t.Error(err)
	}
}

// TestNobodyDecidesWithoutAnIndex: what a repository has nobody can tell then.
func TestNobodyDecidesWithoutAnIndex(t *testing.T) {
	t.Parallel()
	d, s, dir := keptDisk(t, gitrepo.Config{})
	tips := manyKept(t, d, s, some(1), newClone(t), "main", 2)
	m, _ := s.Manifest(some(1))
	if got, err := d.Local().MissingAmong(some(1), m, tips); err != nil || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	// Of one pack alone there are fewer objects, whatever the directory has.
	if got, err := d.Local().MissingAmong(some(1), m[:1], tips); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := d.Local().MissingAmong(some(1), nil, tips); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	wipeOut(t, dir, some(1))
	fresh := openDisk(t, gitrepo.Config{Dir: dir, Depot: s})
	if got, err := fresh.Local().MissingAmong(some(1), m, tips); !errors.Is(err, gitrepo.ErrAbsent) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := fresh.Missing(some(1), tips); !errors.Is(err, gitrepo.ErrAbsent) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestWhatTheDirectoryHasBesides counts for nothing: a pack that came and that no commit names, also where somebody builds on it.
func TestWhatTheDirectoryHasBesides(t *testing.T) {
	t.Parallel()
	d, s, dir := keptDisk(t, gitrepo.Config{})
	c := newClone(t)
	tip := manyKept(t, d, s, some(1), c, "main", 1)[0]
	stray := c.commit("main", 2, tip)
	push(t, d, some(1), c.pack(stray.String(), "^"+tip.String()), gitrepo.Proving{Tips: ids{stray}, Haves: ids{tip}})
	wantMissing(t, d, some(1), ids{tip, stray}, 1)
	next := c.commit("main", 1, stray)
	q := begin(t, d, some(1))
	receive(t, q, c.pack(next.String(), "^"+stray.String()))
	var lacks *gitrepo.MissingError
	if _, err := q.Prove(t.Context(), gitrepo.Proving{Tips: ids{next}, Haves: ids{stray}}); !errors.As(err, &lacks) {
		t.Errorf("somebody builds on what no commit names: %v", err)
	}
	if got := len(strings.Fields(packFiles(t, dir))); got != 4 {
		t.Errorf("%d files", got)
	}
}

// TestTheOldestPacksGoFirst: within the bound, but none with a reader or a quarantine, and none that the depot lacks.
func TestTheOldestPacksGoFirst(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	var mu sync.Mutex
	now := func() time.Time { mu.Lock(); defer mu.Unlock(); clock = clock.Add(time.Second); return clock }
	d, s, dir := keptDisk(t, gitrepo.Config{Now: now, Local: 1 << 30})
	var tips ids
	for i := range byte(4) {
		tips = append(tips, manyKept(t, d, s, some(i), newClone(t), "main", 1)...)
	}
	c := newClone(t)
	lonely := c.commit("main", 1, gitwire.ObjectID{})
	push(t, d, some(4), c.pack("main"), gitrepo.Proving{Tips: ids{lonely}})
	here := func() (out []int) {
		for i := range byte(5) {
			found, err := filepath.Glob(filepath.Join(pathOf(dir, some(i)), "objects", "pack", "*.pack"))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) > 0 {
				out = append(out, int(i))
			}
		}
		return out
	}
	bound := func(n int64) { d.Bound(n) }
	if _, err := packedBytes(d, some(0), tips[0]); err != nil { // it is the one used last now
		t.Fatal(err)
	}
	end := d.Reading(some(1))
	q := begin(t, d, some(2))
	bound(1)
	if err := d.Local().Shrink(); err != nil {
		t.Fatal(err)
	}
	if got := here(); !slices.Equal(got, []int{1, 2, 4}) {
		t.Errorf("%v are here: one is read, to one something comes, one is not in the depot", got)
	}
	end()
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Local().Shrink(); err != nil {
		t.Fatal(err)
	}
	if got := here(); !slices.Equal(got, []int{4}) {
		t.Errorf("%v are here", got)
	}
	// Nothing comes for which there is no room, and all is told.
	if _, err := packedBytes(d, some(0), tips[0]); !errors.Is(err, gitrepo.ErrNoSpace) {
		t.Error(err)
	}
	one := s.has[some(0)].Bytes()
	bound(2*one + 2000)
	for _, i := range []byte{0, 1, 0, 2} {
		if _, err := packedBytes(d, some(i), tips[i]); err != nil {
			t.Fatal(i, err)
		}
	}
	if got := here(); slices.Contains(got, 1) || !slices.Contains(got, 2) {
		t.Errorf("%v are here, and 1 was used longest ago", got)
	}
	for i := range byte(4) {
		wantMissing(t, d, some(i), tips[i:i+1], 0)
	}
	if left := d.Fetches().Unreturned(); len(left) > 0 {
		t.Errorf("%q", left)
	}
}

// TestRoomForPacks: where the disk has no room, packs go first of who was there longest, and then nothing comes.
func TestRoomForPacks(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	var mu sync.Mutex
	left := 0
	d, s, _ := keptDisk(t, gitrepo.Config{Room: func() error {
		mu.Lock()
		defer mu.Unlock()
		if left--; left >= 0 {
			return full
		}
		return nil
	}})
	var tips ids
	for i := range byte(3) {
		tips = append(tips, manyKept(t, d, s, some(i), newClone(t), "main", 1)...)
	}
	mu.Lock()
	left = 2
	mu.Unlock()
	if err := d.Local().Shrink(); err != nil {
		t.Fatal(err)
	}
	s.fetched()
	if _, err := packedBytes(d, some(2), tips[2]); err != nil || s.fetched() != "" {
		t.Error(err, "or the newest went")
	}
	mu.Lock()
	left = 99
	mu.Unlock()
	if _, err := packedBytes(d, some(0), tips[0]); !errors.Is(err, gitrepo.ErrNoSpace) {
		t.Error(err)
	}
	mu.Lock()
	left = 0
	mu.Unlock()
	if _, err := packedBytes(d, some(0), tips[0]); err != nil || s.fetched() != ".pack" {
		t.Error(err)
	}
}

// TestCombiningWithADepot: the combined packs take the place of the old ones by a commit, and the disk follows.
func TestCombiningWithADepot(t *testing.T) {
	t.Parallel()
	d, s, dir := keptDisk(t, gitrepo.Config{})
	c := newClone(t)
	tips := manyKept(t, d, s, some(1), c, "main", 10)
	refs := refsOf("refs/heads/main", "refs/heads/main", tips[9])
	end := d.Reading(some(1))
	if did, err := d.Maintain(t.Context(), some(1), refs, nil, s.swap(some(1))); err != nil || !did {
		t.Fatal(did, err)
	}
	if n := len(s.has[some(1)]); n != 1 {
		t.Errorf("%d packs", n)
	}
	if got := strings.Count(packFiles(t, dir), "pack"); got != 11 {
		t.Errorf("%d packs while somebody reads", got)
	}
	end()
	if got := strings.Count(packFiles(t, dir), "pack"); got != 1 {
		t.Errorf("%d packs", got)
	}
	wantMissing(t, d, some(1), tips, 0)
	fsck(t, dir)
	wipeOut(t, dir, some(1))
	if err := errors.Join(d.Local().Restore(t.Context(), some(1)), d.Project(some(1), 0, refs)); err != nil {
		t.Fatal(err)
	}
	if _, err := packedBytes(d, some(1), tips[9]); err != nil {
		t.Error(err)
	}
	fsck(t, dir)
}

// TestCombiningIsGivenUp: where a push begins meanwhile, or the commit does not come, and something would go.
func TestCombiningIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(t *testing.T, d *gitrepo.Disk, gone ids)
		refuse    bool
		did       bool
	}{
		"nothing happens": {did: true},
		"a push begins": {meanwhile: func(t *testing.T, d *gitrepo.Disk, _ ids) {
			begin(t, d, some(1))
		}},
		"somebody is told that it is here": {meanwhile: func(t *testing.T, d *gitrepo.Disk, gone ids) {
			wantMissing(t, d, some(1), gone, 0)
		}},
		"the commit is refused": {refuse: true},
	} {
		t.Run(name, func(t *testing.T) {
			clock := time.Now()
			d, s, dir := keptDisk(t, gitrepo.Config{Now: func() time.Time { return clock }})
			c := newClone(t)
			tips := manyKept(t, d, s, some(1), c, "main", 10)
			other := c.commit("other", 2, gitwire.ObjectID{})
			pushKept(t, d, s, some(1), c.pack("other"), gitrepo.Proving{Tips: ids{other}})
			refs := refsOf("refs/heads/main", "refs/heads/main", tips[9])
			old := clock.Add(-20 * 24 * time.Hour)
			for _, name := range append(entries(t, pathOf(dir, some(1))), "packed-refs") {
				if err := os.Chtimes(filepath.Join(pathOf(dir, some(1)), name), old, old); err != nil {
					t.Fatal(err)
				}
			}
			before := len(s.has[some(1)])
			meanwhile := test.meanwhile
			d.BeforeSync(func(name string) {
				if meanwhile != nil && strings.HasPrefix(name, "incoming/") {
					meanwhile(t, d, ids{other})
					meanwhile = nil
				}
			})
			did, err := d.Maintain(t.Context(), some(1), refs, nil, func(ctx context.Context, c gitrepo.Combined) (bool, error) {
				if test.refuse {
					return false, nil
				}
				return s.swap(some(1))(ctx, c)
			})
			if err != nil || did != test.did {
				t.Fatal(did, err)
			}
			if n := len(s.has[some(1)]); did != (n < before) {
				t.Errorf("%d packs of %d", n, before)
			}
			gone := 0
			if did {
				gone = 1
			}
			wantMissing(t, d, some(1), ids{other}, gone)
			if _, err := packedBytes(d, some(1), tips[9]); err != nil {
				t.Error(err)
			}
			fsck(t, dir)
		})
	}
}

// TestNoPushBeginsInTheCommitOfCombinedPacks: it would build on what goes.
func TestNoPushBeginsInTheCommitOfCombinedPacks(t *testing.T) {
	t.Parallel()
	d, s, _ := keptDisk(t, gitrepo.Config{})
	tips := manyKept(t, d, s, some(1), newClone(t), "main", 10)
	began := make(chan struct{})
	did, err := d.Maintain(t.Context(), some(1), refsOf("refs/heads/main", "refs/heads/main", tips[9]), nil, func(ctx context.Context, c gitrepo.Combined) (bool, error) {
		go func() {
			defer close(began)
			q, err := d.Begin(some(1))
			if err == nil {
				err = q.Close()
			}
			if err != nil {
				t.Error(err)
			}
		}()
		select {
		case <-began:
			t.Error("a push has begun")
		case <-time.After(50 * time.Millisecond):
		}
		return s.swap(some(1))(ctx, c)
	})
	if err != nil || !did {
		t.Fatal(did, err)
	}
	<-began
}

// TestThePacksUsedLastStay where some have to go.
func TestThePacksUsedLastStay(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	var mu sync.Mutex
	now := func() time.Time { mu.Lock(); defer mu.Unlock(); clock = clock.Add(time.Second); return clock }
	d, s, dir := keptDisk(t, gitrepo.Config{Now: now, Local: 1 << 30})
	var tips ids
	var all int64
	for i := range byte(3) {
		tips = append(tips, manyKept(t, d, s, some(i), newClone(t), "main", 1)...)
		for _, x := range s.has[some(i)][0].Files {
			if x.Suffix != ".idx" { // indexes stay, and do not count
				all += x.Bytes
			}
		}
	}
	for _, i := range []byte{1, 2, 0} {
		if _, err := packedBytes(d, some(i), tips[i]); err != nil {
			t.Fatal(err)
		}
	}
	d.Bound(all - 1)
	if err := d.Local().Shrink(); err != nil {
		t.Fatal(err)
	}
	for i, stays := range []bool{true, false, true} {
		has := entries(t, filepath.Join(pathOf(dir, some(byte(i))), "objects", "pack"))
		if slices.ContainsFunc(has, func(name string) bool { return strings.HasSuffix(name, ".pack") }) != stays {
			t.Errorf("repository %d has %q", i, has)
		}
	}
}

// TestStrayPacksGo: a day after they came, with the next look at the repository.
func TestStrayPacksGo(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	d, s, dir := keptDisk(t, gitrepo.Config{Now: func() time.Time { return clock }})
	c := newClone(t)
	tips := manyKept(t, d, s, some(1), c, "main", 10)
	stray := c.commit("stray", 1, gitwire.ObjectID{})
	push(t, d, some(1), c.pack("stray"), gitrepo.Proving{Tips: ids{stray}})
	refs := refsOf("refs/heads/main", "refs/heads/main", tips[9])
	fails := func(context.Context, gitrepo.Combined) (bool, error) { return false, nil }
	packs := filepath.Join(pathOf(dir, some(1)), "objects", "pack")
	came := entries(t, packs)
	for _, want := range []int{11, 10} {
		if _, err := d.Maintain(t.Context(), some(1), refs, nil, fails); err != nil {
			t.Fatal(err)
		}
		n := 0
		has := entries(t, packs)
		for _, name := range has {
			if strings.HasSuffix(name, ".pack") {
				n++
			}
		}
		if gone := slices.DeleteFunc(slices.Clone(came), func(name string) bool { return slices.Contains(has, name) }); (len(gone) > 0) != (want == 10) {
			t.Errorf("%q are gone", gone)
		}
		if n < want || n > want+1 { // and what was combined in vain, which goes a day later, too
			t.Errorf("%d packs, not %d", n, want)
		}
		clock = clock.Add(25 * time.Hour)
	}
}

// TestTheEndOfADisk ends the fetches that are under way.
func TestTheEndOfADisk(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	dir := tempDir(t)
	git, err := theGit()
	if err != nil {
		t.Fatal(err)
	}
	d, err := gitrepo.Open(gitrepo.Config{Dir: dir, Depot: s, Git: git})
	if err != nil {
		t.Fatal(err)
	}
	manyKept(t, d, s, some(1), newClone(t), "main", 1)
	wipeOut(t, dir, some(1))
	s.hold = make(chan struct{})
	failed := make(chan error)
	go func() { failed <- d.Local().Bring(context.Background(), some(1), "") }()
	<-s.begun
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestUploadsFromADepot: a quarantine that another process had is there again.
func TestUploadsFromADepot(t *testing.T) {
	t.Parallel()
	d, s, dir := keptDisk(t, gitrepo.Config{})
	c := newClone(t)
	tip := manyKept(t, d, s, some(1), c, "main", 1)[0]
	next := c.commit("main", 1, tip)
	q := begin(t, d, some(1))
	receive(t, q, c.pack("main", "^"+tip.String()))
	proving := gitrepo.Proving{Commits: ids{next}, Haves: ids{tip}}
	if _, err := q.Prove(t.Context(), proving); err != nil {
		t.Fatal(err)
	}
	packs, err := q.Packs()
	if err != nil {
		t.Fatal(err)
	}
	s.put(some(9), packs)
	again := openDisk(t, gitrepo.Config{Dir: dir, Depot: s})
	held, err := again.Local().BeginWith(t.Context(), some(1), s.has[some(9)])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Prove(t.Context(), proving); err != nil || held.Bytes() == 0 {
		t.Error(err)
	}
	if err := errors.Join(again.Admit(held, some(1)), held.Close()); err != nil {
		t.Fatal(err)
	}
	s.put(some(1), packs1(s, some(9), again, dir))
	wantMissing(t, again, some(1), ids{next}, 0)
	if _, err := again.Local().BeginWith(t.Context(), some(1), append(s.has[some(1)], s.has[some(9)]...)); err == nil {
		t.Error("a quarantine has several packs")
	}
}

// packs1 are the packs of a manifest, as they lie in the directory of repository 1.
func packs1(s *shelf, of gitrepo.ID, d *gitrepo.Disk, _ string) (out []gitrepo.Packed) {
	s.t.Helper()
	all, err := d.Packed(some(1))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range all {
		if _, ok := s.has[of].Find(p.Name); ok {
			out = append(out, p)
		}
	}
	return out
}

// TestIndexesNeedRoom: a disk without any takes none, and it is told how much of a repository is away.
func TestIndexesNeedRoom(t *testing.T) {
	t.Parallel()
	full := false
	d, s, dir := keptDisk(t, gitrepo.Config{Room: func() error {
		if full {
			return errors.New("full")
		}
		return nil
	}})
	manyKept(t, d, s, some(1), newClone(t), "main", 2)
	m := s.has[some(1)]
	away := func(want int64) {
		t.Helper()
		if n, err := d.Away(some(1), m); err != nil || n != want {
			t.Errorf("%d bytes are away, not %d: %v", n, want, err)
		}
	}
	away(0)
	wipeOut(t, dir, some(1))
	away(m.Bytes())
	full = true
	if err := d.Local().Restore(t.Context(), some(1)); !errors.Is(err, gitrepo.ErrNoSpace) {
		t.Error(err)
	}
	away(m.Bytes())
	full = false
	if err := d.Local().Restore(t.Context(), some(1)); err != nil {
		t.Error(err)
	}
	var indexes int64
	for _, p := range m {
		indexes += p.Files[len(p.Files)-1].Bytes
	}
	away(m.Bytes() - indexes)
}
