package ingest

import (
	"errors"

	"graspd/internal/nostr"
	"graspd/internal/store"
)

// purgeAtOnce is how many index rows one step of a purge goes through: about a hundred events of an author who vanished, or two
// hundred ids that a deletion names.
const purgeAtOnce = 1000

// maxUnfinished is how many deletions may be under way; while there are as many, another one has to wait for its turn, and each of
// its source's turns is a step of theirs.
const maxUnfinished = 64

// purging reports whether the store was left with authors' events to remove. Where that cannot be read the writer is to
// try, and to meet the same failure.
func (d *Door) purging() bool {
	v := d.store.View()
	defer v.Close()
	ok, err := v.Purging()
	return ok || err != nil
}

// purgeMore goes on with deletions that name much and with removing the events of authors who have vanished, one step in a batch,
// and reports whether there was a step to take now. It stops with the door: the next start goes on.
func (w *writer) purgeMore() bool {
	if !w.purging || w.round.purged || w.held() {
		return false
	}
	return w.purgeStep()
}

// purgeStep takes a step, unless the door closes or a commit failed just now.
func (w *writer) purgeStep() bool {
	if w.stops || w.late || w.paused() {
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

// tooSoon reports whether an item has to wait until fewer deletions are under way. One that is done at once never does.
func (w *writer) tooSoon(it *item) bool {
	if it.settled || it.event.Kind != nostr.KindDeletion || len(it.event.Tags) <= store.DeleteAtOnce {
		return false
	}
	n := w.door.store.Unfinished()
	if b := w.round.batch; b != nil {
		n = b.Unfinished()
	}
	return n >= maxUnfinished
}
