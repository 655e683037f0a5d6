package want

import (
	"slices"
	"strings"
	"unicode"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Repository is what a repository item asks for at one revision.
type Repository struct {
	Addresses []string // 30617 addresses: the owner's first, then the maintainers'
	D         string
	Claimed   bool // its announcement waits for git data: graspd asks only for announcements and states, by D

	AddressBytes int  // size of the addresses as JSON strings, commas included; 0 where graspd does not ask for them
	DBytes       int  // size of D as a JSON string, with a comma
	Odd          bool // known relays refuse a whole REQ for one of the addresses
}

// longestValue is the longest tag value that the commonest relay takes in a filter.
const longestValue = 255

func newRepository(addresses []string, d string) *Repository {
	r := &Repository{Addresses: addresses, D: d, DBytes: ValueBytes(d)}
	for _, a := range addresses {
		r.AddressBytes += ValueBytes(a)
		r.Odd = r.Odd || isOdd(a)
	}
	return r
}

// newClaimed returns the Repository of an announcement that waits for git data.
func newClaimed(addresses []string, d string) *Repository {
	r := newRepository(addresses, d)
	r.Claimed, r.AddressBytes = true, 0
	return r
}

// isOdd reports whether known relays refuse a whole REQ for a value: it is longer than longestValue as JSON, or holds a control character.
func isOdd(v string) bool {
	return ValueBytes(v)-len(`"",`) > longestValue || strings.ContainsFunc(v, unicode.IsControl)
}

// ValueBytes returns how many bytes a value takes in a filter's list, with its comma.
func ValueBytes(v string) int {
	f := nostr.Filter{Tags: []nostr.TagFilter{{Name: 'd', Values: []string{v}}}}
	return len(f.AppendJSON(nil)) - len(`{"#d":[]}`) + 1
}

// rootName is the id and the time of a root event. It never changes.
type rootName struct {
	id      nostr.ID
	created int64
}

const namePage = 256

// names maps item numbers to root events, which are by far the most, and repositories. An entry is written once, before the first Want that
// mentions it is handed out, and a list of pages is copied when it changes. So readers of an older Want never see a change.
type names struct {
	roots    []*[namePage]rootName // nil where there are none
	repos    []*[namePage]*Repository
	activity []*[namePage]uint32 // when people talked about root events, in activitySteps; pages are copied when they change
	n        uint32              // numbers given so far
	kept     int                 // entries
}

// repo returns the repository that an item stands for, nil for any other item.
func (t *names) repo(it Item) *Repository {
	if i := int(it / namePage); i < len(t.repos) && t.repos[i] != nil {
		return t.repos[i][it%namePage]
	}
	return nil
}

// root returns the root event that an item stands for. The item has to be that of a wanted root event.
func (t *names) root(it Item) *rootName { return &t.roots[it/namePage][it%namePage] }

// next returns a copy of the table that has given one more number, and the number.
func (t *names) next() (*names, Item) {
	return &names{roots: t.roots, repos: t.repos, activity: t.activity, n: t.n + 1, kept: t.kept + 1}, Item(t.n)
}

// addRoot returns the table with one more root event, and the number of that root event.
func (t *names) addRoot(x rootName) (*names, Item) {
	next, it := t.next()
	pageOf(&next.roots, it)[it%namePage] = x
	return next, it
}

// addRepo returns the table with one more repository, and the number of that repository.
func (t *names) addRepo(x *Repository) (*names, Item) {
	next, it := t.next()
	pageOf(&next.repos, it)[it%namePage] = x
	return next, it
}

// pageOf returns the page for an entry. If there is none, it makes the page, in a copy of the list.
func pageOf[T any](pages *[]*[namePage]T, it Item) *[namePage]T {
	i := int(it / namePage)
	if i >= len(*pages) || (*pages)[i] == nil {
		list := make([]*[namePage]T, max(i+1, len(*pages)))
		copy(list, *pages)
		list[i] = new([namePage]T)
		*pages = list
	}
	return (*pages)[i]
}

// leastDead is how many dead entries the table may have, however few live ones there are.
const leastDead = 1000

// tendNames sweeps the table when more than half of its entries are dead.
func (d *Desired) tendNames() {
	if d.dead > max(d.leastDead, d.names.kept/2) {
		d.SweepNames()
	}
}

// SweepNames makes the table of names anew, with the live entries. A Want keeps the table that it was made with, so every relay gets a new
// Want, which shares everything else with the former one.
func (d *Desired) SweepNames() {
	t := newNames()
	t.n, t.activity = d.names.n, slices.Clone(d.names.activity)
	for r := range d.roots.all() {
		if r.item != 0 {
			pageOf(&t.roots, r.item)[r.item%namePage] = *d.names.root(r.item)
			t.kept++
		}
	}
	for _, mine := range d.byAuthor {
		for _, r := range mine {
			if r.item != 0 {
				pageOf(&t.repos, r.item)[r.item%namePage] = d.names.repo(r.item)
				t.kept++
			}
		}
	}
	for _, c := range d.claims.by {
		if r := c.repo; r != nil {
			pageOf(&t.repos, r.item)[r.item%namePage] = d.names.repo(r.item)
			t.kept++
		}
	}
	for i := range t.activity {
		if i >= len(t.roots) || t.roots[i] == nil {
			t.activity[i] = nil
		}
	}
	d.names, d.dead = t, 0
	for u := range d.targets {
		d.affected[u] = struct{}{}
	}
}

// newNames returns a table with no item but Announcements.
func newNames() *names { return &names{n: 1, kept: 1} }
