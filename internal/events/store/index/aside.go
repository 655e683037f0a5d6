package index

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
)

// Aside does what store.View.Aside says, on this state.
func (r Reader) Aside(of uint64, after layout.Seq, max int) (list []layout.Entry, err error) {
	it, err := r.From.NewIter(&pebble.IterOptions{LowerBound: layout.AsideKey(of, after+1), UpperBound: layout.AsideKey(of+1, 0)})
	if err != nil {
		return nil, fmt.Errorf("what is put aside: %w", err)
	}
	defer CloseAfter(it.Close, &err)
	for it.First(); it.Valid() && len(list) < max; it.Next() {
		_, seq, ok := layout.ParseAsideKey(it.Key())
		if !ok {
			return nil, fmt.Errorf("what is put aside: %w", layout.ErrCorrupt)
		}
		x, err := layout.AddedEntry(seq, it.Value())
		if err != nil {
			return nil, fmt.Errorf("what is put aside: %w", err)
		}
		list = append(list, x)
	}
	return list, it.Error()
}
