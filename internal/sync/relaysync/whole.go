package relaysync

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
)

// A set of everything is used again until it is wholeAge old, or as much as one part in wholePart of it was stored since. A set that is a
// little old costs only look-ups: a relay shows events that were stored here since, and sift finds that they are here.
const (
	wholeAge  = 30 * time.Second
	wholePart = 1000
)

// wholeSet keeps the last set of everything. Comparisons with several relays as a whole at about the same time use one set, as reading it
// takes long.
type wholeSet struct {
	turn    chan struct{} // one token, for whoever reads the set or looks at it; it guards the fields down to ofRules
	set     peer.Loaded   // without a Sub; without a set where there is none, or too much
	kept    bool          // the set may be used again
	at      time.Duration // when the set was read, by the monotonic clock
	head    store.Seq     // the head of the feed when the set was read
	ofRules uint64        // the value of rules when the set was read
	rules   atomic.Uint64 // how often outdate was called
}

func newWholeSet() *wholeSet { return &wholeSet{turn: make(chan struct{}, 1)} }

// outdate makes the next user read the set anew, as the rules may now accept events that the set has as refused.
func (w *wholeSet) outdate() { w.rules.Add(1) }

// expire drops a set that is too old to be used again.
func (w *wholeSet) expire(now time.Duration) {
	select {
	case w.turn <- struct{}{}:
		if now-w.at > wholeAge {
			w.set, w.kept = peer.Loaded{}, false
		}
		<-w.turn
	default: // somebody is reading the set
	}
}

// loadWhole returns the set of everything that is stored or remembered. It reads the set, or takes the one that was just read for another
// relay. It returns no set where there are more than e.Most items, the store fails, or ctx ended.
func (p *shell) loadWhole(ctx context.Context, e peer.LoadSet) peer.Loaded {
	w := p.engine.whole
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return peer.Loaded{Sub: e.Sub}
	}
	rules, now := w.rules.Load(), p.engine.cfg.Now().Mono
	head := p.engine.cfg.Store.Head()
	if !w.kept || w.ofRules != rules || now-w.at > wholeAge || w.set.Set != nil && int(head-w.head) > w.set.Set.Len()/wholePart {
		w.set, w.at, w.ofRules, w.head = p.load(ctx, e), now, rules, head
		w.kept = w.set.Set != nil || w.set.Large
	}
	out := w.set
	out.Sub = e.Sub
	return out
}

// attribute returns what stored events name. It leaves out an event that was deleted meanwhile.
func (p *shell) attribute(ctx context.Context, e peer.Attribute) peer.Attributed {
	out := peer.Attributed{Sub: e.Sub}
	out.Failed = !p.reading(ctx, "stored events cannot be read for what they name", func(v *store.View) error {
		for _, id := range e.IDs {
			ev, ok, err := v.Get(id)
			if err != nil {
				return err
			}
			if ok { // the event may have been deleted since
				out.Names = append(out.Names, coverage.NamesOf(ev))
			}
		}
		return nil
	})
	return out
}
