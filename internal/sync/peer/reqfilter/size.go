package reqfilter

import "github.com/graspd/graspd/internal/sync/want"

// Size is how much room the items of one live REQ need.
type Size struct {
	announcements, addresses, ds, authors, roots int
	bytes                                        int // of all lists
}

// Bytes of a REQ around its filters, of a filter around its list, with kinds
// that were added, and of an id in a list, each at most.
const (
	aroundREQ    = 32
	aroundFilter = 144
	idBytes      = 67
)

// Add counts an item.
func (s *Size) Add(w *want.Want, it want.Item) {
	if it == want.Announcements {
		s.announcements = 1
		return
	}
	if r := w.Repository(it); r != nil {
		s.addresses += len(r.Addresses)
		s.ds++
		s.bytes += 4*r.AddressBytes + r.DBytes
		if r.D == "" {
			s.authors += len(r.Addresses)
			s.bytes += idBytes * len(r.Addresses)
		}
		return
	}
	s.roots++
	s.bytes += 3 * idBytes
}

// Plus returns the size of a REQ for the items of both.
func (s Size) Plus(o Size) Size {
	return Size{
		announcements: max(s.announcements, o.announcements), addresses: s.addresses + o.addresses,
		ds: s.ds + o.ds, authors: s.authors + o.authors, roots: s.roots + o.roots, bytes: s.bytes + o.bytes,
	}
}

// WithoutRoot returns the size without one of its root events.
func (s Size) WithoutRoot() Size {
	s.roots--
	s.bytes -= 3 * idBytes
	return s
}

// Filters returns how many filters are needed, at most.
func (s Size) Filters(values int) int {
	return s.announcements + 4*ceil(s.addresses, values) + ceil(s.ds, values) + ceil(s.authors, values) + 3*ceil(s.roots, values)
}

// Message returns how many bytes the REQ has, at most.
func (s Size) Message(values int) int {
	return aroundREQ + aroundFilter*s.Filters(values) + s.bytes
}

// Items counts the values that the size is made of, to compare sizes.
func (s Size) Items() int { return s.announcements + s.ds + s.roots }

func ceil(n, d int) int { return (n + d - 1) / d }

// Most returns how many filters a REQ for the announcements and so many repositories, of one address each, and root events needs, at most.
func Most(repos, roots, values int) int { return 1 + 5*ceil(repos, values) + 3*ceil(roots, values) }
