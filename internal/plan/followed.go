package plan

import (
	"slices"
	"time"

	"github.com/graspd/graspd/internal/itemset"
	"github.com/graspd/graspd/internal/want"
)

// followed says since when items have had a live REQ on this connection without a
// break, in Unix seconds by the local clock. Most of them got theirs when the
// connection was young and share one time; who came later is remembered for a day.
type followed struct {
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
// mostLate the oldest are forgotten sooner. What was followed before is then taken
// to be followed only since that time, so a gap may go untold and none is made up.
const (
	followedYoung = 10 * time.Minute
	followedLate  = 26 * time.Hour
	mostLate      = 10_000 // items, one that came several times counted each time
)

// follow notes that live REQs for lots have just opened, on a connection of the time opened.
func (f *followed) follow(lots []itemset.Lot, opened, now Now) {
	at := now.Wall.Unix()
	if now.Mono < opened.Mono+followedYoung {
		*f = followed{all: at}
		return
	}
	e := epoch{at, itemset.ItemsOf(lots)}
	if len(e.items) == 0 { // it stands in for others, which have noted theirs
		return
	}
	f.late, f.items = append(f.late, e), f.items+len(e.items)
	gone := 0
	for ; gone < len(f.late) && (f.items > mostLate || f.late[gone].at <= at-int64(followedLate/time.Second)); gone++ {
		f.all, f.items = max(f.all, f.late[gone].at), f.items-len(f.late[gone].items)
	}
	f.late = slices.Delete(f.late, 0, gone)
}

// restart counts nothing as followed before the time at.
func (f *followed) restart(at int64) { *f = followed{all: at} }

// since returns the time for an item that has a live REQ.
func (f *followed) since(it want.Item) int64 {
	for _, e := range slices.Backward(f.late) {
		if slices.Contains(e.items, it) {
			return e.at
		}
	}
	return f.all
}
