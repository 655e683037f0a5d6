package index

import (
	"bytes"
	"math"
	"slices"

	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// query is a filter made ready: it says which index ranges to read, and what remains to be checked on their rows.
type query struct {
	filter       nostr.Filter
	since, until int64
	first        [layout.OrderLen]byte // no row before this place is an answer
	limit        int
	ids          []nostr.ID // of a filter that names ids, which are looked up and not scanned
	kinds        []nostr.Kind
	tags         []tagSet
	values       map[string]int16 // by index range, where a scan has to tell the values; see markValues
	conditions   []condition      // an event matches a filter without ids if it is in every condition and its kind fits
	best         int              // the condition that looks cheapest to read

	// The choice of the index, and what remains to be checked.
	driver     condition
	others     []condition // checked by index
	checkKind  bool        // checked on the row
	checkEvent bool        // checked on the event

	// pause, where it is set, yields what was found and reports whether more is wanted. It is called at the end, and before each call of the
	// meter, which may wait.
	pause func() (more bool, err error)
}

// tagSet is a tag filter by the hashes of its values.
type tagSet struct {
	name   byte
	hashes map[layout.Hash]bool
}

// has reports whether an event with this tag meets the filter.
func (t tagSet) has(f layout.TagFact) bool {
	name, asked := layout.Shared(t.name)
	return f.Name == name && f.Cases.Meets(asked) && t.hashes[f.Hash]
}

// condition is what a filter asks of one field, as index ranges. An event meets it if one of the ranges has the event.
type condition struct {
	spans   []keyRange
	authors []nostr.PubKey // of a condition for all events of these, whose spans are looked for when it is read
	looked  bool           // the spans of authors were looked for
	kinds   bool           // it settles the kind too
	rows    int            // a guess of how many rows it has, to compare conditions
}

const (
	// maxProduct bounds the ranges of a condition of authors and kinds.
	maxProduct = 512
	// maxProbes is how many ranges a condition may have that is checked by index. With more, it is cheaper to read the event.
	maxProbes = 8
)

// newQuery normalises a filter. It chooses no index yet.
func newQuery(f nostr.Filter) *query {
	q := &query{filter: f, until: math.MaxInt64, limit: math.MaxInt}
	if f.Since != nil {
		q.since = max(*f.Since, 0)
	}
	if f.Until != nil {
		q.until = *f.Until
	}
	if f.Limit != nil {
		q.limit = *f.Limit
	}
	q.ids, q.kinds = slices.Clone(f.IDs), unique(f.Kinds)
	slices.SortFunc(q.ids, nostr.ID.Compare) // so that each is near the one before
	q.ids = slices.Compact(q.ids)
	for _, t := range f.Tags {
		set := tagSet{t.Name, make(map[layout.Hash]bool, len(t.Values))}
		for _, v := range t.Values {
			set.hashes[layout.HashOf(v)] = true
		}
		q.tags = append(q.tags, set)
	}
	return q
}

// empty reports whether no event can match.
func (q *query) empty() bool {
	f := &q.filter
	if f.IDs != nil && len(f.IDs) == 0 || f.Authors != nil && len(f.Authors) == 0 || f.Kinds != nil && len(f.Kinds) == 0 {
		return true
	}
	for _, t := range f.Tags {
		if len(t.Values) == 0 {
			return true
		}
	}
	return q.limit <= 0 || q.since > q.until
}

func unique[T comparable](s []T) []T {
	seen := make(map[T]bool, len(s))
	return slices.DeleteFunc(slices.Clone(s), func(v T) bool {
		dup := seen[v]
		seen[v] = true
		return dup
	})
}

// split makes the conditions of the filter, and guesses which is the cheapest to read (best). A tag that names an event or a repository singles
// out more than a topic or a kind does, and an author stands in between.
func (q *query) split() {
	for _, t := range q.tags {
		q.conditions = append(q.conditions, tagCondition(t))
	}
	if q.filter.Authors != nil {
		q.conditions = append(q.conditions, authorCondition(unique(q.filter.Authors), q.kinds))
	}
	if q.kinds != nil && len(q.kinds) <= maxProduct {
		g := condition{kinds: true, rows: rowsOfKind * len(q.kinds)}
		for _, k := range q.kinds {
			g.spans = append(g.spans, keyRange{prefix: layout.KindPrefix(k)})
		}
		q.conditions = append(q.conditions, g)
	}
	for _, g := range q.conditions {
		slices.SortFunc(g.spans, bySpan) // it is cheaper to seek forward than to and fro
	}
	costs := make([]int, len(q.conditions))
	for i, g := range q.conditions {
		costs[i] = g.rows
		if others, checkEvent := q.remaining(i); checkEvent {
			costs[i] *= eventCost
		} else {
			costs[i] *= 1 + len(others)
		}
	}
	for i, cost := range costs {
		if cost < costs[q.best] {
			q.best = i
		}
	}
}

// Guesses of how many rows one value has in an index, and what it costs to read and parse an event instead of a row.
const (
	rowsOfReference  = 10
	rowsOfAuthor     = 100
	rowsOfRepository = 200
	rowsOfTopic      = 5_000
	rowsOfKind       = 10_000
	eventCost        = 30
)

func tagCondition(t tagSet) condition {
	g := condition{rows: rowsOfTopic * len(t.hashes)}
	switch t.name {
	case 'e', 'E', 'd', 'q':
		g.rows = rowsOfReference * len(t.hashes)
	case 'a', 'A', 'r', 'p', 'P':
		g.rows = rowsOfRepository * len(t.hashes)
	}
	for h := range t.hashes {
		g.spans = append(g.spans, tagSpan(t.name, h))
	}
	return g
}

func authorCondition(authors []nostr.PubKey, kinds []nostr.Kind) condition {
	g := condition{rows: rowsOfAuthor * len(authors)}
	if kinds == nil || len(authors)*len(kinds) > maxProduct {
		g.authors = slices.SortedFunc(slices.Values(authors), nostr.PubKey.Compare)
		return g
	}
	g.kinds = true
	for _, a := range authors {
		for _, k := range kinds {
			g.spans = append(g.spans, keyRange{prefix: layout.AuthorKindPrefix(a, k)})
		}
	}
	return g
}

func bySpan(a, b keyRange) int { return bytes.Compare(a.prefix, b.prefix) }

// drive makes conditions[i] the one to read, and the others those to check.
func (q *query) drive(i int) {
	q.driver = condition{spans: everything()}
	if len(q.conditions) > 0 {
		q.driver = q.conditions[i]
		q.others, q.checkEvent = q.remaining(i)
	}
	q.checkKind = q.kinds != nil && !q.driver.kinds
}

// remaining returns what is left to check when conditions[i] is read: conditions with few ranges by index, others on the event.
func (q *query) remaining(i int) (byIndex []condition, onEvent bool) {
	for j, g := range q.conditions {
		switch {
		case j == i || isKinds(g):
		case g.probes() <= maxProbes:
			byIndex = append(byIndex, g)
		default:
			onEvent = true
		}
	}
	return byIndex, onEvent
}

// probes returns how many seeks it takes to check by index whether an event is in the condition.
func (g condition) probes() int {
	if g.authors != nil {
		return len(g.authors)
	}
	return len(g.spans)
}

// isKinds reports whether the condition is about kinds only, which every row tells.
func isKinds(g condition) bool { return len(g.spans) > 0 && g.spans[0].prefix[0] == layout.TableKind }

// wantsKind reports whether the filter takes the kind in a row.
func (q *query) wantsKind(k nostr.Kind) bool {
	return !q.checkKind || slices.Contains(q.kinds, k)
}

// matches checks the whole filter on the facts of a remembered event.
func (q *query) matches(f layout.Facts) bool {
	if f.Time < q.since || f.Time > q.until ||
		q.kinds != nil && !slices.Contains(q.kinds, f.Kind) ||
		q.filter.Authors != nil && !slices.Contains(q.filter.Authors, f.Author) {
		return false
	}
	for _, t := range q.tags {
		if !slices.ContainsFunc(f.Tags, t.has) {
			return false
		}
	}
	return true
}
