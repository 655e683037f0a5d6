package storecheck

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// TestSalvageTakesEveryTable: of all that does not follow from the events the newest is taken.
func TestSalvageTakesEveryTable(t *testing.T) {
	tables := []byte{layout.TableMeta, layout.TableLog, layout.TableID, layout.TableRecord, layout.TableNote, layout.TableSlot, layout.TableDeletedID, layout.TableDeletedAddress, layout.TablePurge, layout.TableMarks}
	o := store.Defaults()
	o.Dir, o.FS = "data", vfs.NewMem()
	s, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	behind(t, o, func(db *pebble.DB) error {
		for _, value := range []string{"old", "new"} {
			w := db.NewBatch()
			for _, table := range tables {
				if err := w.Set([]byte{table, 'k'}, []byte(value), nil); err != nil {
					return err
				}
			}
			if err := w.Commit(pebble.Sync); err != nil {
				return err
			}
		}
		return nil
	})
	from, err := salvage(o, t.Errorf)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		got := ""
		err := from.Each(table, func(key, value []byte) error {
			if string(key[1:]) == "k" {
				got += string(value)
			}
			return nil
		})
		if err != nil || got != "new" {
			t.Errorf("table %q: %q, %v", table, got, err)
		}
	}
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
}
