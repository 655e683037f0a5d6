package relaysync

import (
	"context"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/plan"
	"github.com/graspd/graspd/internal/store"
)

// survey reads one page of the stored events that name some events or repositories.
func (p *peer) survey(ctx context.Context, e plan.Survey) plan.Surveyed {
	var out plan.Surveyed
	if !p.reading(ctx, "stored events could not be surveyed", func(v *store.View) (err error) { out, err = surveyPage(ctx, v, e); return err }) {
		return plan.Surveyed{Sub: e.Sub, Failed: true}
	}
	return out
}

// surveyPage reads events after e.After until the page is full. The answer says whether that was all.
func surveyPage(ctx context.Context, v *store.View, e plan.Survey) (plan.Surveyed, error) {
	var after *store.Pair
	if e.After != nil {
		after = &store.Pair{Time: e.After.Time, ID: e.After.ID}
	}
	found := e.Page()
	for row, err := range v.About(ctx, e.IDs, e.Addresses, after) {
		if err != nil {
			return plan.Surveyed{}, err
		}
		ev, err := row.Event()
		if err != nil {
			return plan.Surveyed{}, err
		}
		full, err := found.Add(ev, archive{v})
		if err != nil {
			return plan.Surveyed{}, err
		}
		if full {
			return found.Surveyed(false), nil
		}
	}
	return found.Surveyed(true), nil
}

// archive answers what a page of a survey asks about single events.
type archive struct{ *store.View }

// Look implements plan.Archive.
func (a archive) Look(id nostr.ID) (*nostr.Event, bool, error) {
	e, ok, err := a.Get(id)
	if ok || err != nil {
		return e, ok, err
	}
	known, err := a.Known(id)
	return nil, known.State != store.Unknown, err
}
