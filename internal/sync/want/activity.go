package want

import (
	"math"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// A relay may not let graspd follow all root events live. Then a root event that people talk about ranks as if it had been made when they
// last did. This activity follows from the created_at of the events that name the root event, not from when and in which order they came.

const (
	activityStep = 3600 // seconds; times of activity are rounded down to it, so all talk within an hour moves a root event once
	mostStirred  = 16   // ids named by one event that count as talked about
	leastStirred = 64   // pages that rouse may remake before all relays get a new Want, however few pages there are
)

// MostRecent is how many of the newest stored events the owner of a Desired adds at the start besides those of Kinds, for the activity that
// they show.
const MostRecent = 20_000

// stir notes that an event names root events.
func (d *Desired) stir(e *nostr.Event) {
	if e.Kind == nostr.KindDeletion || e.CreatedAt < 0 {
		return
	}
	left := mostStirred
	for _, t := range e.Tags {
		switch t.Name() {
		case "e", "E", "q":
		default:
			continue
		}
		id, err := nostr.ParseID(t.Value())
		if err != nil {
			continue
		}
		if no := d.rootOf(id); no != 0 {
			d.stirred[no] = max(d.stirred[no], e.CreatedAt)
		}
		if left--; left == 0 {
			return
		}
	}
}

// rouse moves the activity that stir noted into the names, and gives every relay concerned a Want with the new names.
func (d *Desired) rouse() {
	if len(d.stirred) == 0 {
		return
	}
	next := *d.names
	remade := make(map[int]bool)
	for no, at := range d.stirred {
		it := d.roots.at(no).item
		if it == 0 { // no repository has it
			continue
		}
		at -= at % activityStep
		if at <= next.root(it).created || at <= next.spoken(it) {
			continue
		}
		i := int(it / namePage)
		if !remade[i] {
			if len(remade) == 0 {
				next.activity = slices.Clone(next.activity)
			}
			remade[i] = true
			next.activity = remake(next.activity, i)
		}
		next.activity[i][it%namePage] = uint32(min(at/activityStep, 1<<32-1))
		for n := range d.roots.addresses(no) {
			for _, r := range n.repos {
				for _, u := range r.relays {
					d.affected[u] = struct{}{}
				}
			}
		}
	}
	d.stirred = emptied(d.stirred)
	if len(remade) == 0 {
		return
	}
	d.names = &next
	// A Want keeps the pages with which it was made. The Wants of relays without news would keep all pages that there ever were, so
	// every relay gets a new Want before these pages are many.
	if d.remade += len(remade); d.remade > max(leastStirred, 2*len(next.activity)) {
		d.remade = 0
		for u := range d.targets {
			d.affected[u] = struct{}{}
		}
	}
}

// remake puts a copy of page i, which the caller may write, into pages, a list that only the caller has. It returns the list.
func remake(pages []*[namePage]uint32, i int) []*[namePage]uint32 {
	for len(pages) <= i {
		pages = append(pages, nil)
	}
	page := new([namePage]uint32)
	if pages[i] != nil {
		*page = *pages[i]
	}
	pages[i] = page
	return pages
}

// spoken returns when people last talked about a root event, in seconds since 1970, rounded down to activityStep; 0 = never.
func (t *names) spoken(it Item) int64 {
	if i := int(it / namePage); i < len(t.activity) && t.activity[i] != nil {
		return int64(t.activity[i][it%namePage]) * activityStep
	}
	return 0
}

// Roused calls f for the root events that somebody talked about since old was handed out.
func (w *Want) Roused(old *Want, f func(Item)) {
	if now, was := w.names.activity, old.names.activity; len(now) == len(was) && (len(now) == 0 || &now[0] == &was[0]) {
		return // one and the same list, as that is copied when it changes
	}
	for i, page := range w.names.activity {
		var was *[namePage]uint32
		if i < len(old.names.activity) {
			was = old.names.activity[i]
		}
		if page == nil || page == was {
			continue
		}
		for k, at := range page {
			if was == nil && at > 0 || was != nil && at > was[k] {
				f(Item(i*namePage + k))
			}
		}
	}
}

// Rank orders items for the room in live REQs. The rank of a root event is when somebody made or last talked about it, in seconds since
// 1970. Any other item ranks above all root events.
func (w *Want) Rank(it Item) int64 {
	if w.Layer(it) == LayerRoots {
		return max(w.names.root(it).created, w.names.spoken(it))
	}
	return math.MaxInt64
}
