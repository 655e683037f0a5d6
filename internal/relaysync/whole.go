package relaysync

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/coverage"
	"github.com/graspd/graspd/internal/step"
	"github.com/graspd/graspd/internal/store"
)

// A set of everything is used again until it is wholeAge old, or one part in wholePart of it was stored since. A set that is a little old
// costs only look-ups: a relay shows what was stored since, and sift finds it here.
const (
	wholeAge  = 30 * time.Second
	wholePart = 1000
)

// wholeSet is the set of everything that was read last. Relays that are compared as a whole at about the same time use one set, as reading it
// takes long.
type wholeSet struct {
	turn    chan struct{} // one token, for whoever reads the set or looks at it; it guards the fields down to ofRules
	set     step.Loaded   // of no Sub; without a set where there is none, or too much
	kept    bool          // set may be used again
	at      time.Duration // when it was read, by the monotonic clock
	head    store.Seq     // of the feed when it was read
	ofRules uint64        // what rules was when it was read
	rules   atomic.Uint64 // how often outdate was called
}

func newWholeSet() *wholeSet { return &wholeSet{turn: make(chan struct{}, 1)} }

// outdate has the set read anew before it is used again: the rules may accept what the set has as refused.
func (w *wholeSet) outdate() { w.rules.Add(1) }

// expire drops a set that is too old to be used again.
func (w *wholeSet) expire(now time.Duration) {
	select {
	case w.turn <- struct{}{}:
		if now-w.at > wholeAge {
			w.set, w.kept = step.Loaded{}, false
		}
		<-w.turn
	default: // it is being read
	}
}

// loadWhole gives the set of everything that is stored or remembered. It reads the set, or takes the one that was read for another relay just
// now. It gives no set where that is more than e.Most, the store fails, or ctx ended.
func (p *peer) loadWhole(ctx context.Context, e step.LoadSet) step.Loaded {
	w := p.engine.whole
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return step.Loaded{Sub: e.Sub}
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

// attribute tells what stored events name. An event that was deleted meanwhile is left out.
func (p *peer) attribute(ctx context.Context, e step.Attribute) step.Attributed {
	out := step.Attributed{Sub: e.Sub}
	out.Failed = !p.reading(ctx, "stored events cannot be read for what they name", func(v *store.View) error {
		for _, id := range e.IDs {
			ev, ok, err := v.Get(id)
			if err != nil {
				return err
			}
			if ok { // it may have been deleted since
				out.Names = append(out.Names, coverage.NamesOf(ev))
			}
		}
		return nil
	})
	return out
}
