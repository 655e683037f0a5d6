package plan

import (
	"github.com/graspd/graspd/internal/refusal"
	"github.com/graspd/graspd/internal/want"
)

// What a relay is believed to bear where it tells nothing or too little.
const (
	defaultSubs    = 19         // REQs: 16 live, two for catch-up, one for merging
	mostSubs       = 200        // more is not made use of
	filtersPerREQ  = 10         // filters in one REQ
	maxMessage     = 120 * 1024 // bytes of one message
	leastMessage   = 32 * 1024  // a smaller max_message_length is not believed
	pageLimit      = 500        // events asked for in one page
	denseValues    = 500        // values per filter where MaxTags would not fit
	requestsAtOnce = 2          // stored requests in flight
	idsPerFetch    = 100        // needed ids asked for at once
	mostIDs        = 500        // likewise, where a relay tells that it takes as much
	roomyMessage   = 64 * 1024  // bytes of a message that such a relay takes at least
	negFrame       = 60_000     // bytes of a negentropy message before hex
	listBytes      = 60_000     // bytes of one filter's list
)

// What is asked at least, however often a relay refuses it as too big.
const (
	fewestFilters = 3
	fewestValues  = 5
	leastLearned  = 8 * 1024
	smallestPage  = 20
)

// capacity is what is asked of one relay at most, as told and as learned.
type capacity struct {
	subs    int  // REQs at once
	bytes   int  // of a message
	page    int  // events in a page
	filters int  // in a live REQ
	values  int  // in a filter's list
	ids     int  // in a filter's ids
	total   int  // bytes of all live REQs together: 0 = any
	limit   int  // of live REQs: 0, or 1 where 0 was refused
	sparse  bool // no more values in a list than usual, even where that leaves items out
}

// capacity turns what a relay tells into what is used.
func (l Limits) capacity(values int) capacity {
	c := capacity{
		subs: min(l.MaxSubscriptions, mostSubs), bytes: l.MaxMessage, page: l.MaxLimit,
		filters: filtersPerREQ, values: values, ids: idsPerFetch,
	}
	if c.subs <= 0 {
		c.subs = defaultSubs
	}
	if c.bytes < leastMessage || c.bytes > maxMessage {
		c.bytes = maxMessage
	}
	if c.page <= 0 || c.page > pageLimit {
		c.page = pageLimit
	}
	if l.MaxLimit > c.ids && l.MaxMessage >= roomyMessage {
		c.ids = mostIDs
	}
	c.ids = min(c.ids, c.page)
	return c
}

// learn asks for less in live REQs than in l, which was refused as too big.
func (c *capacity) learn(text string, l *liveReq) {
	c.sparse = true
	what := refusal.ExcessOf(text)
	if what != refusal.Values && what != refusal.Bytes {
		c.filters = min(c.filters, max(fewestFilters, l.filters/2))
	}
	if what != refusal.Filters && what != refusal.Bytes {
		c.values = min(c.values, max(fewestValues, l.longest/2))
	}
	if what != refusal.Filters && what != refusal.Values {
		c.bytes = min(c.bytes, max(leastLearned, l.size.message(l.values)/2))
	}
}

// fewerREQs asks for no more than n REQs at once from now on.
func (c *capacity) fewerREQs(n int) { c.subs = min(c.subs, max(1, n)) }

// fewerIDs asks for no more than n ids at once.
func (c *capacity) fewerIDs(n int) { c.ids = min(c.ids, max(1, n)) }

// fewerValues asks for no more than n values in a list, even where that leaves items out.
func (c *capacity) fewerValues(n int) {
	c.values, c.sparse = min(c.values, max(fewestValues, n)), true
}

// halvePage asks for half as many events in a page.
func (c *capacity) halvePage() { c.page = max(smallestPage, c.page/2) }

// stored returns how many stored requests may be in flight.
func (c capacity) stored() int {
	if c.subs < 4 {
		return 1
	}
	return requestsAtOnce
}

// dense returns how many values a list may have where the usual number leaves
// items out.
func (c capacity) dense() int {
	if c.sparse {
		return c.values
	}
	return max(denseValues, c.values)
}

// spare returns how many REQs are kept free for merging.
func (c capacity) spare() int {
	if c.subs < 3 {
		return 0
	}
	return 1
}

// live returns how many live REQs may stand at once; none where one REQ is all
// that the relay allows.
func (c capacity) live() int { return c.subs - c.stored() - c.spare() }

// bounds returns the bounds of a stored filter.
func (c capacity) bounds() bounds {
	return bounds{values: c.values, bytes: min(listBytes, c.bytes-1024)}
}

// frame returns the most bytes of a negentropy message before hex.
func (c capacity) frame() int { return min(negFrame, (c.bytes-1024)/2) }

// size is what the items of one live REQ need.
type size struct {
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

func (s *size) add(w *want.Want, it want.Item) {
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

func (s size) plus(o size) size {
	return size{
		announcements: max(s.announcements, o.announcements), addresses: s.addresses + o.addresses,
		ds: s.ds + o.ds, authors: s.authors + o.authors, roots: s.roots + o.roots, bytes: s.bytes + o.bytes,
	}
}

// withoutRoot is the size with a root event less.
func (s size) withoutRoot() size {
	s.roots--
	s.bytes -= 3 * idBytes
	return s
}

// filters returns how many filters are needed, at most.
func (s size) filters(values int) int {
	return s.announcements + 4*ceil(s.addresses, values) + ceil(s.ds, values) + ceil(s.authors, values) + 3*ceil(s.roots, values)
}

// message returns how many bytes the REQ has, at most.
func (s size) message(values int) int {
	return aroundREQ + aroundFilter*s.filters(values) + s.bytes
}

// fits says whether one REQ bears it.
func (s size) fits(c capacity, values int) bool {
	return s.filters(values) <= c.filters && s.message(values) <= c.bytes
}

// items counts what the size is made of, to compare sizes.
func (s size) items() int { return s.announcements + s.ds + s.roots }

func ceil(n, d int) int { return (n + d - 1) / d }
