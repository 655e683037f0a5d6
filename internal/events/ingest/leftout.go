package ingest

import (
	"errors"

	"github.com/graspd/graspd/internal/base/fifo"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// verdictLeftOut is the verdict on an event over which this relay failed.
var verdictLeftOut = policy.Verdict{Outcome: policy.Failed, Reason: "error: this relay fails over this event, and its log says why; tell the operator its id, or publish again later"}

// leaving deals with errors that are no failures of the disk: each is the fault of one event, or of one step of a chore, and costs that alone.
// The writer drops the batch and decides the other events anew, in the same order.
//
// An error in the decision of an event tells whose it is. One at the end of a batch does not. After each error the writer takes half as many
// decisions at once, until the batch that fails has one; it takes more again only as decisions are committed. So however many events are at
// fault, what the writer decides anew is at most twice what it commits, and two batches.
type leaving struct {
	again fifo.Queue[decision] // those of dropped batches, which come before all others
	most  int                  // decisions in a batch
	apart bool                 // a batch of events and chores failed: until a step of a chore was committed or has failed by itself, no batch has both
	out   map[nostr.ID]bool    // waiting or expiring events over which a consequence failed, until the next start
}

// timesAnew is how many waiting events the writer leaves out for one event, one turn or one orphan that leads to them. Then it leaves out that one.
const timesAnew = 16

// outKept is how many events leaving.out has. Beyond that it forgets all, and each is tried once more.
const outKept = 1024

func newLeaving(most int) leaving { return leaving{most: most, out: make(map[nostr.ID]bool)} }

// everybodys reports whether an error is a failure of the disk, or of the store as a whole, so that no event can be stored.
func (w *writer) everybodys(err error) bool {
	for _, all := range []error{store.ErrFull, store.ErrFailed, store.ErrClosed, store.ErrBusy, store.ErrReadOnly, store.ErrUnknownRoom, store.ErrFollows, store.ErrDeposed} {
		if errors.Is(err, all) {
			return true
		}
	}
	return w.door.store.Failure() != nil
}

// itemFailed deals with an error in the decision of an item, whose answer stands in the open batch.
func (w *writer) itemFailed(it *item, err error) {
	if w.everybodys(err) {
		w.abort(err)
		return
	}
	it.times++
	if f, ok := errors.AsType[*refdb.Fault](err); ok && it.times < timesAnew {
		w.leaveOut(f.Event, f.Err)
	} else {
		it.left = true
		w.fault(it.event.ID, err)
	}
	w.decideAnew()
}

// stepFailed deals with an error in a step of a chore.
func (w *writer) stepFailed(c chore, err error) {
	if w.everybodys(err) {
		w.abort(err)
		c.failed(err)
		return
	}
	if f, ok := errors.AsType[*refdb.Fault](err); ok {
		w.leaveOut(f.Event, f.Err)
	}
	w.away.apart = false
	w.decideAnew()
	if id, found := c.failed(err); found {
		w.fault(id, err)
	}
}

// batchFailed deals with an error at the end of a batch, in which nobody knows who is at fault.
func (w *writer) batchFailed(err error) {
	r := &w.open
	var decided []decision
	for _, a := range r.answers {
		if !a.stands {
			decided = append(decided, a.decision)
		}
	}
	switch {
	case w.everybodys(err):
		w.abort(err)
		return
	case r.extra == 0 && len(decided) <= 1:
		id := nostr.ID{}
		for _, one := range decided {
			if one.work != nil {
				one.work.failed = err
			} else {
				id, one.item.left = one.item.event.ID, true
			}
		}
		w.fault(id, err)
	case r.extra == 1 && len(decided) == 0:
		c := r.last
		w.stepFailed(c, err)
		return
	default:
		w.away.most, w.away.apart = min(w.away.most, r.decided), r.extra > 0
	}
	w.decideAnew()
}

// decideAnew drops the batch without an answer: its events are decided again and its work is done again, in smaller batches.
func (w *writer) decideAnew() {
	answers := w.open.answers
	w.away.most = max(1, w.away.most/2)
	w.undo()
	w.open = openBatch{}
	for i := len(answers) - 1; i >= 0; i-- {
		w.away.again.PushFront(answers[i].decision)
	}
}

// kept notes a batch that is durable, with so many decisions, of which some are steps of chores.
func (l *leaving) kept(decided, steps, most int) {
	l.most = min(l.most+decided, most)
	l.apart = l.apart && steps == 0
}

// choresTurn reports whether chores go before the nth event of the batch.
func (w *writer) choresTurn(n int) bool {
	switch {
	case w.away.apart:
		return w.open.idle()
	case w.away.again.Len() > 0:
		return false
	}
	return n%2 == 1 || !w.door.directReady()
}

// leaveOut has the writer leave out an event to which others lead, and which this relay keeps, until the next start.
func (w *writer) leaveOut(id nostr.ID, err error) {
	w.away.leave(id)
	w.fault(id, err)
}

func (l *leaving) leave(id nostr.ID) {
	if len(l.out) >= outKept {
		clear(l.out)
	}
	l.out[id] = true
}

// fault counts and logs an error that cost one event, or one step of a chore.
func (w *writer) fault(id nostr.ID, err error) {
	w.door.counts.faults.Add(1)
	log := w.door.log
	if id != (nostr.ID{}) {
		log = log.With("event", id.String())
	}
	log.Error("this relay failed over one event, and left it out", "error", err)
}
