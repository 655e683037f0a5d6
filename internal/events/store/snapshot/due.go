package snapshot

import "time"

// When a snapshot is due: the log since the last one is larger than this and than a part of the store, or it is so old and there is anything new.
const (
	dueBytes = 1 << 30
	duePart  = 4
	dueAfter = 24 * time.Hour
)

// Sight is what says whether a snapshot is due.
type Sight struct {
	Any   bool          // there is a snapshot
	Since time.Duration // how long ago it was made
	Log   int64         // bytes of the log after it
	Store int64         // bytes of the store
}

// Due reports whether a snapshot is due.
func (s Sight) Due() bool {
	switch {
	case s.Log == 0:
		return false
	case !s.Any:
		return true
	}
	return s.Log > max(dueBytes, s.Store/duePart) || s.Since >= dueAfter
}
