package ingest

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// outdated returns the verdict on a version to which another one is newer, in words that say what became of that one.
func (w *writer) outdated(e *nostr.Event) (policy.Verdict, error) {
	v := verdictStored(policy.Superseded)
	address := e.Address()
	newest, ok, err := w.open.batch.Newest(address)
	if err != nil || !ok {
		return v, err
	}
	if here, err := w.open.batch.HasAddress(address); err != nil || here {
		return v, err
	}
	k, err := w.open.batch.Known(newest.ID)
	if err != nil {
		return v, err
	}
	gone := "is gone"
	switch {
	case k.Why == policy.Deleted:
		gone = "was deleted by its author"
	case k.Why == policy.Expired, k.State == store.Stored: // it is here for some time longer, and nobody sees it
		gone = "has expired"
	case k.Why == policy.Withdraw:
		gone = "said that its repository leaves this relay"
	}
	v.Reason = fmt.Sprintf("invalid: a newer version of this event was here, and %s; publish with a later created_at to come after it", gone)
	return v, nil
}

// verdictOutwaited is the verdict on a version to which one that waits for git data is newer.
var verdictOutwaited = policy.Verdict{Outcome: policy.Superseded,
	Reason: "invalid: a newer version of this event waits here for its git data; publish with a later created_at to replace it"}

// expired reports whether an event has expired (NIP-40). A stored one is here for some time longer.
func expired(e *nostr.Event, now time.Time) bool {
	at, ok := e.Expiration()
	return ok && at <= now.Unix()
}
