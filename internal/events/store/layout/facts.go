package layout

import (
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Facts has what the indexes know about an event.
type Facts struct {
	ID     nostr.ID
	Time   int64
	Kind   nostr.Kind
	Author nostr.PubKey
	Tags   []TagFact        // each value of a tag once
	places map[tagValue]int // where each stands in Tags, while many are added; else nil

	Address Hash // of a replaceable event; zero for all others
}

// TagFact is a one-letter tag, the hash of its value, and the cases in which the event has it, where cases share a row.
type TagFact struct {
	tagValue
	Cases Cases
}

// tagValue is the name under which a tag's rows stand and the hash of its value.
type tagValue struct {
	Name byte
	Hash Hash
}

// keptTags has the tags that are remembered of an event that is not stored: those by which sync asks, a and e in either case.
const keptTags = "aeqd"

// MaxKeptTags is how many tags of one event are remembered, the first ones. An orphan with more is not remembered at all, as it may wait for the
// event that any of them names.
const MaxKeptTags = 64

// FactsOf returns the facts of an event, with every one-letter tag that has a value.
func FactsOf(e *nostr.Event) Facts {
	f := Facts{ID: e.ID, Time: e.CreatedAt, Kind: e.Kind, Author: e.PubKey}
	if a := e.Address(); a != "" {
		f.Address = HashOf(a)
	}
	f.Tags = make([]TagFact, 0, len(e.Tags))
	for _, t := range e.Tags {
		if len(t) >= 2 && len(t[0]) == 1 && isLetter(t[0][0]) {
			f.add(t[0][0], HashOf(t[1]))
		}
	}
	f.places = nil
	return f
}

// add adds a tag.
func (f *Facts) add(name byte, h Hash) {
	name, c := Shared(name)
	v := tagValue{name, h}
	if i, ok := f.find(v); ok {
		f.Tags[i].Cases |= c
		return
	}
	if f.places != nil {
		f.places[v] = len(f.Tags)
	}
	f.Tags = append(f.Tags, TagFact{v, c})
}

// find returns where a tag's value stands in Tags.
func (f *Facts) find(v tagValue) (int, bool) {
	if len(f.Tags) < fewTags {
		i := slices.IndexFunc(f.Tags, func(t TagFact) bool { return t.tagValue == v })
		return i, i >= 0
	}
	if f.places == nil {
		f.places = make(map[tagValue]int, 2*fewTags)
		for i, t := range f.Tags {
			f.places[t.tagValue] = i
		}
	}
	i, ok := f.places[v]
	return i, ok
}

// fewTags is how many tags find compares one by one; more need a map.
const fewTags = 16

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// Kept returns f with only the tags of keptTags. The caller bounds their number by MaxKeptTags.
func (f Facts) Kept() Facts {
	var tags []TagFact
	for _, t := range f.Tags {
		if strings.IndexByte(keptTags, t.Name) >= 0 {
			tags = append(tags, t)
		}
	}
	f.Tags = tags
	return f
}

// EachRow calls do with the prefix of every index row of the event, and with the cases of a row that cases share; 0 for any other. The next call
// reuses the slice, which has room for a key.
func (f Facts) EachRow(do func(prefix []byte, of Cases) error) error {
	buf := append(make([]byte, 0, MaxPrefix+OrderLen), KindPrefix(f.Kind)...)
	if err := do(buf, 0); err != nil {
		return err
	}
	if err := do(AppendAuthorKind(buf[:0], f.Author, f.Kind), 0); err != nil {
		return err
	}
	if !IsUsual(f.Kind) {
		if err := do(append(buf[:0], TimePrefix()...), 0); err != nil {
			return err
		}
		if err := do(append(buf[:0], AuthorPrefix(f.Author)...), 0); err != nil {
			return err
		}
	}
	for _, t := range f.Tags {
		if err := do(appendTagPrefix(buf[:0], t.Name, t.Hash), t.Cases); err != nil {
			return err
		}
	}
	return nil
}

// Rows returns the number of index rows that the event has.
func (f Facts) Rows() int64 {
	n := int64(2 + len(f.Tags))
	if !IsUsual(f.Kind) {
		n += 2
	}
	return n
}
