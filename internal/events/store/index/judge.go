package index

import (
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store/layout"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Rule finds out whether there is one certain reason not to store an event. It returns the outcome, policy.Accept where there is none.
type Rule func(Reader, *nostr.Event) (policy.Outcome, error)

// IsDuplicate looks for the event among the stored ones.
func IsDuplicate(r Reader, e *nostr.Event) (policy.Outcome, error) {
	_, _, ok, err := r.Lookup(e.ID)
	if err != nil || !ok {
		return policy.Accept, err
	}
	return policy.Duplicate, nil
}

// IsExpired looks at the clock (NIP-40).
func IsExpired(r Reader, e *nostr.Event) (policy.Outcome, error) {
	if at, ok := e.Expiration(); ok && at <= r.Now {
		return policy.Expired, nil
	}
	return policy.Accept, nil
}

// IsDeleted looks for a deletion that names the event or, if it is as old or older, its address.
func IsDeleted(r Reader, e *nostr.Event) (policy.Outcome, error) {
	if !layout.Deletable(e.Kind) {
		return policy.Accept, nil
	}
	_, ok, err := r.deletedID(e.ID, e.PubKey)
	if err != nil {
		return policy.Accept, err
	}
	if !ok {
		ok, err = r.isBeingDeleted(e)
	}
	if err != nil {
		return policy.Accept, err
	}
	if ok {
		return policy.Deleted, nil
	}
	address := e.Address()
	if address == "" {
		return policy.Accept, nil
	}
	at, ok, err := r.DeletedUntil(layout.HashOf(address))
	if err == nil && ok && e.CreatedAt <= at {
		return policy.Deleted, nil
	}
	return policy.Accept, err
}

// IsSuperseded looks at the newest version under the event's address. A withdrawn announcement itself may come back, if the policy has changed
// its mind.
func IsSuperseded(r Reader, e *nostr.Event) (policy.Outcome, error) {
	address := e.Address()
	if address == "" {
		return policy.Accept, nil
	}
	s, ok, err := r.Slot(layout.HashOf(address))
	if err != nil || !ok {
		return policy.Accept, err
	}
	if s.Stamp().Newer(e.Stamp()) {
		return policy.Superseded, nil
	}
	return policy.Accept, nil
}

// IsVanished looks for a request to vanish that is as new as the event or newer: by the event's author or, for a gift wrap, by one of its
// addressees.
func IsVanished(r Reader, e *nostr.Event) (policy.Outcome, error) {
	_, gone, err := r.VanishedFor(e)
	if err != nil || !gone {
		return policy.Accept, err
	}
	return policy.Vanished, nil
}

// IsWaiting looks for the event among those that wait.
func IsWaiting(r Reader, e *nostr.Event) (policy.Outcome, error) {
	if _, ok, err := r.Waits(e.ID); err != nil || !ok {
		return policy.Accept, err
	}
	return policy.Duplicate, nil
}

// IsOutwaited looks at the version that waits under the event's address.
func IsOutwaited(r Reader, e *nostr.Event) (policy.Outcome, error) {
	address := e.Address()
	if address == "" {
		return policy.Accept, nil
	}
	s, ok, err := r.WaitSlot(layout.HashOf(address))
	if err != nil || !ok || !s.Newer(e.Stamp()) {
		return policy.Accept, err
	}
	return policy.Superseded, nil
}
