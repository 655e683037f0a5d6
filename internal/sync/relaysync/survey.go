package relaysync

import (
	"context"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/threads"
)

// survey reads one page of the stored events that are about some events or repositories.
func (p *shell) survey(ctx context.Context, e peer.Survey) peer.Surveyed {
	out := peer.Surveyed{Sub: e.Sub}
	out.Failed = !p.reading(ctx, "stored events cannot be read for what to ask of a relay", func(v *store.View) (err error) { out.PageAnswer, err = surveyPage(ctx, v, e.PageQuery); return err })
	return out
}

// surveyPage reads events after q.After until the page is full. The answer says where the next page begins, if there is one.
func surveyPage(ctx context.Context, v *store.View, q threads.PageQuery) (threads.PageAnswer, error) {
	var after *store.Pair
	if q.After != nil {
		after = &store.Pair{Time: q.After.CreatedAt, ID: q.After.ID}
	}
	found := q.Page()
	for row, err := range v.About(ctx, q.IDs, q.Addresses, after) {
		if err != nil {
			return threads.PageAnswer{}, err
		}
		ev, err := row.Event()
		if err != nil {
			return threads.PageAnswer{}, err
		}
		full, err := found.Add(ev, lookup{v})
		if err != nil {
			return threads.PageAnswer{}, err
		}
		if full {
			return found.Answer(false), nil
		}
	}
	return found.Answer(true), nil
}

// lookup answers a survey's questions about single events.
type lookup struct{ *store.View }

// Look implements threads.Lookup.
func (a lookup) Look(id nostr.ID) (*nostr.Event, bool, error) {
	e, ok, err := a.Get(id)
	if ok || err != nil {
		return e, ok, err
	}
	known, err := a.Known(id)
	return nil, known.State != store.Unknown, err
}
