package ingest

import (
	"time"

	"github.com/graspd/graspd/internal/fifo"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
)

// forgetAtOnce is how many remembered orphans are forgotten in one step, so that no acceptance holds up the next event.
const forgetAtOnce = 100

// forgetting is the chore of forgetting what the store remembers as refused only for want of what has been accepted.
type forgetting struct {
	w     *writer
	left  fifo.Queue[forget] // what is left of it, the oldest first
	tried []forget           // taken in the open batch
	rest  []forget           // what that leaves
}

// forget is a step of which a part may be left: it forgets up to max and reports whether there may be more.
type forget func(max int) (n int, more bool, err error)

// forget forgets what the store remembers as refused only for want of e, so that the next reconciliation fetches it:
// a part at once, the rest step by step.
func (f *forgetting) forget(e *nostr.Event) error {
	if err := f.take(func(max int) (int, bool, error) { return f.w.round.batch.ForgetOrphans(e, max) }); err != nil {
		return err
	}
	if e.Kind != nip34.KindRepository {
		return nil
	}
	return f.forgetRepository(e.Tags.D())
}

// forgetRepository forgets the announcements and states with that d that may be taken now.
func (f *forgetting) forgetRepository(d string) error {
	return f.take(func(max int) (int, bool, error) { return f.w.round.batch.ForgetRepository(d, max) })
}

// forgetLapsed lets relays bring the announcement again that a state lacks and that has waited in vain.
func (f *forgetting) forgetLapsed(state *nostr.Event) error {
	of := nip34.Address{Kind: nip34.KindRepository, PubKey: state.PubKey, D: state.Tags.D()}
	_, err := f.w.round.batch.ForgetLapsed(of, forgetAtOnce)
	return err
}

// take takes one step, and leaves the rest for after the commit.
func (f *forgetting) take(step forget) error {
	_, more, err := step(forgetAtOnce)
	if more {
		f.rest = append(f.rest, step)
		f.w.round.soon = true
	}
	return err
}

func (f *forgetting) next() time.Time { return soonIf(f.left.Len() > 0) }

func (f *forgetting) step() error {
	if err := f.w.open(); err != nil {
		return err
	}
	step := f.left.Pop()
	if err := f.take(step); err != nil { // the step may be what makes the store fail, so it is not tried again
		return err
	}
	f.tried = append(f.tried, step)
	return nil
}

func (f *forgetting) failed(error) {}

func (f *forgetting) kept() { f.put(f.rest) }

func (f *forgetting) undone() { f.put(f.tried) }

func (f *forgetting) put(steps []forget) {
	for _, step := range steps {
		f.left.Push(step)
	}
	f.tried, f.rest = nil, nil
}
