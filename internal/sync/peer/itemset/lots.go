package itemset

import (
	"iter"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/sync/peer/paging"
	"github.com/graspd/graspd/internal/sync/want"
)

// Lot is items of one layer that stand alike.
type Lot struct {
	Layer     want.Layer
	Isolation Isolation // why the items stand in REQs of their own
	Since     Since     // the time from which on their stored events are asked for
	Items     []want.Item
}

// Since is the time from which on the stored events of items are asked for, in Unix seconds by the local clock.
type Since int64

// The values of Since that ask for everything.
const (
	AllStored Since = 0 // all stored events
	AllAgain  Since = 1 // all stored events again, of items that were confirmed: coverage counts these events already
)

// SinceTime returns the Since of items that were complete at the time t.
func SinceTime(t time.Time) Since { return max(AllAgain, Since(t.Unix())) }

// Bounded reports whether s asks for less than all stored events.
func (s Since) Bounded() bool { return s > AllAgain }

// Counted reports whether coverage counts the stored events already.
func (s Since) Counted() bool { return s > AllStored }

// Span returns the range of times that s asks for.
func (s Since) Span() paging.Span { return paging.From(int64(s)) }

// Isolation says why items must not stand in one REQ with others.
type Isolation uint8

// The reasons.
const (
	Shared       Isolation = iota // they may stand together
	OddValue                      // known relays refuse a REQ because of values like these items have
	NeedsNoKinds                  // the relay sends no events for a REQ with a filter like these items need
)

// Alike reports whether the items of l and o may stand in one lot.
func (l Lot) Alike(o Lot) bool {
	return l.Layer == o.Layer && l.Isolation == o.Isolation && l.Since == o.Since
}

// AddLot adds the items of l to an alike lot of lots, or adds l as a new lot. It does
// not keep l.Items.
func AddLot(lots []Lot, l Lot) []Lot {
	if len(l.Items) == 0 {
		return lots
	}
	for i := range lots {
		if lots[i].Alike(l) {
			lots[i].Items = append(lots[i].Items, l.Items...)
			return lots
		}
	}
	l.Items = slices.Clone(l.Items)
	return append(lots, l)
}

// Each yields the items of lots.
func Each(lots []Lot) iter.Seq[want.Item] {
	return func(yield func(want.Item) bool) {
		for _, l := range lots {
			for _, it := range l.Items {
				if !yield(it) {
					return
				}
			}
		}
	}
}

// ItemsOf returns the items of lots.
func ItemsOf(lots []Lot) []want.Item { return slices.Collect(Each(lots)) }

// Prune takes the items for which gone is true out of lots, and then the empty lots. It changes lots.
func Prune(lots []Lot, gone func(want.Item) bool) []Lot {
	for i := range lots {
		lots[i].Items = slices.DeleteFunc(lots[i].Items, gone)
	}
	return slices.DeleteFunc(lots, func(l Lot) bool { return len(l.Items) == 0 })
}

// Holds reports whether is is true for an item of lots.
func Holds(lots []Lot, is func(want.Item) bool) bool {
	return slices.ContainsFunc(lots, func(x Lot) bool { return slices.ContainsFunc(x.Items, is) })
}
