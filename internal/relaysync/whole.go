package relaysync

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/graspd/graspd/internal/coverage"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/store"
)

// How old a set of everything may be when it is used again, and how much may have
// been stored since, as a part of it. That is looked up when a relay shows it;
// nothing else depends on it.
const (
	wholeAge  = 30 * time.Second
	wholePart = 1000
)

// wholeSet is the set of everything that was read last, for relays that are
// compared as a whole at about the same time to share one.
type wholeSet struct {
	turn  chan struct{} // of one: whoever reads it, or looks at what was read
	set   plan.Loaded   // of no Sub; without a set where there is none
	kept  bool
	at    time.Duration // when it was read
	head  store.Seq     // likewise
	as    uint64        // of rules
	rules atomic.Uint64 // how often what was decided against came to be decided anew
}

func newWholeSet() *wholeSet { return &wholeSet{turn: make(chan struct{}, 1)} }

// outdate has the set read anew: what was decided against may be decided otherwise.
func (w *wholeSet) outdate() { w.rules.Add(1) }

// expire drops a set that is too old to be used again.
func (w *wholeSet) expire(now time.Duration) {
	select {
	case w.turn <- struct{}{}:
		if now-w.at > wholeAge {
			w.set, w.kept = plan.Loaded{}, false
		}
		<-w.turn
	default: // it is being read
	}
}

// loadWhole reads everything that is stored or remembered, or takes what was
// read for another relay just now. Without a set where it is too much, or ctx ended.
func (p *peer) loadWhole(ctx context.Context, e plan.LoadSet) plan.Loaded {
	w := p.engine.whole
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return plan.Loaded{Sub: e.Sub}
	}
	rules, now := w.rules.Load(), p.engine.cfg.Now().Mono
	head := p.engine.cfg.Store.Head()
	if !w.kept || w.as != rules || now-w.at > wholeAge || w.set.Set != nil && int(head-w.head) > w.set.Set.Len()/wholePart {
		w.set, w.at, w.as, w.head = p.load(ctx, e), now, rules, head
		w.kept = w.set.Set != nil || w.set.Large
	}
	out := w.set
	out.Sub = e.Sub
	return out
}

// attribute tells what stored events name.
func (p *peer) attribute(ctx context.Context, e plan.Attribute) plan.Attributed {
	out := plan.Attributed{Sub: e.Sub}
	out.Failed = !p.reading(ctx, "stored events could not be read", func(v *store.View) error {
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
