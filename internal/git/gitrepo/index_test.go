package gitrepo

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// bufFile is a file in memory.
type bufFile struct {
	*bytes.Reader
	closed *int
}

func (f bufFile) Close() error { *f.closed++; return nil }

// written is an index of these ids, as git writes it.
func written(sums []sum) []byte {
	sums = slices.Clone(sums)
	slices.SortFunc(sums, sum.compare)
	b := []byte(indexMagic)
	for i := range 256 {
		n := 0
		for _, s := range sums {
			if int(s[0]) <= i {
				n++
			}
		}
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for _, s := range sums {
		b = append(b, s[:]...)
	}
	return append(b, make([]byte, 8*len(sums)+40)...)
}

func opened(t testing.TB, raw []byte) *index {
	t.Helper()
	x, err := openIndex(bufFile{bytes.NewReader(raw), new(int)}, int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func someSums(n int, seed string, of func(*sum, int)) []sum {
	out := make([]sum, n)
	for i := range out {
		out[i] = sha1.Sum(fmt.Appendf(nil, "%s %d", seed, i))
		if of != nil {
			of(&out[i], i)
		}
	}
	return out
}

// Ids are found in indexes of every size and shape, one or many at once, those at the ends too.
func TestIdsAreFoundInIndexes(t *testing.T) {
	t.Parallel()
	lowest, highest := sum{}, sum(bytes.Repeat([]byte{0xff}, 20))
	for name, in := range map[string][]sum{
		"none": nil, "one": someSums(1, "a", nil), "few": someSums(300, "a", nil), "many": someSums(200_000, "a", nil),
		"the ends":      {lowest, highest},
		"one fan":       someSums(5000, "a", func(s *sum, _ int) { s[0] = 7 }),
		"alike":         someSums(5000, "a", func(s *sum, i int) { *s = sum{18: byte(i >> 8), 19: byte(i)} }),
		"with the ends": append(someSums(5000, "a", nil), lowest, highest),
	} {
		t.Run(name, func(t *testing.T) {
			x := opened(t, written(in))
			here := map[sum]bool{}
			for _, s := range in {
				here[s] = true
			}
			all, err := x.all()
			if err != nil || x.len() != len(in) || len(all) != len(in) || !slices.IsSortedFunc(all, sum.compare) {
				t.Fatal(err, x.len())
			}
			random := rand.New(rand.NewPCG(1, 2))
			for _, n := range []int{0, 1, 2, 50, 3000} {
				asked := append(someSums(n, "b", nil), lowest, highest, sum{0: 7}, sum{0: 7, 19: 9})
				for range min(n, len(in)) {
					asked = append(asked, in[random.IntN(len(in))])
				}
				slices.SortFunc(asked, sum.compare)
				rest, err := x.rest(asked)
				want := slices.DeleteFunc(slices.Clone(asked), func(s sum) bool { return here[s] })
				if err != nil || !slices.Equal(rest, want) {
					t.Errorf("of %d ids %d are missing, want %d (%v)", len(asked), len(rest), len(want), err)
				}
			}
		})
	}
}

// A damaged index is an error, whatever is in it.
func TestDamagedIndexes(t *testing.T) {
	good := written(someSums(1000, "a", nil))
	for name, change := range map[string]func([]byte) []byte{
		"nothing":   func([]byte) []byte { return nil },
		"cut":       func(b []byte) []byte { return b[:len(b)-1] },
		"half":      func(b []byte) []byte { return b[:1500] },
		"version 1": func(b []byte) []byte { return b[8:] },
		"version 3": func(b []byte) []byte { b[7] = 3; return b },
		"fan-out":   func(b []byte) []byte { b[8+4*100] = 1; return b },
		"huge":      func(b []byte) []byte { b[8+4*255] = 0xff; return b },
	} {
		raw := change(bytes.Clone(good))
		if _, err := openIndex(bufFile{bytes.NewReader(raw), new(int)}, int64(len(raw))); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

// Indexes of those repositories stay open that were asked about last, and no more files than are allowed.
func TestOpenIndexesAreBounded(t *testing.T) {
	loads, closed, opens := map[ID]int{}, 0, 0
	broken := errors.New("broken")
	c := newIndexes(6, func(repo ID) ([]*index, error) {
		loads[repo]++
		if repo[0] == 99 {
			return nil, broken
		}
		var packs []*index
		for range repo[1] {
			opens++
			packs = append(packs, &index{file: bufFile{bytes.NewReader(nil), &closed}})
		}
		return packs, nil
	})
	use := func(repo ID) {
		t.Helper()
		err := c.use(repo, func(set *packSet) error {
			if len(set.packs) != int(repo[1]) {
				t.Errorf("%d packs", len(set.packs))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if c.open > 6 && len(c.sets) > 1 || opens-closed != c.open {
			t.Errorf("%d are open, %d count", opens-closed, c.open)
		}
	}
	a, b, d, large := ID{1, 2}, ID{2, 2}, ID{3, 3}, ID{4, 20}
	use(a)
	use(b)
	use(a)
	use(d) // b was not used for longest
	use(a)
	use(d)
	if loads[a] != 1 || loads[b] != 1 || loads[d] != 1 {
		t.Errorf("loaded: %v", loads)
	}
	use(b)
	if loads[b] != 2 {
		t.Error("b was still open")
	}
	use(large)
	use(large)
	if loads[large] != 1 || c.open != 20 {
		t.Error("the only one is not kept", loads, c.open)
	}
	c.drop(large)
	c.drop(large)
	use(large)
	if loads[large] != 2 {
		t.Error("what was forgotten is known")
	}
	for range 2 {
		if err := c.use(ID{99}, func(*packSet) error { return nil }); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
	if loads[ID{99}] != 2 {
		t.Error("an error is for ever")
	}
	// Whoever uses a set may end it.
	err := c.use(a, func(*packSet) error {
		before := closed
		c.drop(a)
		if closed != before {
			t.Error("closed under a reader")
		}
		return nil
	})
	if err := errors.Join(err, c.close()); err != nil || opens != closed || c.open != 0 {
		t.Error(err, opens, closed, c.open)
	}
	for i := range maxSets + 10 {
		if err := c.use(ID{5, 0, byte(i >> 8), byte(i)}, func(*packSet) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.sets) != maxSets {
		t.Errorf("%d repositories without packs are known", len(c.sets))
	}
}

// TestIndexesThatChangeWhileTheyAreOpened: they are opened again, and an error of the first try is forgotten. Sets that others need do not
// push out one that is being opened.
func TestIndexesThatChangeWhileTheyAreOpened(t *testing.T) {
	loads, closed := map[ID]int{}, 0
	a, b := ID{1}, ID{2}
	var c *indexes
	meanwhile := func() error { return nil }
	c = newIndexes(1, func(repo ID) ([]*index, error) {
		loads[repo]++
		if repo == a {
			if err := meanwhile(); err != nil {
				return nil, err
			}
		}
		packs := make([]*index, 2)
		for i := range packs {
			packs[i] = &index{file: bufFile{bytes.NewReader(nil), &closed}}
		}
		return packs, nil
	})
	used := func(want int) {
		t.Helper()
		n := 0
		if err := c.use(a, func(*packSet) error { n++; return nil }); err != nil || n != 1 || loads[a] != want {
			t.Errorf("used %d times after %d loads: %v; want %d", n, loads[a], err, want)
		}
	}
	other := func() error { return c.use(b, func(*packSet) error { return nil }) }
	meanwhile = other
	used(1)
	c.drop(a)
	for _, err := range []error{nil, errors.New("a file is not there")} {
		clear(loads)
		meanwhile = func() error {
			if loads[a] > 2 {
				return nil
			}
			c.drop(a)
			return err
		}
		used(3)
		c.drop(a)
	}
	if err := c.close(); err != nil || c.open != 0 {
		t.Error(err, c.open)
	}
}

// TestManyIndexesOfOneRepository: few stay open, and what is in the others is found all the same, also when they are combined meanwhile.
func TestManyIndexesOfOneRepository(t *testing.T) {
	d, err := Open(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	repo := ID{1}
	if err := d.dir.skeleton(repo.path()); err != nil {
		t.Fatal(err)
	}
	var all []sum
	write := func(pack string, in []sum) {
		t.Helper()
		name := repo.path() + "/objects/pack/pack-" + pack
		if err := errors.Join(d.dir.replace(name+".idx", written(in)), d.dir.replace(name+".pack", nil)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range mostOpen + 100 {
		in := someSums(3, fmt.Sprint(i), nil)
		write(fmt.Sprint(i), in)
		all = append(all, in...)
	}
	slices.SortFunc(all, sum.compare)
	asked := append(someSums(1, "nowhere", nil), all...)
	slices.SortFunc(asked, sum.compare)
	if missing, err := d.packs.absent(repo, asked); err != nil || len(missing) != 1 {
		t.Errorf("%d are missing (%v)", len(missing), err)
	}
	if n := d.packs.indexes.open; n != mostOpen {
		t.Errorf("%d files are open", n)
	}
	tries := 0
	err = d.packs.indexes.use(repo, func(set *packSet) error {
		if tries++; tries == 1 {
			write("combined", all)
			d.packs.drop(repo)
			for i := range mostOpen + 100 {
				name := repo.path() + fmt.Sprintf("/objects/pack/pack-%d", i)
				if err := d.dir.removeFiles(name+".idx", name+".pack"); err != nil {
					return err
				}
			}
		}
		missing, err := set.rest(asked)
		if err == nil && len(missing) != 1 {
			t.Errorf("%d are missing", len(missing))
		}
		return err
	})
	if err != nil || tries != 2 || d.packs.indexes.open != 1 {
		t.Errorf("after %d tries %d files are open: %v", tries, d.packs.indexes.open, err)
	}
	again := d.packs.indexes.use(repo, func(*packSet) error {
		if tries++; tries > 9 {
			return nil
		}
		return fs.ErrNotExist
	})
	if !errors.Is(again, fs.ErrNotExist) || tries != 3 {
		t.Errorf("%v after %d tries", again, tries)
	}
}

// TestAnIndexIsOpenedAgainOnce for each look-up of any number of ids, and not at all where it can have none of them: strangers ask for thousands.
func TestAnIndexIsOpenedAgainOnce(t *testing.T) {
	d, err := Open(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	repo := ID{1}
	if err := d.dir.skeleton(repo.path()); err != nil {
		t.Fatal(err)
	}
	for i := range mostOpen + 10 {
		in := someSums(2000, fmt.Sprint(i), func(s *sum, _ int) { s[0] |= 1 })
		name := repo.path() + fmt.Sprint("/objects/pack/pack-", i)
		if err := errors.Join(d.dir.replace(name+".idx", written(in)), d.dir.replace(name+".pack", nil)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.packs.absent(repo, someSums(1, "opens all", nil)); err != nil {
		t.Fatal(err)
	}
	reads := 0
	d.BeforeRead(func(string) { reads++ })
	for want, asked := range map[int][]sum{
		10: someSums(3000, "nowhere", nil), 0: someSums(3000, "even", func(s *sum, _ int) { s[0] &^= 1 }),
	} {
		slices.SortFunc(asked, sum.compare)
		reads = 0
		if missing, err := d.packs.absent(repo, asked); err != nil || len(missing) != len(asked) || reads != want {
			t.Errorf("%d of %d are missing, and %d indexes are opened, want %d (%v)", len(missing), len(asked), reads, want, err)
		}
	}
}

func BenchmarkMissing(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			d, err := Open(Config{Dir: dir})
			if err != nil {
				b.Fatal(err)
			}
			repo := ID{1}
			var ids []gitwire.ObjectID
			if err := d.dir.skeleton(repo.path()); err != nil {
				b.Fatal(err)
			}
			for pack := range 8 {
				in := someSums(50_000, fmt.Sprint(pack), nil)
				for _, s := range in[:n/8+1] {
					ids = append(ids, s.id())
				}
				name := repo.path() + fmt.Sprintf("/objects/pack/pack-%d", pack)
				if err := errors.Join(d.dir.replace(name+".idx", written(in)), d.dir.replace(name+".pack", nil)); err != nil {
					b.Fatal(err)
				}
			}
			ids = ids[len(ids)-n:]
			for b.Loop() {
				if missing, err := d.Missing(repo, ids); err != nil || len(missing) != 0 {
					b.Fatal(len(missing), err)
				}
			}
		})
	}
}
