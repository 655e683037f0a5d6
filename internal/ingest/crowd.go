package ingest

import (
	"time"

	"github.com/graspd/graspd/internal/bucket"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// Every announcement with an identifier makes work for all others with it, so one address brings few of them: crowdBurst at once,
// and one more every crowdEvery. A newer version of one that is here does not count, nor does what relays bring, which is what
// clients brought elsewhere.
const (
	crowdBurst = 64
	crowdEvery = 10 * time.Minute
	crowdsKept = 50_000 // pairs of an address and an identifier in each of two halves; when one is full the older one is forgotten
)

var crowding = bucket.Rate{Tokens: 1, In: crowdEvery, Burst: crowdBurst}

var verdictCrowd = policy.Verdict{Outcome: policy.Discard, Reason: "rate-limited: your address has announced many repositories with this " +
	"identifier; publish this one later, or under another d tag"}

// crowds is how many announcements with one identifier came from one address. The writer owns it.
type crowds struct {
	hash       hasher
	young, old map[key]bucket.Bucket
}

func newCrowds() *crowds { return &crowds{hash: newHasher(), young: make(map[key]bucket.Bucket)} }

// take counts one more announcement with that d, or says that there are too many.
func (c *crowds) take(address, d string, now time.Time) bool {
	k := c.hash.key('c', address+"\x00"+d)
	had, ok := c.young[k]
	if !ok {
		had = c.old[k]
	}
	if !had.Take(now, crowding) {
		return false
	}
	if !ok && len(c.young) >= crowdsKept {
		c.young, c.old = make(map[key]bucket.Bucket), c.young
	}
	c.young[k] = had
	return true
}

// crowded reports whether an announcement that would be accepted is one too many with its identifier from that address; "" is
// nobody's in particular.
func (w *writer) crowded(e *nostr.Event, address string) (bool, error) {
	if e.Kind != nip34.KindRepository || address == "" {
		return false, nil
	}
	replaces, err := w.round.batch.HasAddress(e.Address())
	if replaces || err != nil {
		return false, err
	}
	return !w.crowds.take(address, e.Tags.D(), time.Now()), nil
}
