package relay

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// index finds the live filters that an event can match. Each filter stands under every value of one of its lists: the ids, else
// its shortest list of tag values, else the authors, else the kinds. A filter without lists stands in rest. One goroutine at a
// time may use an index.
type index struct {
	ids     table[nostr.ID]
	tags    table[tagValue]
	authors table[nostr.PubKey]
	kinds   table[nostr.Kind]
	rest    bucket
}

func newIndex() *index {
	return &index{ids: table[nostr.ID]{}, tags: table[tagValue]{}, authors: table[nostr.PubKey]{}, kinds: table[nostr.Kind]{}}
}

func (x *index) add(f *liveFilter) {
	switch {
	case f.IDs != nil:
		x.ids.add(f.IDs, f)
	case f.Tags != nil:
		x.tags.add(narrowest(f.Tags), f)
	case f.Authors != nil:
		x.authors.add(f.Authors, f)
	case f.Kinds != nil:
		x.kinds.add(f.Kinds, f)
	default:
		x.rest.add(f)
	}
}

// remove undoes add.
func (x *index) remove(f *liveFilter) {
	switch {
	case f.IDs != nil:
		x.ids.remove(f.IDs, f)
	case f.Tags != nil:
		x.tags.remove(narrowest(f.Tags), f)
	case f.Authors != nil:
		x.authors.remove(f.Authors, f)
	case f.Kinds != nil:
		x.kinds.remove(f.Kinds, f)
	default:
		x.rest.remove(f.entries[0])
	}
	f.entries = nil
}

// empty reports whether there is no filter.
func (x *index) empty() bool {
	return len(x.ids)+len(x.tags)+len(x.authors)+len(x.kinds)+len(x.rest.places) == 0
}

// candidates calls visit with every filter that can match and its session, with some more than once.
func (x *index) candidates(s *subject, visit func(*session, *entry)) {
	x.ids[s.event.ID].each(visit)
	for name, values := range s.tags {
		for _, v := range values {
			x.tags[tagValue{name, v}].each(visit)
		}
	}
	x.authors[s.event.PubKey].each(visit)
	x.kinds[s.event.Kind].each(visit)
	x.rest.each(visit)
}

// narrowest returns the values of the shortest list.
func narrowest(tags []nostr.TagFilter) []tagValue {
	best := slices.MinFunc(tags, func(a, b nostr.TagFilter) int { return len(a.Values) - len(b.Values) })
	keys := make([]tagValue, len(best.Values))
	for i, v := range best.Values {
		keys[i] = tagValue{best.Name, v}
	}
	return keys
}

// table has a bucket for every value under which a filter stands.
type table[K comparable] map[K]*bucket

func (t table[K]) add(keys []K, f *liveFilter) {
	for _, k := range keys {
		b := t[k]
		if b == nil {
			b = &bucket{}
			t[k] = b
		}
		b.add(f)
	}
}

func (t table[K]) remove(keys []K, f *liveFilter) {
	for i, k := range keys {
		b := t[k]
		b.remove(f.entries[i])
		if len(b.places) == 0 {
			delete(t, k)
		}
	}
}

// bucket is a set of filters. Taking one out takes constant time. A nil bucket is empty. Sessions stand beside the filters, so that whoever skips
// those of one session touches no other memory.
type bucket struct{ places []place }

type place struct {
	session *session
	entry   *entry
}

// entry is a filter's place in one bucket.
type entry struct {
	filter *liveFilter
	at     int
}

func (b *bucket) add(f *liveFilter) {
	e := &entry{filter: f, at: len(b.places)}
	b.places = append(b.places, place{f.sub.session, e})
	f.entries = append(f.entries, e)
}

func (b *bucket) remove(e *entry) {
	last := len(b.places) - 1
	b.places[e.at] = b.places[last]
	b.places[e.at].entry.at = e.at
	b.places[last] = place{}
	b.places = b.places[:last]
}

func (b *bucket) each(visit func(*session, *entry)) {
	if b == nil {
		return
	}
	for _, p := range b.places {
		visit(p.session, p.entry)
	}
}
