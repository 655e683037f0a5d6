package status

import (
	"time"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Details has what is costly to tell about a relay: the work grows with everything that is wanted of it.
type Details struct {
	Parts []Part
	Gaps  []Gap // the newest gaps, in the order in which they were found
}

// Part says how complete one repository is here as far as one relay has it, and what the relay lacks.
type Part struct {
	Address   string // of the owner's announcement
	Roots     int    // root events wanted
	Confirmed int    // how many of the repository and its root events are known to be complete here
	Here      uint64 // events here, as of the last full catch-up; 0 is not known
	Lacks     uint64 // how many of the events here the relay lacks
}

// Complete reports whether everything that is wanted is known to be here.
func (x Part) Complete() bool { return x.Confirmed == 1+x.Roots }

// Gap is an event that a live subscription should have brought and did not.
type Gap struct {
	Found   time.Time
	By      string // sort of the request that brought it: catchup or daily
	ID      nostr.ID
	Kind    nostr.Kind
	Created time.Time
}
