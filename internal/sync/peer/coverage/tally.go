package coverage

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// NoValue stands in Window.Values for an event that does not count: nobody knows under which value it stands, or others do not see it.
const NoValue int16 = -1

// Window is one range of times that a reconciliation has compared.
type Window struct {
	Set    *negentropy.Set       // what is here
	Values []int16               // per item of Set: the place of its value in the filter's only list, 0 without a list; or NoValue
	Lacks  map[[32]byte]struct{} // ids of Set that the relay lacks
}

// Told reports whether Values says of each event whether it counts.
func (w Window) Told() bool { return len(w.Values) == w.Set.Len() }

// Tally counts what the comparison of one filter told. The zero Tally has heard nothing yet.
type Tally struct {
	Complete bool     // all that the filter asks for was compared
	shares   []Count  // by the filter's values; nil = no tag tells the repository
	counted  []uint64 // the events in shares, sorted
}

func key(id [32]byte) uint64 { return binary.BigEndian.Uint64(id[:]) }

func (y *Tally) has(k uint64) bool {
	_, ok := slices.BinarySearch(y.counted, k)
	return ok
}

// Add counts what one window told of a filter with so many values in its list. others are the tallies of the filters that are
// asked together: an event that one of them has counted counts there.
func (y *Tally) Add(w Window, values int, others iter.Seq[*Tally]) {
	if y.shares == nil {
		y.shares = make([]Count, values)
	}
	before := *y // this may be the second comparison of the same events
	for i, v := range w.Values {
		if v == NoValue || int(v) >= len(y.shares) {
			continue
		}
		id := w.Set.At(i).ID
		k := key(id)
		if before.has(k) || countedIn(others, y, k) {
			continue
		}
		y.counted = append(y.counted, k)
		y.shares[v].Here++
		if _, lacks := w.Lacks[id]; lacks {
			y.shares[v].Lacks++
		}
	}
	slices.Sort(y.counted)
}

func countedIn(others iter.Seq[*Tally], except *Tally, k uint64) bool {
	for o := range others {
		if o != except && o.has(k) {
			return true
		}
	}
	return false
}

// Lacking returns the events in the window that count and that the relay lacks.
func (w Window) Lacking() (ids []nostr.ID) {
	if len(w.Lacks) == 0 {
		return nil
	}
	for i, v := range w.Values {
		if v < 0 {
			continue
		}
		id := w.Set.At(i).ID
		if _, lacks := w.Lacks[id]; lacks {
			ids = append(ids, id)
		}
	}
	return ids
}
