package kv

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store/layout"
)

// TestATableThatCannotBeOpened counts as one place that is lost.
func TestATableThatCannotBeOpened(t *testing.T) {
	fs := vfs.NewMem()
	if err := writeFile(fs, "000001.sst", []byte("no table")); err != nil {
		t.Fatal(err)
	}
	if bad, err := ReadTable(fs, "000001.sst", func(Version) error { return nil }); bad != 1 || err != nil {
		t.Errorf("%d, %v", bad, err)
	}
}

// TestATableWithAnUnreadableBlock loses what that holds, and tells of it.
func TestATableWithAnUnreadableBlock(t *testing.T) {
	fs := vfs.NewMem()
	f, err := fs.Create("000001.sst", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), sstable.WriterOptions{BlockSize: 100, TableFormat: sstable.TableFormatMax})
	for i := range byte(40) {
		if err := w.Set([]byte{layout.TableNote, i}, []byte("as good as any")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	count := func(want int) (n int) {
		bad, err := ReadTable(fs, "000001.sst", func(Version) error { n++; return nil })
		if bad != want || err != nil {
			t.Errorf("%d blocks cannot be read, %v; want %d", bad, err, want)
		}
		return n
	}
	if n := count(0); n != 40 {
		t.Errorf("%d keys", n)
	}
	spoilt, err := fs.OpenReadWrite("000001.sst", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := spoilt.WriteAt([]byte("spoilt"), 10); err != nil {
		t.Fatal(err)
	}
	if n := count(1); n == 0 || n >= 40 {
		t.Errorf("%d keys are left", n)
	}
}
