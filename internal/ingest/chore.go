package ingest

import "time"

// chore is work that no source waits for. The writer takes bounded steps of chores between events, in the batch that is open. It takes
// none while choresWait.
type chore interface {
	// dueAt is when there is a step to take. The zero time is now; never means: not before something happens.
	dueAt() time.Time
	// step takes one step, in the open batch. It opens a batch if it needs one. After an error the writer drops the batch.
	step() error
	// failed hears the error of the chore's own step, after undone.
	failed(error)
	// kept hears that the batch is durable, and with it all steps taken in it.
	kept()
	// undone hears that the batch was dropped: no step taken in it has happened.
	undone()
}

// never is when a chore has nothing to do.
var never = time.Unix(1<<60, 0)

// soonIf is now or never.
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

// take takes a step of a chore, which counts as a decision of the batch where there is one.
func (w *writer) take(c chore) {
	err := c.step()
	if w.open.batch != nil {
		w.open.decided++
		w.open.extra++
	}
	if err != nil {
		w.abort(err)
		c.failed(err)
	}
}

// firstDue is when the next step of any chore is to be taken.
func (w *writer) firstDue() time.Time {
	first := never
	for _, c := range w.chores {
		if at := c.dueAt(); at.Before(first) {
			first = at
		}
	}
	if again := w.failed.Add(retryPause); !w.failed.IsZero() && first.Before(again) {
		return again
	}
	return first
}

// choresWait reports whether chores are put off: a client has waited for extraWork steps of them already, a commit failed just now, or
// DrainTime is over.
func (w *writer) choresWait() bool {
	return w.late || w.open.direct && w.open.extra >= extraWork || w.paused()
}

// paused reports whether a commit failed just now, so that only what somebody waits for is tried.
func (w *writer) paused() bool {
	return !w.failed.IsZero() && time.Since(w.failed) < retryPause
}
