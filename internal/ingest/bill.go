package ingest

import "github.com/graspd/graspd/internal/policy"

// freeWork is how many steps of work, as a store.Meter counts them, a decision may take that nobody is charged for: usual events
// take a third of it, and the number of events has a bound of its own.
const freeWork = 500

// billed decides an item, and tells its source what work that was.
func (w *writer) billed(it *item) (policy.Verdict, error) {
	if err := w.open(); err != nil {
		return policy.Verdict{}, err
	}
	w.known.spent() // by what nobody is charged for
	before := w.round.batch.Steps()
	v, err := w.decide(it)
	steps := w.round.batch.Steps() - before + w.known.spent()
	if it.src.conf.Charge != nil && steps > freeWork {
		it.src.conf.Charge(steps)
	}
	return v, err
}
