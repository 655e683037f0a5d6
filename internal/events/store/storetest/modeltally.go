package storetest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// group looks at every one.
func (d *data) group(of store.WaitGroup, author nostr.PubKey, from string) []store.Waiting {
	if of == store.WaitsOfLargest {
		sources := map[string][]store.Waiting{}
		for _, w := range d.listWaits(func(store.Waiting) bool { return true }) {
			sources[w.From] = append(sources[w.From], w)
		}
		all := slices.SortedFunc(maps.Values(sources), func(a, b []store.Waiting) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a[0].Seq, b[0].Seq))
		})
		return slices.Concat(all[:min(len(all), 1)]...)
	}
	return d.listWaits(func(w store.Waiting) bool {
		if of == store.WaitsOfSource {
			return w.From == from
		}
		return w.Event.PubKey == author && (of == store.WaitsOfAuthor || w.Event.Kind == nip34.KindRepository)
	})
}

// WaitTally counts.
func (b *modelBatch) WaitTally(author nostr.PubKey, from string) store.WaitTally {
	n := func(of store.WaitGroup) int { return len(b.group(of, author, from)) }
	t := store.WaitTally{
		Announcements: n(store.WaitAnnouncements), OfAuthor: n(store.WaitsOfAuthor), OfSource: n(store.WaitsOfSource), All: len(b.waits),
	}
	for _, w := range b.waits {
		t.Bytes += int64(len(w.Event.AppendJSON(nil)))
	}
	return t
}

// OldestWait is the first of its group.
func (b *modelBatch) OldestWait(of store.WaitGroup, author nostr.PubKey, from string) (store.Waiting, bool, error) {
	all := b.group(of, author, from)
	if len(all) == 0 {
		return store.Waiting{}, false, nil
	}
	return all[0], true, nil
}
