package index

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

func numberedKey(table byte, n int) []byte {
	return layout.HashKey(table, layout.HashOf(fmt.Sprint(n)))
}

func TestASketchForgetsNoKeyAndKnowsFewThatAreNotThere(t *testing.T) {
	k := NewSketch()
	k.covers[layout.TableSlot] = true
	const n = firstKeys * (1 + layerGrowth + 1) // into the third layer
	for i := range n {
		k.Wrote(numberedKey(layout.TableSlot, i))
	}
	if layers := len(*k.layers.Load()); layers != 3 {
		t.Errorf("%d layers", layers)
	}
	passed := 0
	for i := range n {
		if k.Lacks(numberedKey(layout.TableSlot, i)) {
			t.Fatalf("key %d is lost", i)
		}
		if !k.Lacks(numberedKey(layout.TableSlot, -1-i)) {
			passed++
		}
	}
	if passed > n/50 {
		t.Errorf("%d of %d keys that are not there pass", passed, n)
	}
}

func TestASketchSaysNothingOfOtherTables(t *testing.T) {
	k := NewSketch()
	k.covers[layout.TableSlot] = true
	for _, table := range []byte{layout.TableID, layout.TableLog, layout.TableTag} {
		k.Wrote(numberedKey(table, 1))
		if k.Lacks(numberedKey(table, 2)) {
			t.Errorf("%q", table)
		}
	}
	if k.left != 0 {
		t.Error("a key was added")
	}
}

// What is known of a flagged row is the value that it stands under, since that is what is asked.
func TestASketchKnowsFlaggedRowsByTheirValue(t *testing.T) {
	k := NewSketch()
	k.Load(emptyDB(t))
	p := layout.Flagged(layout.TagPrefix('e', layout.HashOf("x")))
	if !k.Lacks(p) {
		t.Error("it is there before")
	}
	k.Wrote(layout.AppendOrder(p[:len(p):len(p)], 7, nostr.ID{1}))
	if k.Lacks(p) || !k.Lacks(layout.Flagged(layout.TagPrefix('e', layout.HashOf("y")))) || !k.Lacks(layout.Flagged(layout.TagPrefix('q', layout.HashOf("x")))) {
		t.Error("it is not told by its value")
	}
}

// Of what is stored it is known under which values of the tags that name events there is something, and of no other tag.
func TestASketchKnowsWhoIsNamed(t *testing.T) {
	db := emptyDB(t)
	row := func(name byte, value string, n byte) []byte {
		return layout.AppendOrder(layout.TagPrefix(name, layout.HashOf(value)), 7, nostr.ID{n})
	}
	for n := range byte(3) {
		if err := db.Set(row('q', "loaded", n), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for name, most := range map[string]int{"as many": 3, "too many": 2} {
		k := NewSketch()
		k.most = most
		k.Load(db)
		for n := range byte(100) {
			for _, tag := range []byte("eEqa") {
				k.Wrote(row(tag, "written", n))
			}
		}
		for _, tag := range []byte("eEqap") {
			covered := tag != 'a' && tag != 'p' && (tag != 'q' || most == 3)
			for value, there := range map[string]bool{"written": true, "loaded": tag == 'q', "nowhere": false} {
				if lacks := k.Lacks(layout.TagPrefix(tag, layout.HashOf(value))); lacks != (covered && !there) {
					t.Errorf("%s: %c %s: lacks %v", name, tag, value, lacks)
				}
			}
		}
		if used := firstKeys - k.left; used > 6 {
			t.Errorf("%s: the same values took %d places", name, used)
		}
	}
}

func emptyDB(t *testing.T) *pebble.DB {
	t.Helper()
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestASketchLoadsWhatIsThereUpToABound(t *testing.T) {
	db := emptyDB(t)
	for i := range 100 {
		for _, table := range []byte{layout.TableSlot, layout.TableRecord} {
			if table == layout.TableSlot && i >= 50 {
				continue
			}
			if err := db.Set(numberedKey(table, i), binary.BigEndian.AppendUint64(nil, 1), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	k := NewSketch()
	k.most = 50
	k.Load(db)
	for i := range 50 {
		if k.Lacks(numberedKey(layout.TableSlot, i)) {
			t.Fatalf("key %d is not loaded", i)
		}
	}
	if !k.covers[layout.TableSlot] || !k.covers[layout.TableVanished] || k.covers[layout.TableRecord] {
		t.Errorf("covered: %v, %v, %v", k.covers[layout.TableSlot], k.covers[layout.TableVanished], k.covers[layout.TableRecord])
	}
	if k.Lacks(numberedKey(layout.TableRecord, 1000)) {
		t.Error("a table with too many keys is answered for")
	}
}

func TestGenerationsKeepWhatIsUsed(t *testing.T) {
	var g generations[int, int]
	for i := range 10 * memoKeys {
		g.put(i, i)
		if v, ok := g.get(0); !ok || v != 0 {
			t.Fatalf("the one in use left after %d", i)
		}
		if len(g.young)+len(g.old) > 2*memoKeys {
			t.Fatalf("%d and %d", len(g.young), len(g.old))
		}
	}
	if _, ok := g.get(1); ok {
		t.Error("an old one is still there")
	}
	g.put(1, 1)
	g.old = map[int]int{1: 2}
	g.drop(1)
	if _, ok := g.get(1); ok {
		t.Error("it was not dropped from both")
	}
}
