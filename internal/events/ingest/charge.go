package ingest

import "github.com/graspd/graspd/internal/events/policy"

// freeWork is how many steps of work, as a store.Meter counts them, a decision may take free of charge. Usual events take a third of
// that, and another bound limits how many events come.
const freeWork = 500

// billed decides an item, and charges its source for the work beyond freeWork.
func (w *writer) billed(it *item) (policy.Verdict, error) {
	if err := w.begin(); err != nil {
		return policy.Verdict{}, err
	}
	w.known.spent() // drop the count of work before this item
	before := w.open.batch.Steps()
	v, err := w.decide(it)
	steps := w.open.batch.Steps() - before + w.known.spent()
	if it.src.conf.Charge != nil && steps > freeWork && !it.decided {
		it.src.conf.Charge(steps)
	}
	it.decided = true
	return v, err
}
