package index

import "errors"

// Meter is told from time to time, by the goroutine that reads an answer, how many steps of work were done for it since:
// reading a row of an index is one, finding a place in an index or an event 4, reading that event 30. It may wait, and the error that it
// returns ends the query, except at the end.
type Meter func(steps int) error

const (
	SeekCost   = 4
	meterEvery = 250 // steps
)

// errEnough ends a query whose reader wants no more. It stays inside the package.
var errEnough = errors.New("enough")

// work is what one query has done since the meter was told. Nil is not metered.
type work struct {
	meter Meter
	pause func() (more bool, err error) // yields what was found, before the meter is told; nil for a query that yields at once
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

// add is spend where the meter can wait.
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

// end tells the rest, when there is nothing more to stop.
func (w *work) end() {
	if w != nil && w.done > 0 {
		_ = w.meter(w.done)
	}
}
