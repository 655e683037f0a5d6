package status

import (
	"time"

	"github.com/graspd/graspd/internal/nostr"
)

// Details is what is costly to tell of a relay: in proportion to all that is wanted of it.
type Details struct {
	Parts []Part
	Gaps  []Gap // the newest, the last one last
}

// Part is how a relay stands with one repository.
type Part struct {
	Address   string // of the owner's announcement
	Roots     int    // root events wanted
	Confirmed int    // of the repository and its root events, how many are known to be complete here
	Held      uint64 // events that are here, as of the last full catch-up; 0 = not known
	Lacks     uint64 // of these, how many the relay lacks
}

// Complete says whether all that is wanted is known to be here.
func (x Part) Complete() bool { return x.Confirmed == 1+x.Roots }

// Gap is an event that a live subscription should have brought and did not.
type Gap struct {
	Found   time.Time
	By      string // the sort of request that brought it: catchup or daily
	ID      nostr.ID
	Kind    nostr.Kind
	Created time.Time
}
