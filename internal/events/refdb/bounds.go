package refdb

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Bounds of the waiting events. Beyond a bound, the ledger ends the oldest wait of the author or source with too many.
const (
	MaxAnnouncements = 64        // of one author
	MaxOfAuthor      = 256       // events of one author
	MaxOfSource      = 1024      // events that one client's address or one relay brought
	MaxWaiting       = 100_000   // events in all
	MaxWaitingBytes  = 256 << 20 // bytes in all

	// Bounds of states that are larger than other events may be, so that they do not take the room of other events.
	MaxLargeOfAuthor = 16 << 20 // bytes of one author
	MaxLarge         = 64 << 20 // bytes in all
)

// bound ends the oldest waits of groups with too many waiting events, now that e waits; from brought e.
func bound(t Turn, e *nostr.Event, from string) error {
	for {
		group, over := surplusOf(t.WaitTally(e.PubKey, from))
		if !over {
			return nil
		}
		w, ok, err := t.OldestWait(group, e.PubKey, from)
		if err != nil || !ok {
			return err
		}
		if err := t.EndWait(w.Event.ID, policy.Lapsed); err != nil {
			return fmt.Errorf("make room for what waits: %w", err)
		}
	}
}

// boundLarge ends the waits of the oldest large states while these are beyond their bounds, now that e waits.
func (b *waitIndex) boundLarge(t Turn, e *nostr.Event) error {
	if e.Size() <= policy.MaxEventBytes {
		return nil
	}
	waits, err := b.largeWaits(t)
	if err != nil {
		return err
	}
	all, own := 0, 0
	for _, w := range waits {
		all += w.size
		if w.author == e.PubKey {
			own += w.size
		}
	}
	for _, w := range waits {
		its := w.author == e.PubKey
		if own <= MaxLargeOfAuthor && all <= MaxLarge {
			return nil
		}
		if own > MaxLargeOfAuthor && !its {
			continue
		}
		if err := t.EndWait(w.id, policy.Lapsed); err != nil {
			return fmt.Errorf("make room for states that wait: %w", err)
		}
		if all -= w.size; its {
			own -= w.size
		}
	}
	return nil
}

// surplusOf returns a group with too many waiting events, and whether there is one.
func surplusOf(t store.WaitTally) (store.WaitGroup, bool) {
	switch {
	case t.Announcements > MaxAnnouncements:
		return store.WaitAnnouncements, true
	case t.OfAuthor > MaxOfAuthor:
		return store.WaitsOfAuthor, true
	case t.OfSource > MaxOfSource:
		return store.WaitsOfSource, true
	case t.All > MaxWaiting || t.Bytes > MaxWaitingBytes:
		return store.WaitsOfLargest, true
	}
	return 0, false
}
