package mailbox

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds limits what participants can make this relay do. A field that is zero has the default in brackets.
type Bounds struct {
	People          int // people who count (10,000): maintainers first, then whoever wrote last
	RelaysPerPerson int // write relays taken from one list (4), the first ones
	Relays          int // mailbox relays in all (1,000): those first to which the most people write
	RelaysPerHost   int // mailbox relays of one host (4), whatever their ports and paths
}

func (b Bounds) withDefaults() Bounds {
	b.People = cmp.Or(b.People, 10_000)
	b.RelaysPerPerson = cmp.Or(b.RelaysPerPerson, 4)
	b.Relays = cmp.Or(b.Relays, 1000)
	b.RelaysPerHost = cmp.Or(b.RelaysPerHost, 4)
	return b
}

// What a Fold remembers of one person.
const (
	mostWords = 8 // events by which they take part: first those by which they maintain something, then the newest
	mostNamed = 3 // ids of one such event and of the events that it names, and as many addresses

	mostIDs       = 10 // of all these events together
	mostAddresses = 3
)

// Fold knows who takes part and where they write. One goroutine at a time may use a Fold.
type Fold struct {
	bounds Bounds
	self   grasp.Service
	index  []URL
	takes  func(nostr.Kind) bool
	people map[nostr.PubKey][]word // no list is empty; the events that are forgotten last come last
	lists  map[nostr.PubKey]list   // also of some who do not take part yet
	by     map[nostr.ID]nostr.PubKey
	moved  bool
	handed map[URL]*Mailbox
}

// word is an event by which somebody takes part.
type word struct {
	id        nostr.ID
	at        int64
	maintains bool
	ids       []nostr.ID
	addresses []string
}

// list has the write relays of somebody.
type list struct {
	nostr.Stamp
	relays []URL
}

// New returns an empty Fold. graspd asks the index relays for profiles and lists. takes says by events of which kinds people take part.
func New(self grasp.Service, index []URL, takes func(nostr.Kind) bool, b Bounds) *Fold {
	index = slices.DeleteFunc(slices.Clone(index), self.Is)
	slices.Sort(index)
	return &Fold{
		bounds: b.withDefaults(), self: self, index: slices.Compact(index), takes: takes, people: make(map[nostr.PubKey][]word),
		lists: make(map[nostr.PubKey]list), by: make(map[nostr.ID]nostr.PubKey), handed: make(map[URL]*Mailbox), moved: true,
	}
}

// Add takes one served event. It ignores kinds other than relay lists and those by which people take part.
func (f *Fold) Add(e *nostr.Event) {
	switch {
	case e.Kind == nostr.KindRelayList:
		f.listed(e)
	case f.takes(e.Kind):
		f.said(e)
	}
}

// Remove takes back the event with that id, which Add took, if it still counts.
func (f *Fold) Remove(id nostr.ID) {
	pk, ok := f.by[id]
	if !ok {
		return
	}
	f.moved = true
	delete(f.by, id)
	if l, ok := f.lists[pk]; ok && l.ID == id {
		delete(f.lists, pk)
		return
	}
	f.people[pk] = slices.DeleteFunc(f.people[pk], func(w word) bool { return w.id == id })
	if len(f.people[pk]) == 0 {
		delete(f.people, pk)
	}
}

func (f *Fold) listed(e *nostr.Event) {
	old, ok := f.lists[e.PubKey]
	if ok && !e.Stamp().Newer(old.Stamp) {
		return
	}
	delete(f.by, old.ID)
	f.lists[e.PubKey] = list{e.Stamp(), WriteRelays(e, f.bounds.RelaysPerPerson, f.self.Is)}
	f.by[e.ID] = e.PubKey
	f.moved = true
	if len(f.lists) > 2*f.bounds.People { // lists of others than participants are of no use
		maps.DeleteFunc(f.lists, func(pk nostr.PubKey, l list) bool {
			_, takesPart := f.people[pk]
			if !takesPart {
				delete(f.by, l.ID)
			}
			return !takesPart
		})
	}
}

func (f *Fold) said(e *nostr.Event) {
	if _, dup := f.by[e.ID]; dup {
		return
	}
	w := wordOf(e)
	words := f.people[e.PubKey]
	i, _ := slices.BinarySearchFunc(words, w, lasting)
	if len(words) == mostWords {
		if i == 0 {
			return
		}
		delete(f.by, words[0].id)
		words, i = slices.Delete(words, 0, 1), i-1
	}
	f.by[e.ID] = e.PubKey
	f.people[e.PubKey] = slices.Insert(words, i, w)
	f.moved = true
	if len(f.people) > f.bounds.People+f.bounds.People/8 {
		f.trim()
	}
}

func wordOf(e *nostr.Event) word {
	w := word{id: e.ID, at: e.CreatedAt, maintains: e.Kind == nip34.KindRepository || e.Kind == nip34.KindState}
	if a := e.Address(); a != "" {
		w.addresses = append(w.addresses, a)
	} else {
		w.ids = append(w.ids, e.ID)
	}
	refs := nip34.References(e)
	w.ids = append(w.ids, refs.IDs[:min(len(refs.IDs), mostNamed-len(w.ids))]...)
	for _, a := range refs.Addresses[:min(len(refs.Addresses), mostNamed-len(w.addresses))] {
		w.addresses = append(w.addresses, a.String())
	}
	return w
}

// lasting orders events: those that are forgotten first come first.
func lasting(a, b word) int {
	if a.maintains != b.maintains {
		if a.maintains {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(a.at, b.at), b.id.Compare(a.id))
}

// trim forgets people until no more than Bounds.People are left.
func (f *Fold) trim() {
	last := func(pk nostr.PubKey) word { words := f.people[pk]; return words[len(words)-1] }
	all := slices.SortedFunc(maps.Keys(f.people), func(a, b nostr.PubKey) int {
		return cmp.Or(lasting(last(a), last(b)), a.Compare(b))
	})
	for _, pk := range all[:len(all)-f.bounds.People] {
		for _, w := range f.people[pk] {
			delete(f.by, w.id)
		}
		delete(f.people, pk)
	}
}

// Changed yields the new Mailbox of every relay whose Mailbox has changed since it was last handed out; nil where graspd asks the
// relay for nothing any more. The cost grows with the number of people.
func (f *Fold) Changed() iter.Seq2[URL, *Mailbox] {
	return func(yield func(URL, *Mailbox) bool) {
		if !f.moved {
			return
		}
		f.moved = false
		now := f.mailboxes()
		for u := range f.handed {
			if now[u] == nil {
				now[u] = nil
			}
		}
		for _, u := range slices.Sorted(maps.Keys(now)) {
			m, old := now[u], f.handed[u]
			if m != nil && old != nil && m.equal(old) {
				continue
			}
			if f.handed[u] = m; m == nil {
				delete(f.handed, u)
			}
			if !yield(u, m) {
				f.moved = true
				return
			}
		}
	}
}

// mailboxes works out what graspd asks every relay.
func (f *Fold) mailboxes() map[URL]*Mailbox {
	all := make(map[URL]*Mailbox)
	keys := slices.SortedFunc(maps.Keys(f.people), nostr.PubKey.Compare)
	for _, pk := range keys {
		relays := f.lists[pk].relays
		if len(relays) == 0 {
			continue
		}
		p := person(pk, f.people[pk])
		for _, u := range relays {
			m := all[u]
			if m == nil {
				m = &Mailbox{}
				all[u] = m
			}
			m.People = append(m.People, p)
		}
	}
	f.choose(all)
	if len(keys) == 0 {
		return all
	}
	for _, u := range f.index {
		if all[u] == nil {
			all[u] = &Mailbox{}
		}
		all[u].Index = keys
	}
	return all
}

// choose drops relays beyond the bounds, those first to which the fewest people write.
func (f *Fold) choose(all map[URL]*Mailbox) {
	ranked := slices.SortedFunc(maps.Keys(all), func(a, b URL) int {
		return cmp.Or(len(all[b].People)-len(all[a].People), cmp.Compare(a, b))
	})
	hosts, chosen := make(map[string]int), 0
	for _, u := range ranked {
		if h := u.Host(); chosen < f.bounds.Relays && hosts[h] < f.bounds.RelaysPerHost {
			hosts[h]++
			chosen++
			continue
		}
		delete(all, u)
	}
}

func person(pk nostr.PubKey, words []word) Person {
	p := Person{PubKey: pk}
	for _, w := range slices.Backward(words) {
		p.IDs, p.Addresses = some(p.IDs, w.ids, mostIDs), some(p.Addresses, w.addresses, mostAddresses)
	}
	slices.SortFunc(p.IDs, nostr.ID.Compare)
	slices.Sort(p.Addresses)
	return p
}

// some returns list with more behind it, each value once and at most most values in all.
func some[T comparable](list, more []T, most int) []T {
	for _, x := range more {
		if len(list) < most && !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}
