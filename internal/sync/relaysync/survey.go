package relaysync

import (
	"context"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/threads"
)

// survey walks through the stored events from some events or repositories on.
func (p *shell) survey(ctx context.Context, e peer.Survey) peer.Surveyed {
	out := peer.Surveyed{Sub: e.Sub}
	out.Failed = !p.reading(ctx, "stored events cannot be read for what to ask of a relay", func(v *store.View) (err error) {
		out.Reached, err = e.Walk(threads.Store{
			EachAbout: func(x threads.Values, take func(*nostr.Event) (bool, error)) error { return eachAbout(ctx, v, x, take) },
			Look:      func(id nostr.ID) (*nostr.Event, bool, error) { return look(v, id) },
		})
		return err
	})
	return out
}

// eachAbout is as threads.Store has it.
func eachAbout(ctx context.Context, v *store.View, x threads.Values, take func(*nostr.Event) (bool, error)) error {
	for row, err := range v.About(ctx, x.IDs, x.Addresses) {
		if err != nil {
			return err
		}
		e, err := row.Event()
		if err != nil {
			return err
		}
		if more, err := take(e); err != nil || !more {
			return err
		}
	}
	return nil
}

// look is as threads.Store has it.
func look(v *store.View, id nostr.ID) (*nostr.Event, bool, error) {
	e, ok, err := v.Get(id)
	if ok || err != nil {
		return e, ok, err
	}
	known, err := v.Known(id)
	return nil, known.State != store.Unknown, err
}
