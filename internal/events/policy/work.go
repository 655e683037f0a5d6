package policy

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// work refuses an event with too little proof of work (NIP-13) that would otherwise be accepted or be an orphan. What takes away an author's
// own events here needs no work: deletions and requests to vanish by authors of served events, and announcements that leave.
func (r Rules) work(e *nostr.Event, v View, so Verdict) (Verdict, error) {
	if so.Outcome != Accept && !so.Outcome.Orphan() || e.Work() >= r.MinPoW {
		return so, nil
	}
	lacking := Verdict{Refuse, fmt.Sprintf("pow: this relay wants %d bits of proof of work (NIP-13) and this event shows %d; "+
		"mine it, commit to that target in a nonce tag, and publish it again", r.MinPoW, e.Work())}
	if e.Kind != nostr.KindDeletion && e.Kind != nostr.KindVanish {
		return lacking, nil
	}
	known, err := v.HasAuthor(e.PubKey)
	if known || err != nil {
		return so, err
	}
	lacking.Outcome = Unrelated
	return lacking, nil
}
