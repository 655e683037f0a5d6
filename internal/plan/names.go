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
	root *root
	repo *Repository
}

const namePage = 256

// names maps item numbers to what they stand for. Entries are written once,
// before the first Want that mentions them is handed out; page slices are
// copied when they grow, so readers of an older Want are never disturbed.
type names struct {
	pages []*[namePage]name
	n     uint32
}

func (t *names) at(it Item) name { return t.pages[it/namePage][it%namePage] }

// add returns the table with one more entry and the entry's number.
func (t *names) add(x name) (*names, Item) {
	it := Item(t.n)
	next := &names{pages: t.pages, n: t.n + 1}
	if int(it)/namePage == len(t.pages) {
		next.pages = append(t.pages[:len(t.pages):len(t.pages)], new([namePage]name))
	}
	next.pages[it/namePage][it%namePage] = x
	return next, it
}

func newNames() *names {
	t, _ := (&names{}).add(name{})
	return t
}
