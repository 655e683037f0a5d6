package plan

import "graspd/internal/nostr"

// Repository is what a repository item asks for at one revision.
type Repository struct {
	Addresses []string // 30617 addresses: the owner's first, then the maintainers'
	D         string

	addressBytes int  // of the addresses as JSON strings, commas included
	dBytes       int  // of D likewise
	odd          bool // an address is too long for some relays, which then refuse the whole REQ
}

// longestValue is the longest tag value that the commonest relay takes in a filter.
const longestValue = 255

func newRepository(addresses []string, d string) *Repository {
	r := &Repository{Addresses: addresses, D: d, dBytes: valueBytes(d)}
	for _, a := range addresses {
		r.addressBytes += valueBytes(a)
		r.odd = r.odd || len(a) > longestValue
	}
	return r
}

// valueBytes is the length of a value in a filter's list, with its comma.
func valueBytes(v string) int {
	f := nostr.Filter{Tags: []nostr.TagFilter{{Name: 'd', Values: []string{v}}}}
	return len(f.AppendJSON(nil)) - len(`{"#d":[]}`) + 1
}

// name is what an item number stands for: a root event or a repository.
type name struct {
	root *rootName
	repo *Repository
}

// rootName is what is asked of a root event. It never changes.
type rootName struct {
	id      nostr.ID
	created int64
}

const namePage = 256

// names maps item numbers to what they stand for. Entries are written once,
// before the first Want that mentions them is handed out; page slices are
// copied when they grow, so readers of an older Want are never disturbed.
type names struct {
	pages []*[namePage]name // nil where nothing is left
	n     uint32            // numbers given so far
	kept  int               // entries
}

// at returns what a wanted item stands for; nothing for one that nothing wants any more.
func (t *names) at(it Item) name {
	if p := t.pages[it/namePage]; p != nil {
		return p[it%namePage]
	}
	return name{}
}

// add returns the table with one more entry and the entry's number.
func (t *names) add(x name) (*names, Item) {
	it := Item(t.n)
	next := &names{pages: t.pages, n: t.n + 1, kept: t.kept + 1}
	if int(it)/namePage == len(t.pages) {
		next.pages = append(t.pages[:len(t.pages):len(t.pages)], new([namePage]name))
	}
	next.put(it, x)
	return next, it
}

func (t *names) put(it Item, x name) {
	p := &t.pages[it/namePage]
	if *p == nil {
		*p = new([namePage]name)
	}
	(*p)[it%namePage] = x
}

// leastDead is how many entries may stand for nothing, however few are left.
const leastDead = 1000

// tendNames has the table swept when more than half of it is dead.
func (d *Desired) tendNames() {
	if d.dead > max(d.leastDead, d.names.kept/2) {
		d.sweepNames()
	}
}

// sweepNames makes the table anew with what lives. As a Want keeps the table that
// it was made with, every relay then gets a new one, which shares all else with the
// former.
func (d *Desired) sweepNames() {
	t := &names{pages: make([]*[namePage]name, len(d.names.pages)), n: d.names.n}
	keep := func(it Item) {
		if it != Announcements {
			t.put(it, d.names.at(it))
			t.kept++
		}
	}
	for _, r := range d.roots {
		keep(r.item)
	}
	for _, mine := range d.byAuthor {
		for _, r := range mine {
			keep(r.item)
		}
	}
	last := len(t.pages) - 1 // the next number is entered there, as a new page is only made for its first
	if t.pages[last] == nil {
		t.pages[last] = new([namePage]name)
	}
	d.names, d.dead = t, 0
	for u := range d.targets {
		d.affected[u] = struct{}{}
	}
}

func newNames() *names {
	t, _ := (&names{}).add(name{})
	return t
}
