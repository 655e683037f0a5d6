// Package capacity knows what a relay bears: how much it may be asked at once, by its own words and by its refusals, and how fast.
// Capacities and paces are values; their caller tells them what the relay refused.
package capacity

import (
	"github.com/graspd/graspd/internal/sync/peer/refusal"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
)

// What a relay bears, as long as it tells nothing or too little.
const (
	defaultSubs    = 19         // REQs: 16 live, two for catch-up, one for merging
	MostSubs       = 200        // REQs, whatever the relay allows
	filtersPerREQ  = 10         // filters in one REQ
	maxMessage     = 120 * 1024 // bytes of one message
	leastMessage   = 4 * 1024   // a smaller max_message_length is not believed
	PageLimit      = 500        // events asked for in one page
	DenseValues    = 500        // values per filter where MaxTags would not fit
	RequestsAtOnce = 2          // stored requests in flight
	idsPerFetch    = 100        // needed ids asked for at once
	MostIDs        = 500        // needed ids asked for at once, where a relay tells that it takes so many
	roomyMessage   = 64 * 1024  // bytes of a message that a relay for MostIDs takes at least
	negFrame       = 60_000     // bytes of a negentropy message before hex
	listBytes      = 60_000     // bytes of one filter's list
	aroundList     = 1024       // bytes of a REQ around a list or a negentropy message, at most
	firstFrame     = 2 * 1024   // bytes of the first message of a comparison, in hex, at most
	idBytes        = 67         // bytes of an id or a public key in a list
)

// The least that is asked, however often a relay refuses it as too big.
const (
	fewestFilters = 3 // what a root event needs; one less each time that as few are refused again
	FewestValues  = 5
	smallestPage  = 20
)

// Limits are the limits in a relay's NIP-11 document; zero = not told.
type Limits struct {
	MaxSubscriptions int
	MaxMessage       int // bytes
	MaxLimit         int
}

// Capacity is the most that one relay is asked, by what it told and by what its refusals taught.
type Capacity struct {
	subs    int  // REQs at once
	bytes   int  // of a message
	page    int  // events in a page
	filters int  // in a live REQ
	values  int  // in a filter's list
	ids     int  // in a filter's ids
	total   int  // bytes of all live REQs together: 0 = any
	limit   int  // in a live REQ's filters: 0, or 1 where 0 was refused
	sparse  bool // no more values in a list than usual, even where that leaves items out
}

// Of returns the capacity of a relay that tells l. Lists have values entries unless the relay refuses that.
func Of(l Limits, values int) Capacity {
	c := Capacity{
		subs: min(l.MaxSubscriptions, MostSubs), bytes: l.MaxMessage, page: l.MaxLimit,
		filters: filtersPerREQ, values: values, ids: idsPerFetch,
	}
	if c.subs <= 0 {
		c.subs = defaultSubs
	}
	if c.bytes < leastMessage || c.bytes > maxMessage {
		c.bytes = maxMessage
	}
	if c.page <= 0 || c.page > PageLimit {
		c.page = PageLimit
	}
	if l.MaxLimit > c.ids && l.MaxMessage >= roomyMessage {
		c.ids = MostIDs
	}
	c.ids = min(c.ids, c.page)
	return c
}

// Refused says how large a live REQ was that a relay refused.
type Refused struct {
	Filters int
	Longest int  // list of its filters
	Bytes   int  // of the message
	Again   bool // one for its items was refused before
}

// Learn asks for less in live REQs than in r, which was refused as too big.
func (c *Capacity) Learn(text string, r Refused) {
	c.sparse = true
	what := refusal.ExcessOf(text)
	if what != refusal.Values && what != refusal.Bytes {
		c.filters = min(c.filters, max(fewestFilters, r.Filters/2))
	}
	if r.Again && what == refusal.Filters && r.Filters <= fewestFilters {
		c.filters = max(1, r.Filters-1)
	}
	if what != refusal.Filters && what != refusal.Bytes {
		c.values = min(c.values, max(FewestValues, r.Longest/2))
	}
	if what != refusal.Filters && what != refusal.Values {
		c.bytes = min(c.bytes, max(leastMessage, r.Bytes/2))
	}
}

// Exceeds reports whether a live REQ like r is not sent again. So what it asked for can be asked again at once, in smaller REQs.
func (c Capacity) Exceeds(r Refused) bool {
	return r.Filters > c.filters || r.Longest > c.values || r.Bytes > c.bytes
}

// MessageTooLong asks in messages of half the size of one that was too long for the relay. It reports whether that is shorter than before.
func (c *Capacity) MessageTooLong(bytes int) bool {
	before := c.bytes
	c.bytes = min(c.bytes, max(leastMessage, bytes/2))
	return c.bytes < before
}

// FewerREQs asks for no more than n REQs at once from now on.
func (c *Capacity) FewerREQs(n int) { c.subs = min(c.subs, max(1, n)) }

// FewerIDs asks for no more than n ids at once.
func (c *Capacity) FewerIDs(n int) { c.ids = min(c.ids, max(1, n)) }

// FewerValues asks for no more than n values in a list, even where that leaves items out.
func (c *Capacity) FewerValues(n int) {
	c.values, c.sparse = min(c.values, max(FewestValues, n)), true
}

// UsualIDs asks for no more ids at once than of a relay that tells nothing.
func (c *Capacity) UsualIDs() { c.FewerIDs(idsPerFetch) }

// HalveREQs asks for half as many REQs at once.
func (c *Capacity) HalveREQs() { c.FewerREQs(c.subs / 2) }

// HalvePage asks for half as many events in a page. It reports whether a page can be smaller.
func (c *Capacity) HalvePage() bool {
	if c.page <= smallestPage {
		return false
	}
	c.page = max(smallestPage, c.page/2)
	return true
}

// OtherLimit gives live REQs the other limit, as the relay refused theirs.
func (c *Capacity) OtherLimit(refused int) { c.limit = 1 - refused }

// BoundTotal asks for no more bytes of live REQs together than held.
func (c *Capacity) BoundTotal(held int) { c.total = held }

// LowerTotal asks for somewhat less than BoundTotal did, as stored requests need room beside the live REQs.
func (c *Capacity) LowerTotal() { c.total = max(1, c.total*15/16) }

// Bears reports whether the relay bears more bytes of live REQs beside those that are held.
func (c Capacity) Bears(held, more int) bool { return c.total == 0 || held+more <= c.total }

// IDs returns how many ids are asked for at once.
func (c Capacity) IDs() int { return min(c.ids, c.keys()) }

// keys returns how many ids or public keys fit into one message.
func (c Capacity) keys() int { return (c.bytes - aroundList) / idBytes }

// Page returns how many events are asked for in one page.
func (c Capacity) Page() int { return c.page }

// Limit returns the limit of live REQs: 0, or 1 where 0 was refused.
func (c Capacity) Limit() int { return c.limit }

// ValuesFor returns how many values a live filter carries where all is followed: more where the usual number would not fit.
func (c Capacity) ValuesFor(repos, roots int) int {
	if reqfilter.Most(repos, roots, c.values) > c.filters*c.Live() {
		return c.Dense()
	}
	return c.values
}

// Stored returns how many stored requests may be in flight.
func (c Capacity) Stored() int {
	if c.subs < 4 {
		return 1
	}
	return RequestsAtOnce
}

// Dense returns how many values a list may have where the usual number leaves
// items out.
func (c Capacity) Dense() int {
	if c.sparse {
		return c.values
	}
	return max(DenseValues, c.values)
}

// Spare returns how many REQs are kept free for merging.
func (c Capacity) Spare() int {
	if c.subs < 3 {
		return 0
	}
	return 1
}

// Live returns how many live REQs may stand at once; none where one REQ is all
// that the relay allows.
func (c Capacity) Live() int { return c.subs - c.Stored() - c.Spare() }

// Bounds returns the bounds of a stored filter, which is part of a REQ, or of a NEG-OPEN with its first message.
func (c Capacity) Bounds() reqfilter.Bounds {
	return reqfilter.Bounds{Values: min(c.values, c.keys()), Bytes: min(listBytes, c.bytes-aroundList-firstFrame)}
}

// Frame returns the most bytes of a negentropy message before hex.
func (c Capacity) Frame() int { return min(negFrame, (c.bytes-aroundList)/2) }

// Fits reports whether one REQ bears items of that size.
func (c Capacity) Fits(s reqfilter.Size, values int) bool {
	return s.Filters(values) <= c.filters && s.Message(values) <= c.bytes
}
