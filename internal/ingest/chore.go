package ingest

import "time"

// chore is work that no source waits for: the writer takes a bounded step of one between events, in the batch that is open, and not
// while that has held up a client for long enough, or just after a failed commit.
type chore interface {
	// next is when there is a step to take; the zero time is now, and never is not before something happens.
	next() time.Time
	// step takes one, in a batch that it opens if it needs one. After an error that is dropped.
	step() error
	// failed says what its own step failed with, once the batch was dropped.
	failed(error)
	// kept says that the batch is durable, and its steps with it.
	kept()
	// undone says that the batch was dropped: none of its steps has happened.
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
	if w.held() {
		return false
	}
	now := time.Now()
	for _, c := range w.chores {
		if !now.Before(c.next()) {
			w.take(c)
			return true
		}
	}
	return false
}

func (w *writer) take(c chore) {
	err := c.step()
	if w.round.batch != nil {
		w.round.decided++
		w.round.extra++
	}
	if err != nil {
		w.abort(err)
		c.failed(err)
	}
}

// nextChore is when the next step is to be taken.
func (w *writer) nextChore() time.Time {
	first := never
	for _, c := range w.chores {
		if at := c.next(); at.Before(first) {
			first = at
		}
	}
	if again := w.failed.Add(retryPause); !w.failed.IsZero() && first.Before(again) {
		return again
	}
	return first
}

// held reports whether chores are put off: a client waits for the batch, a commit failed just now, or the door closes.
func (w *writer) held() bool {
	return w.late || w.round.direct && w.round.extra >= extraWork || w.paused()
}

// paused reports whether a commit failed just now, so that only what somebody waits for is tried.
func (w *writer) paused() bool {
	return !w.failed.IsZero() && time.Since(w.failed) < retryPause
}
