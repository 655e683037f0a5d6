package mailbox

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// mostTogether is how many people one question may be about.
const mostTogether = 20

// Round goes through the questions to one relay. First, if the relay is an index, it asks for everybody's profile and lists, then for
// what the relay's people write, twenty people at a time and one question after the other. Where a question is given up because it
// brought too much, Round asks for half as many people at the end, so that they take nobody else's turn. The zero Round asks nothing.
type Round struct {
	index  []nostr.PubKey // not asked for yet
	people []Person       // not asked for yet, in turn
	size   int            // people of the batch whose turn it is; 0 = the batch has not begun
	ask    int            // which question about the batch
	again  []part
}

// part is a question to ask again, about fewer people.
type part struct {
	people []Person
	ask    int
}

// Begin starts a round for m. It begins with the person at that place, 0 to 1, in the order of m.People. If the last round was cut short,
// it begins instead with the person whose turn it was.
func (r *Round) Begin(m *Mailbox, place float64) {
	var at int
	switch {
	case m == nil:
		*r = Round{}
		return
	case len(r.people) > 0:
		at, _ = slices.BinarySearchFunc(m.People, r.people[0].PubKey, func(p Person, pk nostr.PubKey) int { return p.PubKey.Compare(pk) })
	default:
		at = int(place * float64(len(m.People)))
	}
	at = min(max(at, 0), len(m.People))
	*r = Round{index: m.Index, people: append(slices.Clone(m.People[at:]), m.People[:at]...)}
}

// GoOn has a round that was cut short go on for m, about those people alone who are still in it. It reports whether anything is left to ask.
func (r *Round) GoOn(m *Mailbox) bool {
	if m == nil {
		return false
	}
	r.index = slices.DeleteFunc(slices.Clone(r.index), func(pk nostr.PubKey) bool {
		_, there := slices.BinarySearchFunc(m.Index, pk, nostr.PubKey.Compare)
		return !there
	})
	r.size = len(m.those(r.people[:r.size]))
	r.people = m.those(r.people)
	var again []part
	for _, p := range r.again {
		if p.people = m.those(p.people); len(p.people) > 0 {
			again = append(again, p)
		}
	}
	r.again = again
	return len(r.index)+len(r.people)+len(r.again) > 0
}

// those returns the people who are in m, with what they took part in by now.
func (m *Mailbox) those(people []Person) (out []Person) {
	for _, p := range people {
		at, there := slices.BinarySearchFunc(m.People, p.PubKey, func(x Person, pk nostr.PubKey) int { return x.PubKey.Compare(pk) })
		if there {
			out = append(out, m.People[at])
		}
	}
	return out
}

// Next returns what to ask now, with at most so many values in a list; false when the round is over. It returns the same until Done.
func (r *Round) Next(values int) (nostr.Filter, bool) {
	values = max(1, values)
	if len(r.index) > 0 {
		n := min(values, len(r.index))
		return nostr.Filter{Kinds: sayings(), Authors: r.index[:n:n]}, true
	}
	for len(r.people) > 0 {
		if r.size == 0 {
			r.size, r.ask = min(mostTogether, len(r.people)), 0
		}
		batch := fitting(r.people[:r.size], values)
		if f, ok := question(batch, r.ask, values); ok {
			r.size = len(batch)
			return f, true
		}
		r.size = len(batch)
		r.step()
	}
	for len(r.again) > 0 {
		p := &r.again[0]
		if batch := fitting(p.people, values); len(batch) < len(p.people) {
			r.again = append(r.again, part{p.people[len(batch):], p.ask})
			p = &r.again[0]
			p.people = batch
		}
		if f, ok := question(p.people, p.ask, values); ok {
			return f, true
		}
		r.again = r.again[1:]
	}
	return nostr.Filter{}, false
}

// Done notes that the question from Next is over: answered completely, or given up because it brought too much.
func (r *Round) Done(f nostr.Filter, complete bool) {
	switch {
	case len(r.index) > 0:
		r.index = r.index[min(len(f.Authors), len(r.index)):]
	case len(r.people) > 0:
		if !complete && r.size > 1 {
			r.halve(part{slices.Clone(r.people[:r.size]), r.ask})
		}
		r.step()
	case len(r.again) > 0:
		p := r.again[0]
		r.again = r.again[1:]
		if !complete && len(p.people) > 1 {
			r.halve(p)
		}
	}
}

// step goes on to the next question, or to the next people.
func (r *Round) step() {
	if r.ask++; r.ask < len(asks) {
		return
	}
	r.people, r.size = r.people[r.size:], 0
}

func (r *Round) halve(p part) {
	n := len(p.people) / 2
	r.again = append(r.again, part{p.people[:n], p.ask}, part{p.people[n:], p.ask})
}

// fitting returns the first people, at least one, whose ids and addresses fit into lists of so many values.
func fitting(people []Person, values int) []Person {
	ids, addresses := make(map[nostr.ID]struct{}), make(map[string]struct{})
	for i, p := range people {
		for _, id := range p.IDs {
			ids[id] = struct{}{}
		}
		for _, a := range p.Addresses {
			addresses[a] = struct{}{}
		}
		if i > 0 && (i >= values || max(len(ids), len(addresses)) > values) {
			return people[:i]
		}
	}
	return people
}

// asks are the questions about some people: what they say of themselves, what they write of the kinds of git, and what else they
// write about the things in which they take part.
var asks = [...]func(people []Person) (nostr.Filter, bool){
	func([]Person) (nostr.Filter, bool) { return nostr.Filter{Kinds: sayings()}, true },
	func([]Person) (nostr.Filter, bool) { return nostr.Filter{Kinds: writings()}, true },
	func(people []Person) (nostr.Filter, bool) { return naming('e', idsOf(people)) },
	func(people []Person) (nostr.Filter, bool) { return naming('a', addressesOf(people)) },
	func(people []Person) (nostr.Filter, bool) { return naming('q', idsOf(people)) },
}

func question(people []Person, ask, values int) (nostr.Filter, bool) {
	f, ok := asks[ask](people)
	if !ok {
		return f, false
	}
	for i := range f.Tags { // one person alone may have more values
		f.Tags[i].Values = f.Tags[i].Values[:min(values, len(f.Tags[i].Values))]
	}
	for _, p := range people {
		f.Authors = append(f.Authors, p.PubKey)
	}
	return f, true
}

// sayings returns the kinds in which people tell of themselves. graspd asks for deletions only by the events that they name: at relays
// where people write about everything, most deletions are of events that were never here.
func sayings() []nostr.Kind {
	return slices.DeleteFunc(nip34.Kinds(nip34.Personal), func(k nostr.Kind) bool { return k == nostr.KindDeletion })
}

// writings returns the kinds that are hardly used but for git. graspd asks for reactions, notes and all others by the events that they name.
func writings() []nostr.Kind { return nip34.Kinds(nip34.ByAuthor) }

func naming(tag byte, values []string) (nostr.Filter, bool) {
	return nostr.Filter{Tags: []nostr.TagFilter{{Name: tag, Values: values}}}, len(values) > 0
}

func idsOf(people []Person) (out []string) {
	for _, p := range people {
		for _, id := range p.IDs {
			out = append(out, id.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func addressesOf(people []Person) (out []string) {
	for _, p := range people {
		out = append(out, p.Addresses...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
