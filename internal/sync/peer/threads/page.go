package threads

import (
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// PageQuery asks for a page of the stored events that are about some values, behind the event After (nil = from the newest on): a
// survey reads the newest event first and, within a second, the lowest id first. It leaves events about something in Above to the query for that.
type PageQuery struct {
	Values
	Above []Values
	After *nostr.Stamp
}

// PageAnswer is what the tour learns from a page.
type PageAnswer struct {
	IDs     []nostr.ID     // events of the page that are no root events, and stored ones that they name
	Missing []nostr.ID     // ids that these events name and that are unknown here
	Authors []nostr.PubKey // authors of the events, with repeats
	Next    *nostr.Stamp   // the event behind which the next page begins; nil = there is none
}

// Values are ids and addresses. An event is about Values if it names one of them, or stands at one.
type Values struct {
	IDs       []nostr.ID
	Addresses []string
}

// Lookup answers questions about single events.
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

// Page gathers the answer to one PageQuery.
type Page struct {
	above map[string]struct{} // events about these belong to other queries
	own   map[string]struct{}
	in    map[nostr.ID]struct{} // of out.IDs and out.Missing
	reads int
	out   PageAnswer
}

// Page returns an empty page for the query.
func (q PageQuery) Page() *Page {
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
// whether the page is full. Then the event may not be in it, and the next page
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
	at := e.Stamp()
	g.out.Next = &at
	g.reads++
	return g.reads >= PageReads, nil
}

// room reports whether the page has room for x. An empty page has room for anything.
func (g *Page) room(x addition) bool {
	return len(g.out.IDs)+len(g.out.Missing) == 0 ||
		len(g.out.IDs)+len(x.ids) <= PageIDs && len(g.out.Missing)+len(x.missing) <= PageIDs
}

// Answer returns what the page gathered; end says that nothing was left to add.
func (g *Page) Answer(end bool) PageAnswer {
	if end {
		g.out.Next = nil
	}
	return g.out
}

// addition is what one event adds to a page: itself, the ids that it names and
// that are not here, and the events that it names and to which nothing else would
// lead.
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
			continue // the events that it names are to go
		}
		for _, id := range nip34.References(e).IDs {
			if err := x.named(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// named adds an id that an event names.
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

// isRoot reports whether e is a root event: layer 3 asks for the events that name it.
func isRoot(e *nostr.Event) bool {
	return nip34.Is(e.Kind, nip34.Root) && len(nip34.Repositories(e)) > 0
}

// isAbout reports whether e names one of these ids or addresses, or stands at one.
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

// isReference reports whether a tag of that name and value names an id or an address.
func isReference(name, value string) bool {
	switch name {
	case "e", "E":
		return len(value) == 2*len(nostr.ID{})
	case "a", "A":
		return len(value) > 2*len(nostr.ID{})
	}
	return name == "q"
}
