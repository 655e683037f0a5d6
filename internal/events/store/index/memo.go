package index

import (
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Memo keeps rows that decisions look up again and again, as the open batch has them: where events stand that others name, and who holds an
// address. The writer owns it, and empties it with a batch that is dropped.
type Memo struct {
	ids   generations[nostr.ID, idRow]
	slots generations[layout.Hash, layout.Slot]
}

// idRow is a row of the id table.
type idRow struct {
	time int64
	row  layout.Row
}

const memoKeys = 16 << 10 // in a generation of each map; all together take a few MB

// Wrote takes a row that the writer puts into the open batch.
func (m *Memo) Wrote(key, value []byte) {
	switch key[0] {
	case layout.TableID:
		if time, at, err := layout.ParseIDRow(value); err == nil {
			m.ids.put(nostr.ID(key[1:]), idRow{time, at})
		}
	case layout.TableSlot:
		if s, err := layout.ParseSlot(value); err == nil {
			m.slots.put(layout.Hash(key[1:]), s)
		}
	}
}

// Deleted forgets a row that the open batch deletes.
func (m *Memo) Deleted(key []byte) {
	switch key[0] {
	case layout.TableID:
		m.ids.drop(nostr.ID(key[1:]))
	case layout.TableSlot:
		m.slots.drop(layout.Hash(key[1:]))
	}
}

// generations is a map of bounded size. When the younger half is full the older one goes; an entry of the older half becomes young again when
// somebody asks for it.
type generations[K comparable, V any] struct{ young, old map[K]V }

func (g *generations[K, V]) get(k K) (V, bool) {
	if v, ok := g.young[k]; ok {
		return v, true
	}
	v, ok := g.old[k]
	if ok {
		g.put(k, v)
	}
	return v, ok
}

func (g *generations[K, V]) put(k K, v V) {
	if g.young == nil || len(g.young) >= memoKeys {
		g.young, g.old = make(map[K]V), g.young
	}
	g.young[k] = v
}

func (g *generations[K, V]) drop(k K) {
	delete(g.young, k)
	delete(g.old, k)
}
