package store

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/nostr"
)

// facts are what an index knows of an event.
type facts struct {
	id     nostr.ID
	time   int64
	kind   nostr.Kind
	author nostr.PubKey
	tags   []tagFact        // each value of a tag once
	places map[tagValue]int // where each is in tags, while many are added; nil else

	address hash // of a replaceable event; zero for all others
}

// tagFact is a one-letter tag, the hash of its value, and in which cases the event has it where these share a row.
type tagFact struct {
	tagValue
	cases cases
}

// tagValue is the name under which a tag's rows stand and the hash of its value.
type tagValue struct {
	name byte
	hash hash
}

// keptTags are the tags that are remembered of an event that is not stored: those that sync asks by, a and e in either case.
const keptTags = "aeqd"

// maxKeptTags is how many of them are remembered, the first ones. An orphan with more is not remembered at all: it may wait for what
// any of them names.
const maxKeptTags = 64

// factsOf lists what the indexes hold of an event: every one-letter tag that has a value.
func factsOf(e *nostr.Event) facts {
	f := facts{id: e.ID, time: e.CreatedAt, kind: e.Kind, author: e.PubKey}
	if a := e.Address(); a != "" {
		f.address = hashOf(a)
	}
	f.tags = make([]tagFact, 0, len(e.Tags))
	for _, t := range e.Tags {
		if len(t) >= 2 && len(t[0]) == 1 && isLetter(t[0][0]) {
			f.add(t[0][0], hashOf(t[1]))
		}
	}
	f.places = nil
	return f
}

// add takes up a tag.
func (f *facts) add(name byte, h hash) {
	name, c := shared(name)
	v := tagValue{name, h}
	if i, ok := f.place(v); ok {
		f.tags[i].cases |= c
		return
	}
	if f.places != nil {
		f.places[v] = len(f.tags)
	}
	f.tags = append(f.tags, tagFact{v, c})
}

// place is where a tag's value stands among the tags.
func (f *facts) place(v tagValue) (int, bool) {
	if len(f.tags) < fewTags {
		i := slices.IndexFunc(f.tags, func(t tagFact) bool { return t.tagValue == v })
		return i, i >= 0
	}
	if f.places == nil {
		f.places = make(map[tagValue]int, 2*fewTags)
		for i, t := range f.tags {
			f.places[t.tagValue] = i
		}
	}
	i, ok := f.places[v]
	return i, ok
}

// fewTags are compared one by one; more need a map.
const fewTags = 16

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// kept is f with only the tags that are remembered.
func (f facts) kept() facts {
	var tags []tagFact
	for _, t := range f.tags {
		if strings.IndexByte(keptTags, t.name) >= 0 {
			tags = append(tags, t)
		}
	}
	f.tags = tags
	return f
}

// eachRow calls do with the prefix of every index row that the event has, and the cases of one that both share; 0 of all others. The
// slice is reused, and has room for a key.
func (f facts) eachRow(do func(prefix []byte, of cases) error) error {
	buf := append(make([]byte, 0, maxPrefix+orderLen), kindPrefix(f.kind)...)
	if err := do(buf, 0); err != nil {
		return err
	}
	if err := do(appendAuthorKind(buf[:0], f.author, f.kind), 0); err != nil {
		return err
	}
	if !isUsual(f.kind) {
		if err := do(append(buf[:0], timePrefix()...), 0); err != nil {
			return err
		}
		if err := do(append(buf[:0], authorPrefix(f.author)...), 0); err != nil {
			return err
		}
	}
	for _, t := range f.tags {
		if err := do(appendTagPrefix(buf[:0], t.name, t.hash), t.cases); err != nil {
			return err
		}
	}
	return nil
}

// rows is the number of index rows that the event has.
func (f facts) rows() int64 {
	n := int64(2 + len(f.tags))
	if !isUsual(f.kind) {
		n += 2
	}
	return n
}
