package ingest

import (
	"slices"

	"github.com/graspd/graspd/internal/store"
)

// prune removes the announcements that no repository here invites any more, wherever an announcement has changed or
// left. That looks at all announcements with a d, so it is done at once for the first change of a d in a batch and for
// all later ones together when the batch is committed.
func (w *writer) prune() error {
	changed := append(w.round.changed, w.round.batch.LostRepositories()...)
	w.round.changed = nil
	for _, d := range changed {
		w.known.changed(d)
		switch {
		case !slices.Contains(w.round.pruned, d):
			w.round.pruned = append(w.round.pruned, d)
			if err := w.pruneRepository(d); err != nil {
				return err
			}
		case !slices.Contains(w.round.unpruned, d):
			w.round.unpruned = append(w.round.unpruned, d)
		}
	}
	return nil
}

// pruneRest prunes what prune has left.
func (w *writer) pruneRest() error {
	for _, d := range w.round.unpruned {
		if err := w.pruneRepository(d); err != nil {
			return err
		}
	}
	return nil
}

// pruneRepository removes the unwelcome announcements with that d, which makes no others unwelcome.
func (w *writer) pruneRepository(d string) error {
	ids, err := w.rules.Unwelcome(d, w.view())
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := w.round.batch.Remove(id, store.ReasonWithdrawn); err != nil {
			return err
		}
	}
	w.known.changed(d)
	w.round.batch.LostRepositories() // these, on which nobody else depends
	return nil
}
