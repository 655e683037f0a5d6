package refdb

import (
	"math"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
)

// claims remembers waiting announcements as they were read. The store never gives an entry's number to another event, unless it drops the
// entry's batch: then eventReader.undone empties claims.
type claims map[store.Seq]claim

// claimsKept is how many announcements claims remembers, and claimKeys how many keys each of them may list: both bound the memory.
const (
	claimsKept = 20_000
	claimKeys  = 20
)

// claim is one waiting announcement; readable is false for a malformed one.
type claim struct {
	refs.Announcement
	readable bool
	expires  int64 // unix time; the largest number where it does not expire
}

// read returns the waiting announcement with that number.
func (c *claims) read(t Turn, seq store.Seq) (claim, error) {
	if x, ok := (*c)[seq]; ok {
		return x, nil
	}
	e, err := t.WaitingEvent(seq)
	if err != nil {
		return claim{}, err
	}
	a, err := refs.ReadAnnouncement(e)
	x := claim{a, err == nil, math.MaxInt64}
	if at, ok := e.Expiration(); ok {
		x.expires = at
	}
	if len(a.Listed) > claimKeys {
		return x, nil
	}
	if *c == nil || len(*c) >= claimsKept {
		*c = claims{}
	}
	(*c)[seq] = x
	return x, nil
}
