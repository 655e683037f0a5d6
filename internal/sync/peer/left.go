package peer

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/paging"
	"github.com/graspd/graspd/internal/sync/want"
)

// left is what a lost connection leaves to the next one: how the relay answers, and how far the reading of what is not confirmed has come. It lasts
// for the time of a quick reconnect; what is too large, until the next full resync.
type left struct {
	habits paging.Habits
	pages  map[string]unread // by filter and time
	ids    int               // ids that are asked for at once; 0 = as many as usual
	large  map[nostr.ID]int  // of events that may be too large: how often a connection was lost when one was asked for alone
	narrow int               // connections in a row that brought nothing but that the next one asks for less
}

// unread are pages that were read in part, or in full, before the connection was lost.
type unread struct {
	pager *paging.Pager
	since int64 // what came to the relay from then on was not read
}

const (
	mostLeft  = 256   // filters; those beyond are read from the beginning
	mostLarge = 1_000 // ids
	fewLosses = 2     // connections may end for another reason
	mostSoon  = 64    // connections in a row that brought nothing, and after which the relay is dialed again soon
)

// place names what a task reads.
func (t *task) place() string { return fmt.Sprint(t.filter.Key(), t.group.Since) }

// take returns the pager of what a task reads, if a lost connection left one, for it to go on with habits.
func (l *left) take(t *task, h *paging.Habits) *paging.Pager {
	u, ok := l.pages[t.place()]
	if !ok {
		return nil
	}
	delete(l.pages, t.place())
	u.pager.Resume(u.since, h)
	return u.pager
}

// begin has a task read pages, from where a lost connection left them.
func (c *catchup) begin(t *task) {
	if t.pager = c.left.take(t, &c.habits); t.pager == nil {
		t.pager = paging.New(t.group.Since.Span(), &c.habits)
	}
	c.askPage(t)
}

// leaves keeps for the next connection how far what is not confirmed was read. What comes to the relay from the time since on is not. It reports
// whether the next connection is worth making soon, as it asks for less where this one ended before anything came.
func (c *catchup) leaves(since int64) (soon bool) {
	c.left.habits = c.habits
	narrower := false
	for _, g := range c.groups {
		if !g.byItems() || g.Layer == want.LayerReferences {
			continue
		}
		for _, t := range g.tasks {
			narrower = c.leavesTask(t, since) || narrower
		}
	}
	if narrower {
		c.left.narrow++
	}
	return narrower && c.left.narrow <= mostSoon
}

func (c *catchup) leavesTask(t *task, since int64) (narrower bool) {
	r := t.req
	if r != nil && r.kind == asksIDs && !r.answered && r.events == 0 {
		return c.lostAsking(r.batch.IDs())
	}
	if t.pager == nil || t.neg != nil {
		return false
	}
	if r != nil && r.kind == asksPage {
		narrower = t.pager.Lost(c.now.Wall.Unix())
	}
	t.pager.Forget()
	if len(c.left.pages) < mostLeft {
		if c.left.pages == nil {
			c.left.pages = make(map[string]unread)
		}
		c.left.pages[t.place()] = unread{t.pager, since}
	}
	return narrower
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
