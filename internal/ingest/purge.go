package ingest

import (
	"errors"

	"graspd/internal/store"
)

// purgeAtOnce is how many index rows one step of removing an author's events goes through: about a hundred events.
const purgeAtOnce = 1000

// purging reports whether the store was left with authors' events to remove. Where that cannot be read the writer is to
// try, and to meet the same failure.
func (d *Door) purging() bool {
	v := d.store.View()
	defer v.Close()
	ok, err := v.Purging()
	return ok || err != nil
}

// purgeMore goes on with removing the events of authors who have vanished, one step in a batch, and reports whether there
// was a step to take now. It stops with the door: the next start goes on.
func (w *writer) purgeMore() bool {
	if !w.purging || w.stops || w.round.purged || w.held() {
		return false
	}
	w.round.decided++
	w.round.extra++
	more, err := false, w.open()
	if err == nil {
		more, err = w.round.batch.Purge(purgeAtOnce)
	}
	if err == nil {
		err = w.prune()
	}
	if err != nil {
		w.abort(err)
		w.purging = errors.Is(err, store.ErrFull) // what else fails may be the step itself, so it is left to the next start
		return true
	}
	w.purging, w.round.purged = more, true
	return true
}
