package livesubs

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/capacity"
	"github.com/graspd/graspd/internal/sync/peer/demands"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/peer/reqfilter"
	"github.com/graspd/graspd/internal/sync/want"
)

// Times in the life of a REQ.
const (
	OpenAfter   = 5 * time.Second // a REQ without EOSE counts as open after it
	mergeLinger = 2 * time.Second // how long a replaced REQ stays after the new one is open
	calmAfter   = 5 * time.Minute // a REQ that was open for so long counts as never refused before
)

// REQ is one live REQ. The caller reads its fields; this package writes them. The fields that every step looks at come first, in one
// line of the cache.
type REQ struct {
	demands.RequestMode
	Isolation itemset.Isolation
	Open      bool // the relay follows its items
	Vanish    bool // requests to vanish too: the caller writes it, before it is sent
	Whole     bool // it is for everything, and not for its items alone
	filters   int
	parts     []*REQ // it is to stand in for these as well
	by        *REQ   // is to stand in for this one
	openAt    time.Duration

	Sub     string
	Sent    backoff.Now
	Size    reqfilter.Size // with that of its parts
	Limit   int            // of its filters
	Tries   int            // how often its items were refused since they were last followed for long
	lots    []itemset.Lot
	values  int
	longest int // list of its filters
}

// NewWhole returns a REQ for everything, whatever is wanted. It serves the items of lots.
func NewWhole(lots []itemset.Lot) *REQ { return &REQ{Whole: true, lots: lots} }

// Lots returns the items that it serves, but for those that its parts still serve. The caller does not change them.
func (l *REQ) Lots() []itemset.Lot { return l.lots }

// Merging reports whether it belongs to a merge under way: as the new REQ or as one that will be replaced.
func (l *REQ) Merging() bool { return len(l.parts) > 0 || l.by != nil }

// steady reports whether it is open and belongs to no merge.
func (l *REQ) steady() bool { return l.Open && !l.Merging() }

// Overdue reports whether it counts as open by now, though the relay has not said so.
func (l *REQ) Overdue(now time.Duration) bool { return !l.Open && now >= l.Sent.Mono+OpenAfter }

// Replaces reports whether its parts have lingered for mergeLinger.
func (l *REQ) Replaces(now time.Duration) bool {
	return len(l.parts) > 0 && l.Open && now >= l.openAt+mergeLinger
}

// Refused returns how large it was, for capacity to learn from its refusal. unsure says that another REQ may have been meant.
func (l *REQ) Refused(unsure bool) capacity.Refused {
	return capacity.Refused{Filters: l.filters, Longest: l.longest, Bytes: l.bytes(), Again: l.Tries > 0 && !unsure}
}

// bytes returns how many bytes its message has, at most.
func (l *REQ) bytes() int { return l.Size.Message(l.values) }

// Items returns the items of one layer that its filters ask for: its own and those of its parts.
func (l *REQ) Items(layer want.Layer) (items []want.Item) {
	for _, r := range append([]*REQ{l}, l.parts...) {
		for _, x := range r.lots {
			if x.Layer == layer {
				items = append(items, x.Items...)
			}
		}
	}
	return items
}

// Add lets it serve a lot more.
func (l *REQ) Add(x itemset.Lot) { l.lots = itemset.AddLot(l.lots, x) }

// Holds reports whether an item that it serves matches.
func (l *REQ) Holds(is func(want.Item) bool) bool { return itemset.Holds(l.lots, is) }

// Without lets it serve no item that matches, whatever its filters still ask for.
func (l *REQ) Without(is func(want.Item) bool) { l.lots = itemset.Prune(l.lots, is) }

// AskedAgain marks its items: their stored events are asked for anew, though they were asked for before.
func (l *REQ) AskedAgain() {
	for i := range l.lots {
		l.lots[i].Since = min(l.lots[i].Since, itemset.AllAgain)
	}
}

// Opened notes that the relay follows its items.
func (l *REQ) Opened(now time.Duration) { l.Open, l.openAt = true, now }

// Calm forgets the tries of its items, where they were followed for long.
func (l *REQ) Calm(now time.Duration) {
	if l.Open && now >= l.openAt+calmAfter {
		l.Tries = 0
	}
}

// Absorb lets it serve the items of its parts, and returns the parts, which the caller closes.
func (l *REQ) Absorb() []*REQ {
	parts := l.parts
	l.parts = nil
	for _, r := range parts {
		l.adopt(r)
	}
	return parts
}

// adopt takes over the items of r.
func (l *REQ) adopt(r *REQ) {
	r.by = nil
	for _, x := range r.lots {
		l.Add(x)
	}
}

// release lets its parts stand on their own again.
func (l *REQ) release() {
	for _, r := range l.parts {
		r.by = nil
	}
}

// idle reports whether it serves nothing and belongs to no merge.
func (l *REQ) idle() bool { return len(l.lots) == 0 && !l.Merging() }

// sizeNow works out the size of its items, with that of its parts.
func (l *REQ) sizeNow(w *want.Want) (s reqfilter.Size) {
	for _, r := range append([]*REQ{l}, l.parts...) {
		for it := range itemset.Each(r.lots) {
			s.Add(w, it)
		}
	}
	return s
}

// newest returns the highest rank in lots.
func newest(w *want.Want, lots []itemset.Lot) (at int64) {
	for it := range itemset.Each(lots) {
		at = max(at, w.Rank(it))
	}
	return at
}

// newestBelow returns the highest rank in lots where all are below a rank. It looks no further than at the first that is not.
func newestBelow(w *want.Want, lots []itemset.Lot, than int64) (at int64, ok bool) {
	for it := range itemset.Each(lots) {
		if at = max(at, w.Rank(it)); at >= than {
			return 0, false
		}
	}
	return at, at < than
}

// Sending says how a REQ goes out.
type Sending struct {
	Sub         string
	Now         backoff.Now
	RequestMode demands.RequestMode
	Filters     []nostr.Filter
	Limit       int // of each filter
	Values      int // that a filter carries
}

// Send notes how l goes out.
func (s *Planner) Send(l *REQ, how Sending) {
	l.RequestMode, l.Limit, l.values, l.filters = how.RequestMode, how.Limit, how.Values, len(how.Filters)
	for _, f := range how.Filters {
		for _, t := range f.Tags {
			l.longest = max(l.longest, len(t.Values))
		}
	}
	l.Sub, l.Sent = how.Sub, how.Now
	s.reqs = append(s.reqs, l)
}

// Drop notes that l is no more.
func (s *Planner) Drop(l *REQ) {
	s.reqs = slices.DeleteFunc(s.reqs, func(x *REQ) bool { return x == l })
}
