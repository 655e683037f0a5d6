package storetest

import (
	"maps"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// SetRow writes or removes.
func (b *modelBatch) SetRow(name string, value []byte) error {
	b.ops++
	b.rows[name] = slices.Clone(value)
	if value == nil {
		delete(b.rows, name)
	}
	return nil
}

// Row looks it up.
func (b *modelBatch) Row(name string) ([]byte, error) { return b.rows[name], nil }

// Row looks it up.
func (v *modelView) Row(name string) ([]byte, error) { return v.d.rows[name], nil }

// EachRow looks at every name.
func (v *modelView) EachRow(prefix, after string, do func(string, []byte) (bool, error)) error {
	for _, name := range slices.Sorted(maps.Keys(v.d.rows)) {
		if !strings.HasPrefix(name, prefix) || name <= after {
			continue
		}
		if more, err := do(name, v.d.rows[name]); !more || err != nil {
			return err
		}
	}
	return nil
}

// left notes what left with nothing in its place.
func (b *modelBatch) left(e *nostr.Event) {
	if slices.Contains([]nostr.Kind{30617, 30618, 1618, 1619}, e.Kind) {
		b.gone = append(b.gone, e)
	}
}

// back takes it out again.
func (b *modelBatch) back(id nostr.ID) {
	b.gone = slices.DeleteFunc(b.gone, func(e *nostr.Event) bool { return e.ID == id })
}

// Gone lists what left noted.
func (b *modelBatch) Gone() []*nostr.Event {
	gone := b.gone
	b.gone = nil
	return gone
}
