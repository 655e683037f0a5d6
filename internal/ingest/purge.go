package ingest

import (
	"errors"
	"time"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/store"
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

// purging is the chore of deletions that name much, and of removing the events of authors who have vanished. It stops with the
// door: the next start goes on.
type purging struct {
	w     *writer
	due   bool // there may be something to remove
	taken bool // a step is in the open batch, which takes one only
}

func (p *purging) next() time.Time { return soonIf(p.due && !p.taken && !p.w.stops) }

func (p *purging) step() error {
	if err := p.w.open(); err != nil {
		return err
	}
	more, err := p.w.round.batch.Purge(purgeAtOnce)
	if err == nil {
		err = p.w.prune()
	}
	if err == nil {
		p.due, p.taken, p.w.round.soon = more, true, true
	}
	return err
}

// failed leaves it to the next start unless the disk is full: what else fails may be the step itself.
func (p *purging) failed(err error) { p.due = errors.Is(err, store.ErrFull) }

func (p *purging) kept() { p.taken = false }

func (p *purging) undone() { p.due, p.taken = p.due || p.taken, false }

// ahead takes a step of it before an item that has to wait for it, and reports whether it did.
func (p *purging) ahead() bool {
	if p.w.stops || p.w.late || p.w.paused() {
		return false
	}
	p.w.take(p)
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
