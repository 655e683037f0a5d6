package ingest

import (
	"errors"
	"time"

	"graspd/internal/policy"
	"graspd/internal/store"
)

// reconsider puts an orphan on the list of those to decide again.
func (w *writer) reconsider(x *orphan) {
	if !x.due && !x.leaving {
		x.due = true
		w.again.Push(x)
	}
}

// promote decides the next orphan again, and reports whether there was one to decide now. What it accepts may end the
// wait of others, so that chains resolve one by one, each step bounded by the batch.
func (w *writer) promote() bool {
	if w.again.Len() == 0 || w.held() {
		return false
	}
	x := w.again.Pop()
	x.due = false
	if !w.orphans.has(x.event.ID) || x.leaving {
		return true
	}
	w.round.decided++
	w.round.extra++
	v, err := w.redecide(x)
	if err != nil {
		w.abort(err)
		if errors.Is(err, store.ErrFull) {
			w.reconsider(x)
		} else { // it may be what makes the store fail, so it is not tried again
			w.orphans.remove(x)
		}
		return true
	}
	w.decidedAgain(x, v.Outcome)
	return true
}

func (w *writer) redecide(x *orphan) (policy.Verdict, error) {
	if err := w.open(); err != nil {
		return policy.Verdict{}, err
	}
	v, err := w.judge(x.event, x.by, x.crowd)
	if err != nil {
		return v, err
	}
	return v, w.apply(x.event, x.from, v.Outcome)
}

// decidedAgain lets an orphan leave with the commit unless it is one still.
func (w *writer) decidedAgain(x *orphan, o policy.Outcome) {
	if o != policy.Orphan && !x.leaving {
		x.leaving = true
		w.round.leaving = append(w.round.leaving, x)
	}
}

// held reports whether work that nobody waits for is put off: a client waits for the batch, a commit failed just now,
// or the door closes.
func (w *writer) held() bool {
	return w.late || w.round.direct && w.round.extra >= extraWork || w.paused()
}

// paused reports whether a commit failed just now, so that only what somebody waits for is tried.
func (w *writer) paused() bool {
	return !w.failed.IsZero() && time.Since(w.failed) < retryPause
}
