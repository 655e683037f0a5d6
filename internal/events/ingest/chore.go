package ingest

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// chore is work for which no source waits. The writer takes bounded steps of chores between events, in the open batch. It takes none while
// choresWait reports true.
type chore interface {
	// dueAt returns when there is a step to take: the zero time for now, never for not before something happens.
	dueAt() time.Time
	// step takes one step, in the open batch. It opens a batch if it needs one. After an error the writer drops the batch.
	step() error
	// failed is told the error of the chore's last step, after undone. It leaves out what is at fault, and returns whether it has found that,
	// and the event that it is, if it is one. Where the disk is at fault it leaves out nothing.
	failed(error) (event nostr.ID, found bool)
	// kept is told that the batch is durable, with all steps taken in it.
	kept()
	// undone is told that the batch was dropped: no step taken in it has happened.
	undone()
}

// never is the dueAt of a chore that has nothing to do.
var never = time.Unix(1<<60, 0)

// soonIf returns now or never, for dueAt.
func soonIf(due bool) time.Time {
	if due {
		return time.Time{}
	}
	return never
}

// doChore takes a step of the first chore that is due, and reports whether there was one.
func (w *writer) doChore() bool {
	if w.choresWait() {
		return false
	}
	now := time.Now()
	for _, c := range w.chores {
		if !now.Before(c.dueAt()) {
			w.take(c)
			return true
		}
	}
	return false
}

// take takes a step of a chore. If there is a batch, the step counts as one of its decisions.
func (w *writer) take(c chore) {
	err := c.step()
	if w.open.batch != nil {
		w.open.decided++
		w.open.extra++
		w.open.last = c
	}
	if err != nil {
		w.stepFailed(c, err)
	}
}

// firstDue returns when to take the next step of any chore.
func (w *writer) firstDue() time.Time {
	first := never
	for _, c := range w.chores {
		if at := c.dueAt(); at.Before(first) {
			first = at
		}
	}
	if again := w.trouble.over(); first.Before(again) {
		return again
	}
	return first
}

// choresWait reports whether the writer puts chores off: a client has waited for extraWork steps already, a commit failed just now, or
// DrainTime is over.
func (w *writer) choresWait() bool {
	return w.late || w.open.direct && w.open.extra >= extraWork || w.trouble.fresh()
}
