package refdb_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/refdb"
)

// pack is a pack with some number, whose files have a hundred bytes more each.
func pack(n byte, suffixes ...string) refdb.Pack {
	p := refdb.Pack{Name: refdb.PackName{n}, Term: 1 << 40, Random: [16]byte{9, n}}
	for i, s := range append(append([]string{".pack"}, suffixes...), ".idx") {
		p.Files = append(p.Files, refdb.File{Suffix: s, Bytes: int64(n) * 1000, Sum: [sha256.Size]byte{n, byte(i)}})
	}
	return p
}

func sampleManifest() refdb.Manifest {
	return refdb.Manifest{pack(1), pack(2, ".rev", ".bitmap"), pack(200, ".mtimes")}
}

func TestManifestsAreReadAsTheyWereWritten(t *testing.T) {
	for _, m := range []refdb.Manifest{{}, sampleManifest()} {
		if got, err := refdb.ParseManifest(m.Append(nil)); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%v\n%+v\n%+v", err, got, m)
		}
	}
	if n := sampleManifest().Bytes(); n != 2*1000+4*2000+3*200_000 {
		t.Errorf("%d bytes", n)
	}
	p := pack(255)
	want := "packs/ff00000000000000000000000000000000000000000000000000000000000000-1099511627776-09ff0000000000000000000000000000"
	if got := p.Object(); got != want || objects.CheckName(got+".pack") != nil {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestNamesOfPacks(t *testing.T) {
	n := refdb.PackName{0xab, 19: 1}
	if got, err := refdb.ParsePackName(n.String()); err != nil || got != n || n.String() != "pack-ab00000000000000000000000000000000000001" {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", "pack-", n.String()[5:], n.String() + "00", strings.ToUpper(n.String()), "pack-" + strings.ToUpper(n.String()[5:]), "pack-x" + n.String()[6:]} {
		if got, err := refdb.ParsePackName(bad); err == nil {
			t.Errorf("%q is %s", bad, got)
		}
	}
}

func TestDamagedManifestsAreToldApart(t *testing.T) {
	row := sampleManifest().Append(nil)
	for n := range row {
		if _, err := refdb.ParseManifest(row[:n]); err == nil {
			t.Fatalf("cut after %d bytes", n)
		}
	}
	bad := map[string][]byte{"one byte more": append(bytes.Clone(row), 0), "another format": append([]byte{2}, row[1:]...)}
	for name, m := range map[string]refdb.Manifest{
		"packs out of order": {pack(2), pack(1)}, "one pack twice": {pack(1), pack(1)},
		"no files":             {{Files: nil}},
		"without an index":     {{Files: pack(1).Files[:1]}},
		"two without an index": {{Files: pack(1, ".rev").Files[:2]}},
		"without the pack":     {{Files: pack(1, ".rev").Files[1:]}},
		"files out of order":   {{Files: pack(1, ".bitmap", ".rev").Files}},
		"one kind twice":       {{Files: pack(1, ".rev", ".rev").Files}},
		"a file that is huge":  {{Files: []refdb.File{{Suffix: ".pack", Bytes: 1 << 41}, {Suffix: ".idx"}}}},
		"an unknown kind":      {{Files: []refdb.File{{Suffix: ".pack"}, {Suffix: ".odd"}, {Suffix: ".idx"}}}},
	} {
		bad[name] = m.Append(nil)
	}
	many := refdb.Manifest{}
	for i := range 4097 {
		p := pack(1)
		p.Name[0], p.Name[1] = byte(i>>8), byte(i)
		many = append(many, p)
	}
	if _, err := refdb.ParseManifest(many[:4096].Append(nil)); err != nil {
		t.Error(err)
	}
	bad["too many"] = many.Append(nil)
	long := bytes.Clone(row)
	long = append(long[:1], append([]byte{0x83, 0}, long[2:]...)...)
	bad["a number that is longer than it has to be"] = long
	for name, row := range bad {
		if m, err := refdb.ParseManifest(row); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(refdb.Manifest{}.Append(nil))
	f.Add(sampleManifest().Append(nil))
	f.Fuzz(func(t *testing.T, row []byte) {
		m, err := refdb.ParseManifest(row)
		if err == nil && !bytes.Equal(m.Append(nil), row) {
			t.Fatalf("%x is not the form of %+v", row, m)
		}
	})
}

func (d *desk) manifest(dir byte) refdb.Manifest {
	v := d.store.View()
	defer v.Close()
	m, err := refdb.ReadManifest(v, refdb.Dir{dir})
	d.must(err)
	return m
}

// pushPacks brings a commit, and packs with it.
func (d *desk) pushPacks(a refdb.Arrival, commit byte) error {
	d.Helper()
	a.Dir = refdb.Dir{1}
	a.Admit = func(dir refdb.Dir) error { d.put(dir, id(commit)); return nil }
	return d.turn(func(t refdb.Turn) error { _, err := d.ledger.Arrive(t, a); return err })
}

// TestPacksComeWithTheRefsThatLeadToThem: one commit has both.
func TestPacksComeWithTheRefsThatLeadToThem(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	of, dir := addressOf(repo), d.kept(repo).Dir
	has := func(what string, want ...refdb.Pack) {
		t.Helper()
		got := d.manifest(dir[0])
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, refdb.Manifest(want)) {
			t.Errorf("%s: %+v\n%+v", what, got, want)
		}
		if n := d.kept(repo).Bytes; len(want) > 0 && n != got.Bytes() {
			t.Errorf("%s: %d bytes are counted of %d", what, n, got.Bytes())
		}
	}
	has("before")
	d.must(d.pushPacks(refdb.Arrival{Of: of, Bytes: 5, Packs: []refdb.Pack{pack(5)}}, 5))
	d.must(d.pushPacks(refdb.Arrival{Of: of, Bytes: 5, Packs: []refdb.Pack{pack(3)}}, 6))
	has("two came", pack(3), pack(5))
	again := pack(5, ".rev")
	again.Random[0]++
	d.must(d.pushPacks(refdb.Arrival{Of: of, Packs: []refdb.Pack{again}}, 7))
	has("one came again", pack(3), again)
	d.must(d.pushPacks(refdb.Arrival{Of: of}, 7))
	has("nothing had to come", pack(3), again)

	combine := func(want bool, old []refdb.PackName, fresh ...refdb.Pack) (err error) {
		t.Helper()
		return d.turn(func(x refdb.Turn) error {
			before, after, done, err := d.ledger.Combined(x, of, dir, old, fresh)
			if err == nil && done != want {
				t.Errorf("done: %v", done)
			}
			if done && (after.Bytes != pack(9).Bytes()+pack(3).Bytes() || before.Bytes != pack(3).Bytes()+again.Bytes()) {
				t.Errorf("%d bytes, and %d before", after.Bytes, before.Bytes)
			}
			return err
		})
	}
	d.must(combine(false, []refdb.PackName{{5}, {6}}, pack(9)))
	has("one of the old packs was never there", pack(3), again)
	d.must(combine(true, []refdb.PackName{{5}}, pack(9)))
	has("combined", pack(3), pack(9))
	d.must(combine(false, []refdb.PackName{{5}}, pack(10)))
	has("one of the old packs is there no more", pack(3), pack(9))

	// What is in the trash comes into no manifest, and stays in those that have it.
	d.must(d.turn(func(x refdb.Turn) error { return d.ledger.Trash(x, []string{pack(11).Object(), pack(9).Object()}) }))
	if err := d.pushPacks(refdb.Arrival{Of: of, Packs: []refdb.Pack{pack(11)}}, 8); !errors.Is(err, refdb.ErrTrashed) {
		t.Error(err)
	}
	if err := combine(false, []refdb.PackName{{3}}, pack(11)); !errors.Is(err, refdb.ErrTrashed) {
		t.Error(err)
	}
	d.must(d.pushPacks(refdb.Arrival{Of: of, Packs: []refdb.Pack{pack(9)}}, 8))
	has("after the trash", pack(3), pack(9))
	v := d.store.View()
	row, err := v.Row(refdb.TrashName(pack(11).Object()))
	v.Close()
	if at, bad := refdb.ParseTrash(row); err != nil || bad != nil || !at.Equal(d.now.Truncate(time.Second)) {
		t.Errorf("%v, %v, %v", at, err, bad)
	}
}

// TestARepositoryHasSoManyPacks: what comes beyond is refused, and to combine them is not.
func TestARepositoryHasSoManyPacks(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	of := addressOf(repo)
	var many []refdb.Pack
	for i := range 4096 {
		p := pack(1)
		p.Name[0], p.Name[1] = byte(i>>8), byte(i)
		many = append(many, p)
	}
	d.must(d.pushPacks(refdb.Arrival{Of: of, Packs: many}, 5))
	one := pack(1)
	one.Name = refdb.PackName{0xff}
	if err := d.pushPacks(refdb.Arrival{Of: of, Packs: []refdb.Pack{one}}, 6); !errors.Is(err, refdb.ErrManyPacks) {
		t.Error(err)
	}
	if n := len(d.manifest(d.kept(repo).Dir[0])); n != 4096 {
		t.Errorf("%d packs", n)
	}
	d.must(d.turn(func(x refdb.Turn) error {
		_, _, done, err := d.ledger.Combined(x, of, d.kept(repo).Dir, []refdb.PackName{many[0].Name, many[1].Name}, []refdb.Pack{one})
		if !done {
			t.Error("not combined")
		}
		return err
	}))
}

// TestTheManifestOfARemovedRepositoryIsSetAside: its objects stay for a while.
func TestTheManifestOfARemovedRepositoryIsSetAside(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	of, dir := addressOf(repo), d.kept(repo).Dir
	d.must(d.pushPacks(refdb.Arrival{Of: of, Packs: []refdb.Pack{pack(5)}}, 5))
	d.must(d.turn(func(x refdb.Turn) error {
		r := d.kept(repo)
		r.Gone = 5
		return r.Write(x.Batch, false)
	}))
	d.must(d.turn(func(x refdb.Turn) error {
		_, gone, err := d.ledger.Remove(x, of, 9)
		if !gone {
			t.Error("it stays")
		}
		return err
	}))
	if m := d.manifest(dir[0]); len(m) > 0 {
		t.Errorf("%+v", m)
	}
	v := d.store.View()
	defer v.Close()
	row, err := v.Row(refdb.RemovedName(dir))
	d.must(err)
	at, m, err := refdb.ParseRemoved(row)
	if err != nil || !reflect.DeepEqual(m, refdb.Manifest{pack(5)}) || !at.Equal(d.now.Truncate(time.Second)) {
		t.Errorf("%v, %+v, %v", at, m, err)
	}
	if _, _, err := refdb.ParseRemoved(row[:7]); err == nil {
		t.Error("a row that is cut")
	}
}

// TestAdoptedPacks: a repository whose packs lay on the disk alone gets a manifest.
func TestAdoptedPacks(t *testing.T) {
	d := newDesk(t)
	repo := d.hosted()
	b, err := d.store.Begin()
	d.must(err)
	d.must(refdb.Adopt(b, d.kept(repo), []refdb.Pack{pack(7), pack(2)}))
	_, err = b.Commit()
	d.must(err)
	if got := d.manifest(d.kept(repo).Dir[0]); !reflect.DeepEqual(got, refdb.Manifest{pack(2), pack(7)}) || d.kept(repo).Bytes != got.Bytes() {
		t.Errorf("%+v, %+v", got, d.kept(repo))
	}
}
