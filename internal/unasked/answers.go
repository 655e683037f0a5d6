package unasked

import (
	"hash/maphash"
	"slices"

	"github.com/graspd/graspd/internal/nostr"
)

// answers tells which events answer a filter. What a relay is followed by lists thousands of values for as long as the
// connection lasts: of each eight bytes are kept, and an event is compared with them all in a few steps.
type answers struct {
	rest nostr.Filter // without tags
	tags []*values
}

// values are those of a tag. One of a few that begins like another by chance is taken for it.
type values struct {
	of      []string // while filters are read: filters for several tags share their values
	lengths []int
	hashes  []uint64 // sorted
}

var seed = maphash.MakeSeed()

func newAnswers(filters []nostr.Filter) []answers {
	out := make([]answers, len(filters))
	var all []*values
	for i, f := range filters {
		for _, t := range f.Tags {
			k := slices.IndexFunc(all, func(v *values) bool { return v.stands(t.Values) })
			if k < 0 {
				k, all = len(all), append(all, newValues(t.Values))
			}
			out[i].tags = append(out[i].tags, all[k])
		}
		f.Tags = nil
		out[i].rest = f
	}
	for _, v := range all {
		v.of = nil
	}
	return out
}

func newValues(of []string) *values {
	v := &values{of: of, hashes: make([]uint64, len(of))}
	for i, s := range of {
		v.hashes[i] = maphash.String(seed, s)
		if !slices.Contains(v.lengths, len(s)) {
			v.lengths = append(v.lengths, len(s))
		}
	}
	slices.Sort(v.hashes)
	return v
}

// stands reports whether v was made of the same list.
func (v *values) stands(list []string) bool {
	return len(v.of) == len(list) && len(list) > 0 && &v.of[0] == &list[0]
}

// begins reports whether a tag that relays index has a value that begins with one of v.
func (v *values) begins(tag nostr.Tag) bool {
	return len(tag) > 1 && len(tag[0]) == 1 && slices.ContainsFunc(v.lengths, func(n int) bool {
		if n > len(tag[1]) {
			return false
		}
		_, ok := slices.BinarySearch(v.hashes, maphash.String(seed, tag[1][:n]))
		return ok
	})
}

// near reports whether an honest relay may take e for an answer, whatever its
// time. A store that many relays use looks tag values up without the name
// of the tag, and takes a value that begins alike for the same, then also
// without regard to time: a question for A also brings what has the value in a.
// The door decides about such an event as about any other; to count it as
// unasked would end the connection to a good relay.
func (a answers) near(e *nostr.Event) bool {
	for _, v := range a.tags {
		if !slices.ContainsFunc(e.Tags, v.begins) {
			return false
		}
	}
	a.rest.Since, a.rest.Until = nil, nil
	return a.rest.Matches(e)
}

// within reports whether e lies in the time that is asked for.
func (a answers) within(e *nostr.Event) bool {
	return nostr.Filter{Since: a.rest.Since, Until: a.rest.Until}.Matches(e)
}
