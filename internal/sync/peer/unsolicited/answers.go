package unsolicited

import (
	"hash/maphash"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// answers tells which events answer a filter. The filters of live REQs list thousands of values for as long as the
// connection lasts, so answers keeps eight bytes of each value, and compares an event with all of them in a few steps.
type answers struct {
	rest nostr.Filter // without tags
	tags []*values
}

// values holds hashes of the values of a tag. Two values may have the same hash by chance; then the one counts as the other.
type values struct {
	of      []string // the list itself, only while filters are read: filters for several tags share a list
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

// stands reports whether v was made from the same list.
func (v *values) stands(list []string) bool {
	return len(v.of) == len(list) && len(list) > 0 && &v.of[0] == &list[0]
}

// begins reports whether tag is one that relays index, and its value begins with one of v.
func (v *values) begins(tag nostr.Tag) bool {
	return len(tag) > 1 && len(tag[0]) == 1 && slices.ContainsFunc(v.lengths, func(n int) bool {
		if n > len(tag[1]) {
			return false
		}
		_, ok := slices.BinarySearch(v.hashes, maphash.String(seed, tag[1][:n]))
		return ok
	})
}

// near reports whether an honest relay may take e for an answer, whatever the
// time of e. A store that many relays use looks tag values up without the name of
// the tag, and takes a value that begins alike for the same, and then it ignores
// the time too. So a question for A also brings events with the value in a. The
// door decides about such an event as about any other; counting it as unasked
// would end the connection to a good relay.
func (a answers) near(e *nostr.Event) bool {
	for _, v := range a.tags {
		if !slices.ContainsFunc(e.Tags, v.begins) {
			return false
		}
	}
	a.rest.Since, a.rest.Until = nil, nil
	return a.rest.Matches(e)
}

// within reports whether e lies in the time that the filter asks for.
func (a answers) within(e *nostr.Event) bool {
	return nostr.Filter{Since: a.rest.Since, Until: a.rest.Until}.Matches(e)
}
