package ingest

import (
	"time"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// purgeAtOnce is how many index rows one step of a purge goes through: enough for about a hundred events of an author who vanished, or
// for two hundred ids that a deletion names.
const purgeAtOnce = 1000

// maxUnfinished is how many deletions may be under way. While there are so many, the next deletion waits, and each turn of its source goes
// to a step of a deletion under way.
const maxUnfinished = 64

// mustPurge reports whether the last process left deletions or vanished authors' events unfinished. Where it cannot read that, it returns
// true: the writer then tries, meets the same failure, and reports it.
func (d *Door) mustPurge() bool {
	v := d.store.View()
	defer v.Close()
	ok, err := v.Purging()
	return ok || err != nil
}

// purging is the chore of finishing deletions that name much, and of removing the events of authors who have vanished. It takes no step
// while the door closes: the next start goes on with it.
type purging struct {
	w     *writer
	due   bool      // there may be something to remove
	after time.Time // no step before then
	taken bool      // the open batch has its one step already
}

func (p *purging) dueAt() time.Time {
	if p.due && !p.taken && !p.w.stops {
		return p.after
	}
	return never
}

func (p *purging) step() error {
	if err := p.w.begin(); err != nil {
		return err
	}
	more, err := p.w.open.batch.Purge(purgeAtOnce)
	if err == nil {
		err = p.w.prune()
	}
	if err == nil {
		p.due, p.taken, p.w.open.soon = more, true, true
	}
	return err
}

// purgeAgain is how long purging waits after a step that failed and will fail again.
const purgeAgain = time.Minute

// failed leaves the rest to the next start, as the step itself is at fault, or to the next deletion. After a failure of the disk the writer
// tries again.
func (p *purging) failed(err error) (nostr.ID, bool) {
	if p.due = p.w.everybodys(err); !p.due {
		p.after = time.Now().Add(purgeAgain)
	}
	return nostr.ID{}, !p.due
}

func (p *purging) kept() { p.taken = false }

func (p *purging) undone() { p.due, p.taken = p.due || p.taken, false }

// ahead takes a step before an item that has to wait for one, and reports whether it took one.
func (p *purging) ahead() bool {
	if p.w.stops || p.w.late || p.w.trouble.fresh() {
		return false
	}
	p.w.take(p)
	return true
}

// tooSoon reports whether an item is a deletion that has to wait until fewer are under way. A deletion that is done at once never waits.
func (w *writer) tooSoon(it *item) bool {
	if it.stands || it.event.Kind != nostr.KindDeletion || len(it.event.Tags) <= store.DeleteAtOnce {
		return false
	}
	n := w.door.store.Unfinished()
	if b := w.open.batch; b != nil {
		n = b.Unfinished()
	}
	return n >= maxUnfinished
}
