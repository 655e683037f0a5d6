package ingest

import (
	"errors"
	"time"

	"github.com/graspd/graspd/internal/events/store"
)

// reopenEvery is how often the writer looks whether the store has failed for now, and then opens it anew.
const reopenEvery = time.Minute

// reopen opens the store anew once a minute while its failure is one that passes. It is no chore: those wait while somebody's commits fail.
func (w *writer) reopen() {
	if w.open.batch != nil || time.Now().Before(w.look) {
		return
	}
	w.look = time.Now().Add(reopenEvery)
	if !errors.Is(w.door.store.Failure(), store.ErrPaused) {
		return
	}
	switch err := w.door.store.Reopen(); {
	case err == nil:
		w.door.log.Info("storage was opened anew, events are stored again")
	case errors.Is(err, store.ErrPaused), !errors.Is(err, store.ErrFailed): // the store tells of others
		w.door.log.Warn("storage cannot be opened anew yet, graspd tries again in a minute", "error", err)
	}
}
