package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	authWindow = 10 * time.Minute // the longest time between our clock and the created_at of an authentication
	maxKeys    = 64               // keys that may authenticate on one connection
)

// identity knows who a client has proved to be (NIP-42): every key that has signed the challenge of the connection. The session's reader
// owns it.
type identity struct {
	challenge string
	keys      []nostr.PubKey
}

// refuse says why the event authenticates nobody, as the text of its OK; "" when only its signature has still to be checked.
func (d *identity) refuse(e *nostr.Event, service grasp.Service, now time.Time) string {
	relay, _ := e.Tags.First("relay")
	challenge, _ := e.Tags.First("challenge")
	off := e.CreatedAt - now.Unix()
	switch {
	case e.Kind != nostr.KindAuth:
		return "invalid: AUTH takes an event of kind 22242 (NIP-42); send others in an EVENT message"
	case challenge != d.challenge || challenge == "":
		return "invalid: the challenge tag does not hold the challenge of this connection; sign the one it was sent"
	case !leadsTo(service, relay):
		return fmt.Sprintf("invalid: the relay tag names another relay; this one is %s", service.RelayURL())
	case off > int64(authWindow.Seconds()) || off < -int64(authWindow.Seconds()):
		return "invalid: created_at is more than 10 minutes away from now; set your clock and sign again"
	case len(d.keys) >= maxKeys && !slices.Contains(d.keys, e.PubKey):
		return fmt.Sprintf("restricted: at most %d keys may authenticate on one connection; open another", maxKeys)
	}
	return ""
}

// leadsTo reports whether a URL names the service. The query does not matter, as in the URLs of announcements, nor whether a scheme is written.
func leadsTo(service grasp.Service, raw string) bool {
	u, err := grasp.NormalizeRelay(raw)
	bare, _, _ := strings.Cut(string(u), "?")
	return service.Named(raw) || err == nil && service.Names(bare, service.Root())
}

func (d *identity) add(pk nostr.PubKey) {
	if !slices.Contains(d.keys, pk) {
		d.keys = append(d.keys, pk)
	}
}

// bearer says who brings an event that this client publishes (NIP-70). The door calls bearer in the reader's goroutine.
func (d *identity) bearer(e *nostr.Event) policy.Bearer { return policy.BearerOf(e, d.keys) }

// authenticate answers AUTH. It never keeps or forwards the event.
func (s *session) authenticate(work context.Context, e *nostr.Event) error {
	reason := s.relay.limits.refuseEvent(e)
	if reason == "" {
		reason = s.who.refuse(e, s.relay.service, s.relay.now())
	}
	if reason == "" {
		reason = forged(e)
	}
	if reason == "" {
		reason = s.admit(e.PubKey)
	}
	if reason == "" {
		s.who.add(e.PubKey)
	}
	return s.out.answerNow(work, e.ID, reason)
}

// forged says what is wrong with the id or the signature; "" where nothing is.
func forged(e *nostr.Event) string {
	if err := nostr.Check(e, nostr.Schnorr{}); err != nil {
		return "invalid: " + errors.Unwrap(err).Error() // without the id, which the OK has
	}
	return ""
}
