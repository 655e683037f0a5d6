package ingest

import (
	"graspd/internal/nip34"
	"graspd/internal/nostr"
)

// forgetAtOnce is how many remembered orphans are forgotten in one step, so that no acceptance holds up the next event.
const forgetAtOnce = 100

// forgetting is a step of which a part may be left: it forgets up to max and reports whether there may be more.
type forgetting func(max int) (n int, more bool, err error)

// forget forgets what the store remembers as refused only for want of e, so that the next reconciliation fetches it:
// a part at once, the rest step by step.
func (w *writer) forget(e *nostr.Event) error {
	if err := w.forgetStep(func(max int) (int, bool, error) { return w.round.batch.ForgetOrphans(e, max) }); err != nil {
		return err
	}
	if e.Kind != nip34.KindRepository {
		return nil
	}
	d := e.Tags.D()
	return w.forgetStep(func(max int) (int, bool, error) { return w.round.batch.ForgetRepository(d, max) })
}

// forgetStep takes one step, and leaves the rest for after the commit.
func (w *writer) forgetStep(step forgetting) error {
	_, more, err := step(forgetAtOnce)
	if more {
		w.round.rest = append(w.round.rest, step)
	}
	return err
}

// forgetMore goes on with the oldest step that was left, and reports whether there was one to go on with now.
func (w *writer) forgetMore() bool {
	if w.forgets.Len() == 0 || w.held() {
		return false
	}
	if err := w.open(); err != nil {
		w.abort(err)
		return true
	}
	step := w.forgets.Pop()
	w.round.decided++
	w.round.extra++
	if err := w.forgetStep(step); err != nil { // the step may be what makes the store fail, so it is not tried again
		w.abort(err)
		return true
	}
	w.round.tried = append(w.round.tried, step)
	return true
}
