package sim

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// history has what the feed of one relay has told over all its lives.
type history struct {
	mu      sync.Mutex // guards the fields below
	ever    map[nostr.ID]*nostr.Event
	present map[nostr.ID]bool
	gone    map[nostr.ID]bool // told as removed at any time; some were gone before the feed was read
	cursor  store.Seq
	over    bool // the power is gone: nothing that the old process still does counts
}

func newHistory() *history {
	return &history{ever: make(map[nostr.ID]*nostr.Event), present: make(map[nostr.ID]bool), gone: make(map[nostr.ID]bool)}
}

// follow reads the feed of a store until ctx has ended and the feed has no more entries. An event that the feed tells as new a second time fails
// the test.
func (g *Graspd) follow(ctx context.Context, s *store.Store) {
	h := g.past
	for {
		entries, changed, err := s.Since(h.cursor, 500)
		if err != nil {
			g.w.t.Errorf("%s: feed: %v", g.Name, err)
			return
		}
		for _, x := range entries {
			if !g.tell(x) {
				return
			}
		}
		if len(entries) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// cut ends the history of a life, with over, or lets that of the next begin.
func (h *history) cut(over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = over
}

// tell takes one entry of the feed. It returns false at the end of a life.
func (g *Graspd) tell(x store.Entry) bool {
	h := g.past
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	h.cursor = x.Seq
	if x.Waits != nil {
		g.w.log.Info("waits", "graspd", g.Name, "seq", x.Seq, "event", x.Waits.ID, "kind", x.Waits.Kind, "from", x.Source)
		return true
	}
	if x.Event == nil {
		g.w.log.Info("gone", "graspd", g.Name, "seq", x.Seq, "event", x.Removed, "why", x.Reason)
		delete(h.present, x.Removed)
		h.gone[x.Removed] = true
		return true
	}
	g.w.log.Info("new", "graspd", g.Name, "seq", x.Seq, "event", x.Event.ID, "kind", x.Event.Kind, "from", x.Source)
	if h.present[x.Event.ID] {
		g.w.t.Errorf("%s: event %s is new a second time", g.Name, x.Event.ID)
	}
	h.ever[x.Event.ID], h.present[x.Event.ID] = x.Event, true
	return true
}

// Gone returns the ids of the events that the relay has ever removed. It may have served some of them for so short a time that they are not among
// those of Ever.
func (g *Graspd) Gone() []nostr.ID {
	g.past.mu.Lock()
	defer g.past.mu.Unlock()
	return slices.Collect(maps.Keys(g.past.gone))
}

// Ever returns all events that the relay has ever served.
func (g *Graspd) Ever() map[nostr.ID]*nostr.Event {
	g.past.mu.Lock()
	defer g.past.mu.Unlock()
	out := make(map[nostr.ID]*nostr.Event, len(g.past.ever))
	for id, e := range g.past.ever {
		out[id] = e
	}
	return out
}

// Served returns the events that the relay serves now.
func (g *Graspd) Served() map[nostr.ID]*nostr.Event {
	g.w.t.Helper()
	v := g.run.Store.View()
	defer v.Close()
	out := make(map[nostr.ID]*nostr.Event)
	for row, err := range v.Query(context.Background(), nostr.Filter{}) {
		if err != nil {
			g.w.t.Fatalf("%s: %v", g.Name, err)
		}
		e, err := row.Event()
		if err != nil {
			g.w.t.Fatalf("%s: event %s: %v", g.Name, row.ID, err)
		}
		out[e.ID] = e
	}
	return out
}
