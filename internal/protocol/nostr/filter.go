package nostr

import (
	"cmp"
	"slices"
)

// TagFilter asks for events that have a tag of that name whose first value is among Values. Name is one ASCII letter: relays index no other
// tags.
type TagFilter struct {
	Name   byte
	Values []string
}

// Filter is one filter of a REQ, COUNT or NEG-OPEN (NIP-01). A nil slice or pointer is an absent key, which asks for nothing in particular.
// An empty slice that is not nil is an empty list, which matches no event. Tags has each name once. Since and Until are inclusive, in unix
// seconds. Nobody changes a filter that is shared.
type Filter struct {
	IDs     []ID
	Authors []PubKey
	Kinds   []Kind
	Tags    []TagFilter
	Since   *int64
	Until   *int64
	Limit   *int
	Search  string // NIP-50, "" is absent
}

// Matches reports whether the event answers the filter: all keys must agree, within a list any value will do. Matches ignores Limit, which
// counts events, and Search, which has no meaning for one event alone; the caller refuses filters with Search.
func (f Filter) Matches(e *Event) bool {
	if f.Since != nil && e.CreatedAt < *f.Since || f.Until != nil && e.CreatedAt > *f.Until {
		return false
	}
	if f.Kinds != nil && !slices.Contains(f.Kinds, e.Kind) ||
		f.Authors != nil && !slices.Contains(f.Authors, e.PubKey) ||
		f.IDs != nil && !slices.Contains(f.IDs, e.ID) {
		return false
	}
	for _, t := range f.Tags {
		if !t.matches(e.Tags) {
			return false
		}
	}
	return true
}

func (t TagFilter) matches(tags Tags) bool {
	for _, tag := range tags {
		if len(tag) > 1 && len(tag[0]) == 1 && tag[0][0] == t.Name && slices.Contains(t.Values, tag[1]) {
			return true
		}
	}
	return false
}

// Canonical returns the filter with its lists sorted and without repetitions. The result shares nothing with f but the pointers. Two
// filters that differ only in order have the same canonical form.
func (f Filter) Canonical() Filter {
	f.IDs = sortedSet(f.IDs, ID.Compare)
	f.Authors = sortedSet(f.Authors, PubKey.Compare)
	f.Kinds = sortedSet(f.Kinds, cmp.Compare[Kind])
	f.Tags = slices.Clone(f.Tags)
	slices.SortFunc(f.Tags, func(a, b TagFilter) int { return cmp.Compare(a.Name, b.Name) })
	for i, t := range f.Tags {
		f.Tags[i].Values = sortedSet(t.Values, cmp.Compare[string])
	}
	return f
}

// sortedSet returns a sorted copy without repetitions; nil stays nil and empty stays empty.
func sortedSet[T comparable](s []T, compare func(a, b T) int) []T {
	s = slices.Clone(s)
	slices.SortFunc(s, compare)
	return slices.Compact(s)
}

// Key returns the JSON of the canonical form. Filters that ask for the same have the same key.
func (f Filter) Key() string { return string(f.Canonical().AppendJSON(nil)) }
