package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// everything returns the ranges of all events.
func everything() []keyRange {
	all := []keyRange{{prefix: layout.TimePrefix()}}
	for _, k := range layout.UsualKinds {
		all = append(all, keyRange{prefix: layout.KindPrefix(k)})
	}
	return all
}

// own returns the ranges of the events of the authors: of the kinds, or of all where kinds is nil. With a kind that is not usual it has the
// authors' events of all such kinds. It leaves out empty ranges, which most would be. So an author costs a seek for each kind of theirs and one
// more, and has at most one range more than there are usual kinds.
func (r Reader) own(ctx context.Context, authors []nostr.PubKey, kinds []nostr.Kind, withFlagged bool) (all []keyRange, err error) {
	it, err := r.From.NewIter(nil)
	if err != nil {
		return nil, err
	}
	defer CloseAfter(it.Close, &err)
	kinds = slices.Sorted(slices.Values(kinds))
	usual := layout.UsualKinds[:]
	if kinds != nil {
		usual = slices.DeleteFunc(slices.Clone(kinds), func(k nostr.Kind) bool { return !layout.IsUsual(k) })
	}
	for _, a := range authors {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		w := wrote{Reader: r, it: it, author: a, kinds: kinds, usual: usual}
		if err := w.read(layout.OwnPrefix(a)); err != nil {
			return nil, err
		}
		if withFlagged {
			if err := w.read(layout.Flagged(layout.OwnPrefix(a))); err != nil {
				return nil, err
			}
		}
		all = append(all, w.spans()...)
	}
	return all, nil
}

// wrote finds out of which kinds there are events by an author.
type wrote struct {
	Reader
	it     *pebble.Iterator
	author nostr.PubKey
	kinds  []nostr.Kind // the wanted kinds, ascending; nil is any
	usual  []nostr.Kind // the usual ones of the wanted kinds

	found  []nostr.Kind // usual kinds with events
	others bool         // there are events of kinds that are not usual
}

// read goes from kind to kind in an index of authors and kinds.
func (w *wrote) read(prefix []byte) error {
	for k, ok := w.next(0); ok; {
		if err := w.work.spend(SeekCost); err != nil {
			return err
		}
		w.it.SeekGE(binary.BigEndian.AppendUint16(prefix[:len(prefix):len(prefix)], uint16(k)))
		if !w.it.Valid() || !bytes.HasPrefix(w.it.Key(), prefix) || len(w.it.Key()) < len(prefix)+2 {
			return w.it.Error()
		}
		k = nostr.Kind(binary.BigEndian.Uint16(w.it.Key()[len(prefix):]))
		w.take(k)
		if k == layout.MaxKind {
			return nil
		}
		k, ok = w.next(k + 1)
	}
	return nil
}

func (w *wrote) take(k nostr.Kind) {
	if _, ok := slices.BinarySearch(w.kinds, k); !ok && w.kinds != nil {
		return
	}
	if layout.IsUsual(k) {
		w.found = append(w.found, k)
	} else {
		w.others = true
	}
}

// next returns the first kind from k on that read has to look for.
func (w *wrote) next(k nostr.Kind) (nostr.Kind, bool) {
	of := w.kinds
	if w.others {
		of = w.usual
	} else if of == nil {
		return k, true
	}
	i, _ := slices.BinarySearch(of, k)
	if i == len(of) {
		return 0, false
	}
	return of[i], true
}

func (w *wrote) spans() (all []keyRange) {
	for _, k := range unique(w.found) {
		all = append(all, keyRange{prefix: layout.AuthorKindPrefix(w.author, k)})
	}
	if w.others {
		all = append(all, keyRange{prefix: layout.AuthorPrefix(w.author)})
	}
	return all
}
