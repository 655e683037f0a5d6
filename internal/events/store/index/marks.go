package index

import (
	"context"
	"iter"
	"math"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Mark is a Pair, and says where it was found.
type Mark struct {
	Pair
	Shown bool  // queries show it, as it is stored and has not expired
	Value int16 // place of a value that it has in the only list of tag values; NoValue where the index that was read does not tell
}

// NoValue is the place of a value that is not known.
const NoValue int16 = -1

// Marks does what store.View.Marks says, on this state.
func (r Reader) Marks(ctx context.Context, f nostr.Filter) iter.Seq2[Mark, error] {
	return sequence("query marks", func(yield func(Mark, error) bool) error {
		r, q := r.begun(), newQuery(f)
		q.markValues()
		n := 0
		return r.run(ctx, q, true, func(at *found) (bool, error) {
			ok, err := r.meets(q, at)
			if err != nil || !ok {
				return true, err
			}
			n++
			m := Mark{Pair: Pair{at.time(), at.id()}, Shown: !at.flagged && !at.row.Expired(r.Now), Value: at.value}
			return yield(m, nil) && n < q.limit, nil
		})
	})
}

// markValues has a scan tell of each row under which value of the only tag it stands.
func (q *query) markValues() {
	if len(q.filter.Tags) != 1 || len(q.filter.Tags[0].Values) > math.MaxInt16 {
		return
	}
	t := q.filter.Tags[0]
	q.values = make(map[string]int16, len(t.Values))
	for i, v := range t.Values {
		p := string(layout.TagPrefix(t.Name, layout.HashOf(v)))
		if _, dup := q.values[p]; !dup {
			q.values[p] = int16(i)
		}
	}
}

// valueOf returns the place of the value of an index range; NoValue where that is not known.
func (q *query) valueOf(prefix []byte) int16 {
	if i, ok := q.values[string(prefix)]; ok {
		return i
	}
	return NoValue
}
