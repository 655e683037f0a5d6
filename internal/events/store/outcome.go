package store

import (
	"fmt"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Outcome returns what the store's rules make of an event, without storing it: Accept where they have nothing against it, Duplicate where it
// is stored, Expired, Vanished (its author, or the addressee of a gift wrap, has asked for that), Deleted (by a deletion that came before
// it) or Superseded (by the newest version ever accepted at its address, whether that is still here or not).
func (b *Batch) Outcome(e *nostr.Event) (policy.Outcome, error) {
	out, err := b.outcomeBy(e, index.IsDuplicate, index.IsExpired, index.IsVanished, index.IsDeleted, index.IsSuperseded)
	if err == nil && out == policy.Accept {
		b.accepted, b.acceptedAt = e, b.w.Count()
	}
	return out, err
}

func (b *Batch) outcomeBy(e *nostr.Event, rules ...index.Rule) (policy.Outcome, error) {
	r := b.reader()
	for _, rule := range rules {
		out, err := rule(r, e)
		if err != nil {
			return 0, fmt.Errorf("outcome of %s: %w", e.ID, err)
		}
		if out != policy.Accept {
			return out, nil
		}
	}
	return policy.Accept, nil
}
