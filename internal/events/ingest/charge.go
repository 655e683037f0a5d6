package ingest

import (
	"time"

	"github.com/graspd/graspd/internal/events/policy"
)

// freeWork is how many steps of work, as a store.Meter counts them, a decision may take free of charge. Usual events take a third of
// that, and another bound limits how many events come.
const freeWork = 500

// usualTurn is longer than usual decisions and pieces of exclusive work take. Who takes longer lets others go first as often as it took that long.
const usualTurn = time.Millisecond

// billed decides an item, and charges its source for the work beyond freeWork.
func (w *writer) billed(it *item) (policy.Verdict, error) {
	if err := w.begin(); err != nil {
		return policy.Verdict{}, err
	}
	w.known.spent() // drop the count of work before this item
	before, began := w.open.batch.Steps(), time.Now()
	v, err := w.decide(it)
	w.door.decided(it.src, time.Since(began))
	steps := w.open.batch.Steps() - before + w.known.spent()
	if it.src.conf.Charge != nil && steps > freeWork && !it.decided {
		it.src.conf.Charge(steps)
	}
	it.decided = true
	return v, err
}

// decided charges a source with the time that a decision took.
func (d *Door) decided(s *Source, took time.Duration) {
	if took < usualTurn {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.toDecide.charge(s, int(took/usualTurn))
}

// worked charges a party with the time that its exclusive work took.
func (d *Door) worked(v *exclusiveRequest, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v.of.Charge(v.party, int(took/usualTurn))
}
