package peer

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
	"github.com/graspd/graspd/internal/sync/peer/paging"
	"github.com/graspd/graspd/internal/sync/want"
)

// left is what a lost connection leaves to the next one: how the relay answers, and how far the reading of what is not confirmed has come. It lasts
// for the time of a quick reconnect; what is too large, until the next full resync.
type left struct {
	habits paging.Habits
	pages  reading
	ids    int              // ids that are asked for at once; 0 = as many as usual
	large  map[nostr.ID]int // of events that may be too large: how often a connection was lost when one was asked for alone
	narrow int              // connections in a row that brought nothing but that the next one asks for less
}

// unread is what a task had read, in part or in full, before the connection was lost.
type unread struct {
	pager    *paging.Pager
	since    int64 // what came to the relay from then on was not read
	over     bool  // all else was
	unproven bool
	tally    coverage.Tally
}

const (
	mostLeft  = 256   // filters; those beyond are read from the beginning
	mostLarge = 1_000 // ids
	fewLosses = 2     // connections may end for another reason
	mostSoon  = 64    // connections in a row that brought nothing, and after which the relay is dialed again soon
)

// place names what a task reads.
func (t *task) place() string { return fmt.Sprint(t.filter.Key(), t.group.Since) }

// reading is what tasks have read, by filter and time.
type reading map[string]unread

// keep notes what a task has read. The relay may have got more since the task began.
func (r *reading) keep(t *task, u unread) {
	u.since, u.unproven, u.tally = t.from, t.unproven, t.tally
	if len(*r) >= mostLeft {
		return
	}
	if *r == nil {
		*r = make(reading)
	}
	(*r)[t.place()] = u
}

// recently is the time from which on what is created may come to the relay after what is asked now was answered.
func (s *stepContext) recently() int64 { return s.now.Wall.Add(-s.cfg.QuickReconnect).Unix() }

// finished notes what was read in full of items that nobody follows.
func (c *catchup) finished(g *group) {
	for _, t := range g.tasks {
		if !t.extra && (t.pager != nil && t.pager.Ended() || t.pager == nil && t.neg != nil) {
			c.polledRead.keep(t, unread{pager: paging.Read(&c.habits), over: true})
		}
	}
}

// of returns what a lost connection left of what a task reads.
func (l *left) of(t *task) (unread, bool) {
	if len(l.pages) == 0 {
		return unread{}, false
	}
	u, ok := l.pages[t.place()]
	return u, ok
}

func (c *catchup) isLeft(t *task) bool { _, ok := c.left.of(t); return ok }

// begin has a task read pages, from where a lost connection left them.
func (c *catchup) begin(t *task) {
	t.from = c.recently()
	u, ok := c.left.of(t)
	if !ok {
		t.pager = paging.New(t.group.Since.Span(), &c.habits)
		c.askPage(t)
		return
	}
	delete(c.left.pages, t.place())
	u.pager.Resume(u.since, &c.habits)
	t.pager, t.unproven, t.tally, t.again = u.pager, u.unproven, u.tally, u.over
	c.askPage(t)
}

// leaves keeps for the next connection how far what is not confirmed was read. It reports
// whether the next connection is worth making soon, as it asks for less: something was read in full, or this connection ended before anything came.
func (c *catchup) leaves() (soon bool) {
	narrower, answering := false, c.answering()
	c.habits.Lost()
	for _, g := range c.groups {
		if !g.byItems() || g.Layer == want.LayerReferences {
			continue
		}
		for _, t := range g.tasks {
			narrower = c.leavesTask(t, answering) || narrower
		}
	}
	if c.left.pages == nil {
		c.left.pages = make(reading)
	}
	for place, u := range c.polledRead {
		if _, later := c.left.pages[place]; !later && len(c.left.pages) < mostLeft {
			c.left.pages[place] = u
		}
	}
	c.left.habits = c.habits
	if narrower {
		c.left.narrow++
	}
	return narrower && c.left.narrow <= mostSoon
}

// answering returns the request that the relay was answering when the connection was lost, as far as one can tell: one of which something came, or
// the one that was sent first. The others only waited.
func (c *catchup) answering() (r *request) {
	for _, t := range c.running {
		switch x := t.req; {
		case x == nil || x.answered || x.kind != asksPage && x.kind != asksIDs:
		case r == nil, r.events == 0 && (x.events > 0 || x.begun < r.begun):
			r = x
		}
	}
	return r
}

func (c *catchup) leavesTask(t *task, answering *request) (narrower bool) {
	r := t.req
	if r != nil && r == answering && r.kind == asksIDs && r.events == 0 {
		return c.lostAsking(r.batch.IDs())
	}
	pager := t.pager
	switch {
	case t.extra:
		return false
	case pager == nil && t.over && t.neg != nil: // all was compared
		pager = paging.Read(&c.habits)
	case pager == nil || t.neg != nil && !t.neg.LastPage():
		return false
	}
	over := t.again || t.over && pager.Ended()
	if r != nil && r.kind == asksPage && (r == answering || r.events > 0) {
		narrower = pager.Lost(c.now.Wall.Unix())
	}
	pager.Forget()
	c.left.pages.keep(t, unread{pager: pager, over: over})
	return narrower || over && !t.again
}

// lostAsking records that a connection was lost when ids were asked for, before anything came. The next one asks for half as many at once; an id that is asked
// for alone is taken for that of an event that is too large.
func (c *catchup) lostAsking(ids []nostr.ID) (narrower bool) {
	l := c.left
	l.ids = max(1, len(ids)/2)
	if len(ids) > 1 || len(l.large) >= mostLarge {
		return len(ids) > 1
	}
	if l.large == nil {
		l.large = make(map[nostr.ID]int)
	}
	if l.large[ids[0]]++; l.large[ids[0]] < fewLosses {
		return true
	}
	c.report(LevelWarn, "the relay ends the connection when it is asked for an event, which may be too large: graspd asks for it again once a day", "event", ids[0].String())
	return true
}

// atATime returns how many ids are asked for at once.
func (c *catchup) atATime() int {
	if c.left.ids > 0 {
		return min(c.left.ids, c.limits.IDs())
	}
	return c.limits.IDs()
}

// withoutLarge returns ids without those of events that are too large; what the task finds is not proven to be all then.
func (c *catchup) withoutLarge(t *task, ids []nostr.ID) []nostr.ID {
	return slices.DeleteFunc(slices.Clone(ids), func(id nostr.ID) bool {
		large := c.left.large[id] >= fewLosses
		t.unproven = t.unproven || large
		return large
	})
}

// gave records that the relay has answered a request for ids: it may be asked for more at once.
func (l *left) gave(most int) {
	if l.ids *= 2; l.ids > most {
		l.ids = 0
	}
}
