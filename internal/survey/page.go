// Package survey finds in what is stored here what layer 4 asks a relay for: what is about the items that are wanted, in
// turns. Tour says what is read next and keeps what was found. Query is what a page is about, and Page says what of it counts.
package survey

import (
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// Query asks for a page of the stored events that are about some values, behind the place After (nil = from the newest on).
// What is about something in Above is left to the query for that.
type Query struct {
	Values
	Above []Values
	After *Cursor
}

// Answer is what a page has.
type Answer struct {
	IDs     []nostr.ID     // events of the page that are no root events, and stored ones that they name
	Missing []nostr.ID     // ids that they name and that are unknown here
	Authors []nostr.PubKey // of the page, with repeats
	Next    *Cursor        // where the next page begins; nil = there is none
}

// Cursor is where a survey stands: it reads newest first, and the lowest id first within a second.
type Cursor struct {
	Time int64
	ID   nostr.ID
}

// Values are ids and addresses of events that others are about: they name one of them or stand at one.
type Values struct {
	IDs       []nostr.ID
	Addresses []string
}

// Lookup is what a survey asks about single events.
type Lookup interface {
	// Look returns the stored event with that id, nil if it is not stored, and
	// whether the id is known: stored, or remembered as decided against.
	Look(id nostr.ID) (e *nostr.Event, known bool, err error)
}

// Bounds of one page.
const (
	PageReads   = 500 // stored events read
	PageIDs     = 100 // events in it, and as many missing ids
	MostNamed   = 16  // missing ids that count of one event; the rest is never asked for
	MostForward = 16  // stored events that one event brings with it because it names them; the rest is left out
)

// Page gathers what one survey finds.
type Page struct {
	above map[string]struct{} // what is about these is found there
	own   map[string]struct{}
	in    map[nostr.ID]struct{} // of out.IDs and out.Missing
	reads int
	out   Answer
}

// Page begins the answer to a query.
func (q Query) Page() *Page {
	g := &Page{above: make(map[string]struct{}), own: make(map[string]struct{}), in: make(map[nostr.ID]struct{})}
	for _, v := range q.Above {
		v.into(g.above)
	}
	q.Values.into(g.own)
	return g
}

func (v Values) into(set map[string]struct{}) {
	for _, id := range v.IDs {
		set[id.String()] = struct{}{}
	}
	for _, a := range v.Addresses {
		set[a] = struct{}{}
	}
}

// Add takes the next event that is about one of the query's values. It reports
// that the page is full; then the event may not be in it, and the next page
// begins where this one ends.
func (g *Page) Add(e *nostr.Event, a Lookup) (full bool, err error) {
	if !isAbout(e, g.above) {
		x := addition{page: g, lookup: a, queue: []*nostr.Event{e}}
		if err := x.follow(); err != nil {
			return false, err
		}
		if !g.room(x) {
			return true, nil
		}
		g.out.IDs = append(g.out.IDs, x.ids...)
		g.out.Missing = append(g.out.Missing, x.missing...)
		g.out.Authors = append(g.out.Authors, x.authors...)
		for _, id := range append(x.ids, x.missing...) {
			g.in[id] = struct{}{}
		}
	}
	g.out.Next = &Cursor{Time: e.CreatedAt, ID: e.ID}
	g.reads++
	return g.reads >= PageReads, nil
}

// room says whether the page bears one more; an empty one bears anything.
func (g *Page) room(x addition) bool {
	return len(g.out.IDs)+len(g.out.Missing) == 0 ||
		len(g.out.IDs)+len(x.ids) <= PageIDs && len(g.out.Missing)+len(x.missing) <= PageIDs
}

// Answer is what was found; end says that nothing was left to add.
func (g *Page) Answer(end bool) Answer {
	if end {
		g.out.Next = nil
	}
	return g.out
}

// addition is what one event adds to a page: itself, what it names and is not
// here, and what it names and nothing else would lead to.
type addition struct {
	page    *Page
	lookup  Lookup
	queue   []*nostr.Event
	ids     []nostr.ID
	missing []nostr.ID
	authors []nostr.PubKey
	seen    map[nostr.ID]struct{}
}

func (x *addition) follow() error {
	x.seen = make(map[nostr.ID]struct{})
	for i := 0; i < len(x.queue); i++ {
		e := x.queue[i]
		x.seen[e.ID] = struct{}{}
		if _, dup := x.page.in[e.ID]; !dup && !isRoot(e) {
			x.ids = append(x.ids, e.ID)
		}
		x.authors = append(x.authors, e.PubKey)
		if e.Kind == nostr.KindDeletion || e.Kind == nostr.KindVanish {
			continue // what it names is to be gone
		}
		for _, id := range nip34.References(e).IDs {
			if err := x.named(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// named takes an id that an event names.
func (x *addition) named(id nostr.ID) error {
	_, above := x.page.above[id.String()]
	_, own := x.page.own[id.String()]
	_, in := x.page.in[id]
	_, seen := x.seen[id]
	if above || own || in || seen {
		return nil
	}
	x.seen[id] = struct{}{}
	e, known, err := x.lookup.Look(id)
	switch {
	case err != nil:
		return err
	case !known && len(x.missing) < MostNamed:
		x.missing = append(x.missing, id)
	case e != nil && len(x.queue) <= MostForward && !isRoot(e) && !isAbout(e, x.page.above) && !isAbout(e, x.page.own):
		x.queue = append(x.queue, e)
	}
	return nil
}

// isRoot says whether e is a root event: layer 3 asks for what names it.
func isRoot(e *nostr.Event) bool { return nip34.IsRoot(e.Kind) && len(nip34.Repositories(e)) > 0 }

// isAbout says whether e names one of these ids or addresses or stands at one.
func isAbout(e *nostr.Event, set map[string]struct{}) bool {
	if _, ok := set[e.Address()]; ok {
		return true
	}
	for _, t := range e.Tags {
		if v := t.Value(); isReference(t.Name(), v) {
			if _, ok := set[v]; ok {
				return true
			}
		}
	}
	return false
}

// isReference says whether a tag of that name counts with that value: an id, or an address.
func isReference(name, value string) bool {
	switch name {
	case "e", "E":
		return len(value) == 2*len(nostr.ID{})
	case "a", "A":
		return len(value) > 2*len(nostr.ID{})
	}
	return name == "q"
}
