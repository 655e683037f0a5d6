package ingest

import (
	"slices"

	"github.com/graspd/graspd/internal/events/store"
)

// prune removes announcements that nobody here invites any more, for every d tag with which an announcement has changed or gone.
// That means to read all announcements with the d tag. So prune does it at once for the first change of a d tag in a batch, and
// pruneRest does it once more for all later changes.
func (w *writer) prune() error {
	changed := append(w.open.changed, w.open.batch.LostRepositories()...)
	w.open.changed = nil
	for _, d := range changed {
		w.known.changed(d)
		switch {
		case !slices.Contains(w.open.pruned, d):
			w.open.pruned = append(w.open.pruned, d)
			if err := w.pruneRepository(d); err != nil {
				return err
			}
		case !slices.Contains(w.open.unpruned, d):
			w.open.unpruned = append(w.open.unpruned, d)
		}
	}
	return nil
}

// pruneRest prunes the d tags that changed again after prune. The writer calls it before the commit, and before exclusive work.
func (w *writer) pruneRest() error {
	for _, d := range w.open.unpruned {
		if err := w.pruneRepository(d); err != nil {
			return err
		}
	}
	w.open.unpruned = nil
	return nil
}

// pruneRepository removes the unwelcome announcements with that d tag. Removing them makes no others unwelcome.
func (w *writer) pruneRepository(d string) error {
	ids, err := w.rules.Unwelcome(d, w.view())
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := w.open.batch.Remove(id, store.ReasonWithdrawn); err != nil {
			return err
		}
	}
	w.known.changed(d)
	w.open.batch.LostRepositories() // clear the list: nobody depends on the announcements just removed
	return nil
}
