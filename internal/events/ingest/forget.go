package ingest

import (
	"time"

	"github.com/graspd/graspd/internal/base/fifo"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// forgetAtOnce is how many remembered refusals one step forgets, so that no acceptance holds up the next event for long.
const forgetAtOnce = 100

// forgetting is the chore of forgetting remembered refusals for want of an event that has been accepted since.
type forgetting struct {
	w     *writer
	left  fifo.Queue[*forget] // not done yet, the oldest first
	tried []*forget           // steps taken from left in the open batch
	last  *forget             // the last step taken, for failed
	rest  []*forget           // steps with more to do, which go back to left when the batch is committed
}

// forget forgets up to max refusals with do, which reports whether there may be more.
type forget struct {
	do func(max int) (n int, more bool, err error)
}

// forget forgets the refusals that were only for want of e, so that the next reconciliation fetches those events. It forgets
// forgetAtOnce refusals in the open batch, and leaves the rest to later steps.
func (f *forgetting) forget(e *nostr.Event) error {
	if err := f.take(&forget{do: func(max int) (int, bool, error) { return f.w.open.batch.ForgetOrphans(e, max) }}); err != nil {
		return err
	}
	if e.Kind != nip34.KindRepository {
		return nil
	}
	return f.forgetRepository(e.Tags.D())
}

// forgetRepository forgets the refused announcements and states with that d tag, which the rules may accept now.
func (f *forgetting) forgetRepository(d string) error {
	return f.take(&forget{do: func(max int) (int, bool, error) { return f.w.open.batch.ForgetRepository(d, max) }})
}

// forgetLapsed forgets that the announcement of a state's repository has waited in vain, so that relays bring the announcement again.
func (f *forgetting) forgetLapsed(state *nostr.Event) error {
	of := nip34.Address{Kind: nip34.KindRepository, PubKey: state.PubKey, D: state.Tags.D()}
	_, err := f.w.open.batch.ForgetLapsed(of, forgetAtOnce)
	return err
}

// take takes one step in the open batch. Where there is more to do, it asks for a commit, and the rest follows after that.
func (f *forgetting) take(step *forget) error {
	_, more, err := step.do(forgetAtOnce)
	if more {
		f.rest = append(f.rest, step)
		f.w.open.soon = true
	}
	return err
}

func (f *forgetting) dueAt() time.Time { return soonIf(f.left.Len() > 0) }

func (f *forgetting) step() error {
	if err := f.w.begin(); err != nil {
		return err
	}
	step := f.left.Pop()
	f.tried, f.last = append(f.tried, step), step
	return f.take(step)
}

// failed drops the last step, unless the disk is at fault.
func (f *forgetting) failed(err error) (nostr.ID, bool) {
	if f.w.everybodys(err) {
		return nostr.ID{}, false
	}
	f.left.DeleteFunc(func(x *forget) bool { return x == f.last })
	return nostr.ID{}, true
}

func (f *forgetting) kept() { f.put(f.rest) }

func (f *forgetting) undone() { f.put(f.tried) }

func (f *forgetting) put(steps []*forget) {
	for _, step := range steps {
		f.left.Push(step)
	}
	f.tried, f.rest = nil, nil
}
