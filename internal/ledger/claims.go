package ledger

import (
	"github.com/graspd/graspd/internal/refs"
	"github.com/graspd/graspd/internal/store"
)

// claims are waiting announcements as they were read. The number of an entry is never given to another event, unless its batch is dropped:
// then eventReader.undone empties them.
type claims map[store.Seq]claim

// claimsKept is how many claims are kept, and claimKeys how many keys a claim that is kept may name: both bound the memory.
const (
	claimsKept = 20_000
	claimKeys  = 20
)

// claim is one waiting announcement, readable if it says what an announcement has to say.
type claim struct {
	refs.Announcement
	readable bool
}

// read gives the waiting announcement with that number.
func (c *claims) read(t Turn, seq store.Seq) (claim, error) {
	if x, ok := (*c)[seq]; ok {
		return x, nil
	}
	e, err := t.WaitingEvent(seq)
	if err != nil {
		return claim{}, err
	}
	a, err := refs.ReadAnnouncement(e)
	x := claim{a, err == nil}
	if len(a.Listed) > claimKeys {
		return x, nil
	}
	if *c == nil || len(*c) >= claimsKept {
		*c = claims{}
	}
	(*c)[seq] = x
	return x, nil
}
