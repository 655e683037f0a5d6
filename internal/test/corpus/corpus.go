// Package corpus makes realistic collections of git events (NIP-34): announcements, states, patches, pull requests, issues and the
// discussion about them, together with events that a relay has to throw away. They are signed, and the same options make the same events
// for ever. The package says of every event what it is, and what a relay that does everything right makes of it. Tests and
// benchmarks use it.
package corpus

import (
	"cmp"
	"iter"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Options say what a corpus holds. Counts are exact: with Repositories above zero there are Repositories + Roots + Others + Noise events, and
// without repositories only Noise.
type Options struct {
	Seed         uint64
	Repositories int // announcements by owners, the newest version of each
	Roots        int // patches, pull requests, their updates and issues that name a repository; a few repositories have most of them
	Others       int // states, maintainers' announcements, comments, statuses, reactions, deletions and the like
	Noise        int // events about other things, which no relay named below wants

	Relays     []string // URLs of which each repository lists some
	RelaysEach int      // how many; 0: all of them
	Service    string   // URL that every repository lists first; "": none

	Since, Until int64 // bounds of created_at, unix seconds; Until counts as now
	Older        bool  // with older versions of announcements and states, which count as Others

	// Sign sets author, id and signature of an event. pk belongs to key. Nil makes a genuine signature, the costly part of making an event.
	Sign func(key nostr.SecretKey, pk nostr.PubKey, e *nostr.Event)
}

// Item is an event and the truth about it.
type Item struct {
	Event *nostr.Event
	What  What
	Fate  Fate
	// Repositories are the repositories that the event is about, by number from 0; none for noise. A relay should have the event when one of
	// them lists that relay. Other relays may take a deletion as well, by an author of whom they have something.
	Repositories []int
}

// Corpus is a whole collection in memory.
type Corpus struct {
	Items        []Item       // by created_at; an event stands behind what it names
	Repositories []Repository // by number, the largest first
}

// Generate makes the whole collection at once.
func Generate(o Options) *Corpus {
	g := newGenerator(o)
	c := &Corpus{Items: slices.Collect(g.all())}
	slices.SortStableFunc(c.Items, func(a, b Item) int { return cmp.Compare(a.Event.CreatedAt, b.Event.CreatedAt) })
	for i := range g.o.Repositories {
		c.Repositories = append(c.Repositories, g.repository(i).Repository)
	}
	return c
}

// Stream yields the events of Generate one by one without keeping them: repository by repository, the largest first, each announcement
// before what names it, thread by thread.
func Stream(o Options) iter.Seq[Item] { return newGenerator(o).all() }

// Events yields the events of the given fates, in the order of Items; without fates it yields all.
func (c *Corpus) Events(fates ...Fate) iter.Seq[*nostr.Event] {
	return func(yield func(*nostr.Event) bool) {
		for _, it := range c.Items {
			if (len(fates) == 0 || slices.Contains(fates, it.Fate)) && !yield(it.Event) {
				return
			}
		}
	}
}
