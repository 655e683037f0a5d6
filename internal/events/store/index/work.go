package index

import "errors"

// Meter is called from time to time, by the goroutine that reads an answer, with the steps of work since the last call. To read a row of an
// index is one step, to find a place in an index or an event 4, and to read that event 30. It may wait. An error that it returns ends the query,
// except at the end.
type Meter func(steps int) error

const (
	SeekCost   = 4
	meterEvery = 250 // steps
)

// errEnough ends a query whose reader wants no more. It stays inside the package.
var errEnough = errors.New("enough")

// work counts what one query has done since the last call of the meter. A nil work counts nothing.
type work struct {
	meter Meter
	pause func() (more bool, err error) // yields what was found before the meter is called; nil for a query that yields at once
	done  int
}

func (w *work) spend(steps int) error {
	if w == nil {
		return nil
	}
	if w.done += steps; w.done < meterEvery {
		return nil
	}
	return w.tell()
}

// add counts steps like spend, but leaves the call of the meter to a later spend or end.
func (w *work) add(steps int) {
	if w != nil {
		w.done += steps
	}
}

func (w *work) tell() error {
	steps := w.done
	w.done = 0
	if w.pause != nil {
		if more, err := w.pause(); err != nil {
			return err
		} else if !more {
			w.done += steps
			return errEnough
		}
	}
	return w.meter(steps)
}

// end calls the meter with the rest, when there is nothing more to stop.
func (w *work) end() {
	if w != nil && w.done > 0 {
		_ = w.meter(w.done)
	}
}
