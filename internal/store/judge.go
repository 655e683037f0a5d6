package store

import (
	"fmt"

	"github.com/graspd/graspd/internal/layout"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// Judge says what the store's rules make of an event, without storing it: Accept where they have nothing against it,
// Duplicate where it is stored, or Expired, Vanished (its author, or the addressee of a gift wrap, has asked for that),
// Deleted (by a deletion that came before it) or Superseded (by the newest
// version ever accepted under its address, be that still here or not).
func (b *Batch) Judge(e *nostr.Event) (policy.Outcome, error) {
	out, err := b.judge(e, isDuplicate, isExpired, isVanished, isDeleted, isSuperseded)
	if err == nil && out == policy.Accept {
		b.judged, b.judgedAt = e, b.w.Count()
	}
	return out, err
}

// rule is one reason not to store an event.
type rule func(reader, *nostr.Event) (policy.Outcome, error)

func (b *Batch) judge(e *nostr.Event, rules ...rule) (policy.Outcome, error) {
	r := b.reader()
	for _, rule := range rules {
		out, err := rule(r, e)
		if err != nil {
			return 0, fmt.Errorf("judge %s: %w", e.ID, err)
		}
		if out != policy.Accept {
			return out, nil
		}
	}
	return policy.Accept, nil
}

func isDuplicate(r reader, e *nostr.Event) (policy.Outcome, error) {
	_, _, ok, err := r.lookup(e.ID)
	if err != nil || !ok {
		return policy.Accept, err
	}
	return policy.Duplicate, nil
}

func isExpired(r reader, e *nostr.Event) (policy.Outcome, error) {
	if at, ok := e.Expiration(); ok && at <= r.now {
		return policy.Expired, nil
	}
	return policy.Accept, nil
}

// isDeleted looks for a deletion that names the event or, if it is as old or older, its address.
func isDeleted(r reader, e *nostr.Event) (policy.Outcome, error) {
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
	at, ok, err := r.deletedUntil(layout.HashOf(address))
	if err == nil && ok && e.CreatedAt <= at {
		return policy.Deleted, nil
	}
	return policy.Accept, err
}

// isSuperseded looks at the newest version under the event's address. An announcement that was withdrawn may come
// back itself, if the policy has changed its mind.
func isSuperseded(r reader, e *nostr.Event) (policy.Outcome, error) {
	address := e.Address()
	if address == "" {
		return policy.Accept, nil
	}
	s, ok, err := r.slot(layout.HashOf(address))
	if err != nil || !ok {
		return policy.Accept, err
	}
	if s.Stamp().Newer(e.Stamp()) {
		return policy.Superseded, nil
	}
	return policy.Accept, nil
}
