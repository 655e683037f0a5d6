package store

import (
	"slices"
	"strings"

	"graspd/internal/nostr"
)

// facts are what an index knows of an event.
type facts struct {
	id     nostr.ID
	time   int64
	kind   nostr.Kind
	author nostr.PubKey
	tags   []tagFact // each once

	address hash // of a replaceable event; zero for all others
}

// tagFact is a one-letter tag and the hash of its value.
type tagFact struct {
	name byte
	hash hash
}

// keptTags are the names of the tags that are remembered of an event that is not stored: those that sync asks by.
const keptTags = "aAqeEd"

// maxKeptTags is how many of them are remembered; an event with more is not remembered at all.
const maxKeptTags = 64

// factsOf lists what the indexes hold of an event: every one-letter tag that has a value.
func factsOf(e *nostr.Event) facts {
	f := facts{id: e.ID, time: e.CreatedAt, kind: e.Kind, author: e.PubKey}
	if a := e.Address(); a != "" {
		f.address = hashOf(a)
	}
	f.tags = make([]tagFact, 0, len(e.Tags))
	var seen map[tagFact]bool // from fewTags on
	for _, t := range e.Tags {
		if len(t) < 2 || len(t[0]) != 1 || !isLetter(t[0][0]) {
			continue
		}
		fact := tagFact{t[0][0], hashOf(t[1])}
		if len(f.tags) < fewTags && slices.Contains(f.tags, fact) || seen[fact] {
			continue
		}
		f.tags = append(f.tags, fact)
		if len(f.tags) == fewTags {
			seen = make(map[tagFact]bool, len(e.Tags))
			for _, t := range f.tags {
				seen[t] = true
			}
		} else if seen != nil {
			seen[fact] = true
		}
	}
	return f
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

// eachPrefix calls do with the prefix of every index row that the event has. The slice is reused, and has room for a key.
func (f facts) eachPrefix(do func(prefix []byte) error) error {
	buf := append(make([]byte, 0, maxPrefix+orderLen), timePrefix()...)
	if err := do(buf); err != nil {
		return err
	}
	buf = append(buf[:0], kindPrefix(f.kind)...)
	if err := do(buf); err != nil {
		return err
	}
	buf = append(buf[:0], authorPrefix(f.author)...)
	if err := do(buf); err != nil {
		return err
	}
	if err := do(appendAuthorKind(buf[:0], f.author, f.kind)); err != nil {
		return err
	}
	for _, t := range f.tags {
		if err := do(appendTagPrefix(buf[:0], t.name, t.hash)); err != nil {
			return err
		}
	}
	return nil
}

// rows is the number of index rows that the event has.
func (f facts) rows() int64 { return int64(4 + len(f.tags)) }
