package itemset

import (
	"iter"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/paging"
	"github.com/graspd/graspd/internal/want"
)

// Lot is items of one layer that stand alike.
type Lot struct {
	Layer want.Layer
	Apart Apart // kept in REQs of their own
	Since Since // their stored events are asked from here on
	Items []want.Item
}

// Since is from when on the stored events of items are asked, in Unix seconds by the local clock.
type Since int64

// The times from which everything is asked.
const (
	AllStored Since = 0 // all of them
	AllAgain  Since = 1 // all of them, of items that were confirmed: what they tell of coverage counts already
)

// SinceTime is the since of items that are known to have been complete at a time.
func SinceTime(t time.Time) Since { return max(AllAgain, Since(t.Unix())) }

// Bounded says whether less than all is asked.
func (s Since) Bounded() bool { return s > AllAgain }

// Counted says whether what the stored events tell of coverage counts already.
func (s Since) Counted() bool { return s > AllStored }

// Span is the times that are asked.
func (s Since) Span() paging.Span { return paging.From(int64(s)) }

// Apart says why items are not to stand in one REQ with others.
type Apart uint8

// The reasons.
const (
	Together  Apart = iota // there is none
	ApartLong              // known relays refuse a REQ for values like theirs
	ApartBare              // the relay answers a REQ with their filter with nothing
)

// Alike says whether the items of both may stand in one lot.
func (l Lot) Alike(o Lot) bool { return l.Layer == o.Layer && l.Apart == o.Apart && l.Since == o.Since }

// AddLot adds a lot to lots, into one that is alike if there is one. It does
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

// Prune takes the items out of lots that match, and the lots that are empty then. It changes lots.
func Prune(lots []Lot, gone func(want.Item) bool) []Lot {
	for i := range lots {
		lots[i].Items = slices.DeleteFunc(lots[i].Items, gone)
	}
	return slices.DeleteFunc(lots, func(l Lot) bool { return len(l.Items) == 0 })
}

// Holds says whether an item of lots matches.
func Holds(lots []Lot, is func(want.Item) bool) bool {
	return slices.ContainsFunc(lots, func(x Lot) bool { return slices.ContainsFunc(x.Items, is) })
}
