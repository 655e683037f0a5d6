package relay

import (
	"cmp"
	"slices"
	"sync"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// tagValue is the name and the value of a one-letter tag: one that an event has, or one that a filter asks for.
type tagValue struct {
	name  byte
	value string
}

// subject is an event to match against many filters. It has the event's tags gathered once.
type subject struct {
	event *nostr.Event
	tags  map[byte][]string // values of the one-letter tags, sorted, each once
	text  func() string     // what is searched, as fold has it; made once, when the first search asks
}

func newSubject(e *nostr.Event) *subject {
	x := &subject{event: e, tags: map[byte][]string{}, text: sync.OnceValue(func() string { return fold(nip34.SearchText(e)) })}
	for _, t := range e.Tags {
		if len(t) > 1 && len(t[0]) == 1 {
			x.tags[t[0][0]] = append(x.tags[t[0][0]], t[1])
		}
	}
	for name, values := range x.tags {
		slices.Sort(values)
		x.tags[name] = slices.Compact(values)
	}
	return x
}

// liveFilter is a filter in canonical form, so that its sorted lists can be searched: events of 2,000 tags meet filters of 500 values. It
// matches the events that nostr.Filter.Matches matches: those that are near and that meet it; with a search only those that the search finds.
type liveFilter struct {
	nostr.Filter
	sub     *subscription
	words   []string // of the search
	entries []*entry // the filter's places in the index, which owns them
}

// near reports whether an event is of a time, a kind, an author and an id that the filter wants. That takes no steps to speak of.
func (f *liveFilter) near(x *subject) bool {
	e := x.event
	return (f.Since == nil || e.CreatedAt >= *f.Since) && (f.Until == nil || e.CreatedAt <= *f.Until) &&
		(f.Kinds == nil || among(f.Kinds, e.Kind, cmp.Compare[nostr.Kind])) &&
		(f.Authors == nil || among(f.Authors, e.PubKey, nostr.PubKey.Compare)) &&
		(f.IDs == nil || among(f.IDs, e.ID, nostr.ID.Compare))
}

// meets reports whether an event that is near has the tags and the words that the filter wants.
func (f *liveFilter) meets(x *subject) bool {
	for _, t := range f.Tags {
		if !intersect(t.Values, x.tags[t.Name]) {
			return false
		}
	}
	return f.Search == "" || finds(f.words, x.text())
}

// valuesOfStep is how many values of tags are looked up in one step.
const valuesOfStep = 8

// steps returns about how many steps of work (see front.StepsPerRequest) meets takes.
func (f *liveFilter) steps(x *subject) (n int) {
	for _, t := range f.Tags {
		n += min(len(t.Values), len(x.tags[t.Name]))
	}
	if n /= valuesOfStep; f.Search != "" {
		n += stepsOfSearch(f.words, x.text())
	}
	return n
}

func among[T any](sorted []T, v T, compare func(a, b T) int) bool {
	_, found := slices.BinarySearchFunc(sorted, v, compare)
	return found
}

// intersect reports whether two sorted lists have a value in common. It searches the longer list for each value of the shorter.
func intersect(a, b []string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return slices.ContainsFunc(a, func(v string) bool { _, found := slices.BinarySearch(b, v); return found })
}
