package plan

import (
	"github.com/graspd/graspd/internal/ask"
	"github.com/graspd/graspd/internal/refusal"
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
		c.bytes = min(c.bytes, max(leastLearned, l.size.Message(l.values)/2))
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
func (c capacity) bounds() ask.Bounds {
	return ask.Bounds{Values: c.values, Bytes: min(listBytes, c.bytes-1024)}
}

// frame returns the most bytes of a negentropy message before hex.
func (c capacity) frame() int { return min(negFrame, (c.bytes-1024)/2) }

// fits says whether one REQ bears what is of that size.
func (c capacity) fits(s ask.Size, values int) bool {
	return s.Filters(values) <= c.filters && s.Message(values) <= c.bytes
}
