// Package gaps says since when items of a relay have had a live REQ, and by that which events are gaps: Times tells what a live REQ should
// have brought, and Gaps keeps what it did not. Its caller tells the time and reports.
package gaps

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/sync/peer/itemset"
	"github.com/graspd/graspd/internal/sync/want"
)

// Times says since when items have had a live REQ on this connection without a
// break, in Unix seconds by the local clock. Most of them got theirs when the
// connection was young and share one time; a later item is remembered for a day.
type Times struct {
	all   int64   // whatever has a live REQ and is not in late has had it at least since then
	late  []epoch // in order of time
	items int     // in late
}

// epoch is the items of live REQs that opened at one time.
type epoch struct {
	at    int64
	items []want.Item
}

// How long a connection counts as young, and how long it is remembered that
// items came later: longer than from one full resync to the next. Of more than
// MostLate the oldest are forgotten sooner. What was followed before is then taken
// to be followed only since that time, so a gap may go untold and none is made up.
const (
	followedYoung = 10 * time.Minute
	followedLate  = 26 * time.Hour
	MostLate      = 10_000 // items, one that came several times counted each time
)

// Follow notes that live REQs for lots have just opened, on a connection of the time opened.
func (f *Times) Follow(lots []itemset.Lot, opened, now backoff.Now) {
	at := now.Wall.Unix()
	if now.Mono < opened.Mono+followedYoung {
		*f = Times{all: at}
		return
	}
	e := epoch{at, itemset.ItemsOf(lots)}
	if len(e.items) == 0 { // it stands in for others, which have noted theirs
		return
	}
	f.late, f.items = append(f.late, e), f.items+len(e.items)
	gone := 0
	for ; gone < len(f.late) && (f.items > MostLate || f.late[gone].at <= at-int64(followedLate/time.Second)); gone++ {
		f.all, f.items = max(f.all, f.late[gone].at), f.items-len(f.late[gone].items)
	}
	f.late = slices.Delete(f.late, 0, gone)
}

// Restart counts everything as followed since at, and not before.
func (f *Times) Restart(at int64) { *f = Times{all: at} }

// Of returns the time since which an item has had its live REQ.
func (f *Times) Of(it want.Item) int64 {
	for _, e := range slices.Backward(f.late) {
		if slices.Contains(e.items, it) {
			return e.at
		}
	}
	return f.all
}

// Size counts what is remembered: times at which items came late, and these items.
func (f *Times) Size() (times, items int) { return len(f.late), f.items }
