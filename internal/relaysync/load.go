package relaysync

import (
	"context"
	"log/slog"
	"slices"

	"graspd/internal/negentropy"
	"graspd/internal/plan"
	"graspd/internal/store"
)

// load reads the local set of a filter, remembered refusals included, and where
// its items stand. Without a set when that fails.
func (p *peer) load(ctx context.Context, e plan.LoadSet) plan.Loaded {
	out := plan.Loaded{Sub: e.Sub}
	v, done, ok := p.view(ctx)
	if !ok {
		return out
	}
	defer done()
	var items []negentropy.Item
	for m, err := range v.Marks(ctx, e.Filter) {
		if err != nil {
			p.unreadable(ctx, "local set could not be read", err)
			return plan.Loaded{Sub: e.Sub}
		}
		if e.Most > 0 && len(items) == e.Most {
			return plan.Loaded{Sub: e.Sub, Large: true}
		}
		value := int16(-1)
		switch {
		case m.Shown && len(e.Filter.Tags) == 0:
			value = 0
		case m.Shown:
			value = int16(m.Value)
		}
		items, out.Values = append(items, negentropy.Item{Time: uint64(m.Time), ID: m.ID}), append(out.Values, value)
	}
	ascend(items, out.Values)
	out.Set = negentropy.NewSet(items)
	return out
}

// ascend brings what is newest first, and the lowest id first within a second,
// into the order of a set.
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

// sift looks needed ids up: which of them are neither stored nor remembered.
func (p *peer) sift(ctx context.Context, e plan.Sift) plan.Sifted {
	out := plan.Sifted{Sub: e.Sub}
	v, done, ok := p.view(ctx)
	if !ok {
		out.Failed = true
		return out
	}
	defer done()
	for _, id := range e.IDs {
		known, err := v.Known(id)
		switch {
		case err != nil:
			p.unreadable(ctx, "needed ids could not be looked up", err)
			out.Failed = true
			return out
		case known.State == store.Unknown:
			out.Unknown = append(out.Unknown, id)
		default:
			out.Known = append(out.Known, plan.Dated{ID: id, At: known.Time})
		}
	}
	return out
}

// view takes one of the places for reading much of the store, until done is called; not ok when ctx ended.
func (p *peer) view(ctx context.Context) (v *store.View, done func(), ok bool) {
	if ctx.Err() != nil {
		return nil, nil, false // and not either, as select would have it
	}
	select {
	case p.engine.loads <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, false
	}
	v = p.engine.cfg.Store.View()
	return v, func() { v.Close(); <-p.engine.loads }, true
}

// unreadable logs a failure of the store; the end of the process is none.
func (p *peer) unreadable(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		p.logger.Error(what, slog.Any("error", err))
	}
}
