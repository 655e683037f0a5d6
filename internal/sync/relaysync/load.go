package relaysync

import (
	"context"
	"log/slog"
	"slices"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/negentropy"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/coverage"
)

// load reads the local set of a filter, and to which value of the filter each item belongs: coverage.NoValue for an item that is not served,
// as the set has remembered refusals too. It returns no set where the store fails or there are more than e.Most items.
func (p *shell) load(ctx context.Context, e peer.LoadSet) peer.Loaded {
	out := peer.Loaded{Sub: e.Sub}
	p.reading(ctx, "stored events cannot be read for a comparison", func(v *store.View) error {
		var items []negentropy.Item
		var values []int16
		for m, err := range v.Marks(ctx, e.Filter) {
			if err != nil {
				return err
			}
			if e.Most > 0 && len(items) == e.Most {
				out.Large = true
				return nil
			}
			value := coverage.NoValue
			switch {
			case m.Shown && len(e.Filter.Tags) == 0:
				value = 0
			case m.Shown && m.Value != store.NoValue:
				value = m.Value
			}
			items, values = append(items, negentropy.Item{Time: uint64(m.Time), ID: m.ID}), append(values, value)
		}
		ascend(items, values)
		out.Set, out.Values = negentropy.NewSet(items), values
		return nil
	})
	return out
}

// ascend turns the order newest first, and within a second by id, into the order of a set: oldest first, and within a second by id.
func ascend(items []negentropy.Item, values []int16) {
	slices.Reverse(items)
	slices.Reverse(values)
	for from, to := 0, 0; from < len(items); from = to {
		for to = from; to < len(items) && items[to].Time == items[from].Time; to++ {
		}
		slices.Reverse(items[from:to])
		slices.Reverse(values[from:to])
	}
}

// sift looks up which of the needed ids are neither stored nor remembered.
func (p *shell) sift(ctx context.Context, e peer.Sift) peer.Sifted {
	out := peer.Sifted{Sub: e.Sub}
	out.Failed = !p.reading(ctx, "graspd cannot look up which events are here", func(v *store.View) error {
		for _, id := range e.IDs {
			known, err := v.Known(id)
			switch {
			case err != nil:
				return err
			case known.State == store.Unknown:
				out.Unknown = append(out.Unknown, id)
			default:
				out.Known = append(out.Known, nostr.Stamp{CreatedAt: known.Time, ID: id})
			}
		}
		return nil
	})
	return out
}

// reading waits until fewer than LoadsAtOnce reads are under way, and calls read. It reports whether read succeeded. It logs the error of
// read, unless ctx has ended.
func (p *shell) reading(ctx context.Context, what string, read func(*store.View) error) bool {
	if ctx.Err() != nil {
		return false // if both cases are ready, select chooses either
	}
	select {
	case p.engine.loads <- struct{}{}:
		defer func() { <-p.engine.loads }()
	case <-ctx.Done():
		return false
	}
	v := p.engine.cfg.Store.View()
	defer v.Close()
	err := read(v)
	if err != nil && ctx.Err() == nil {
		p.logger.Error(what, slog.Any("error", err))
	}
	return err == nil
}
