package ingest

import (
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// endsWait reports whether e takes back something of its author's that waits: e is a deletion (NIP-09) that names a waiting event, or a
// request to vanish (NIP-62). It matters for events that the rules refuse because nothing by their author is served.
func (w *writer) endsWait(e *nostr.Event, v policy.Verdict) (bool, error) {
	if w.ledger == nil || v.Outcome != policy.Unrelated || e.Kind != nostr.KindDeletion && e.Kind != nostr.KindVanish {
		return false, nil
	}
	b := w.open.batch
	if b.WaitTally(e.PubKey, "").OfAuthor == 0 {
		return false, nil
	}
	if e.Kind == nostr.KindVanish {
		return true, nil
	}
	for _, tag := range e.Tags {
		if len(tag) < 2 {
			continue
		}
		switch tag[0] {
		case "e":
			id, err := nostr.ParseID(tag[1])
			if err != nil {
				continue
			}
			if x, err := b.Waiting(id); err != nil || x.Event != nil && x.Event.PubKey == e.PubKey {
				return err == nil, err
			}
		case "a":
			a, err := nip34.ParseAddress(tag[1])
			if err != nil || a.PubKey != e.PubKey {
				continue
			}
			if _, ok, err := b.WaitingAt(a.String()); ok || err != nil {
				return ok, err
			}
		}
	}
	return false, nil
}
