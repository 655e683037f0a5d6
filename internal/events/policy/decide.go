package policy

import (
	"fmt"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Decide says what becomes of a genuine event that the store's own rules have nothing against. Decide fails only when the view fails. The
// verdict depends on the arguments and the Rules alone. Decide does not ask the view where the event alone tells; else it asks at most some
// 260 times, or twice that where there are lists, as nip34.MaxReferences bounds what an event names.
func (r Rules) Decide(e *nostr.Event, by Bearer, v View, now time.Time) (Verdict, error) {
	if verdict, done := alone(e, by, now); done {
		return verdict, nil
	}
	verdict, err := r.withView(e, v)
	if err == nil {
		verdict, err = r.work(e, v, verdict)
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("decide event %s: %w", e.ID, err)
	}
	return verdict, nil
}

// withView decides by the lists and by the served events.
func (r Rules) withView(e *nostr.Event, v View) (Verdict, error) {
	_, denied := r.Lists.DenyEvents[e.ID]
	switch {
	case denied:
		return Verdict{Refuse, barredEvent}, nil
	case !r.Lists.takes(e.PubKey):
		return r.barred(e, v)
	case e.Kind == nip34.KindRepository:
		return r.announcement(e, v)
	case e.Kind == nip34.KindState:
		return r.state(e, v)
	case e.Kind == nostr.KindVanish:
		return r.vanish(e, v)
	}
	return r.related(e, v)
}

// alone decides where the event alone tells, without a view.
func alone(e *nostr.Event, by Bearer, now time.Time) (Verdict, bool) {
	expiry, expires := e.Expiration()
	switch reason := misshapen(e); {
	case reason != "":
		return Verdict{Refuse, reason}, true
	case e.Kind == nostr.KindAuth:
		return Verdict{Discard, "invalid: kind 22242 answers an AUTH challenge; send it in an AUTH message"}, true
	case e.Kind.IsEphemeral():
		return Verdict{Discard, "blocked: this relay takes no ephemeral events; publish them elsewhere"}, true
	case e.CreatedAt > now.Add(MaxAhead).Unix():
		return Verdict{Discard, "invalid: created_at is too far in the future (more than 15 minutes); " +
			"set your clock and sign the event again"}, true
	case expires && expiry <= now.Unix():
		return Verdict{Expired, "invalid: this event has expired (NIP-40); publish one with a later expiration"}, true
	case e.Kind.IsAddressable() && len(e.Tags.D()) > nip34.MaxIdentifier:
		return Verdict{Refuse, fmt.Sprintf("invalid: the d tag is longer than %d bytes; choose a shorter one",
			nip34.MaxIdentifier)}, true
	}
	return protection(e, by)
}
