package policy

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// allRelays is the value of the relay tag in a request to vanish that is for every relay (NIP-62).
const allRelays = "ALL_RELAYS"

// vanish accepts a request to vanish that names this relay or all relays, if something by its author is served.
func (r Rules) vanish(e *nostr.Event, v View) (Verdict, error) {
	if !r.asked(e) {
		return Verdict{Refuse, fmt.Sprintf("blocked: this request to vanish does not name this relay; "+
			"to be forgotten here, sign one with a relay tag of %s or %s", r.Service.RelayURL(), allRelays)}, nil
	}
	ok, err := v.HasAuthor(e.PubKey)
	if err != nil {
		return Verdict{}, err
	}
	if !ok {
		return Verdict{Unrelated, "blocked: this relay has nothing by this author, so nothing is to be forgotten; " +
			"publish the request again if you find something"}, nil
	}
	return Verdict{}, nil
}

// asked reports whether a request to vanish names this relay or all relays.
func (r Rules) asked(e *nostr.Event) bool {
	for t := range e.Tags.All("relay") {
		if t.Value() == allRelays {
			return true
		}
		if r.Service.Named(t.Value()) {
			return true
		}
	}
	return false
}
