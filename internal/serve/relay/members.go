package relay

import (
	"slices"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Members knows who is a member of a private relay (GRASP-08).
type Members interface {
	Has(nostr.PubKey) bool
}

// What strangers hear of a private relay.
const (
	needsMember = "auth-required: this relay is private; authenticate as a member (NIP-42)"
	noMember    = "restricted: this relay is private, and this key is no member's"
)

var expelled = &goodbye{code: websocket.StatusPolicyViolation, text: "this relay is private, and a key of yours is no member's any more"}

// Expel ends the sessions on which a key has authenticated that is no member's any more.
func (r *Relay) Expel() {
	if r.members == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for s, kill := range r.sessions {
		if s.expelStranger() {
			afterGrace(kill)
		}
	}
}

// expelStranger ends the session if one of its keys is no member's any more, and reports whether it did.
func (s *session) expelStranger() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stranger := slices.ContainsFunc(s.shown, func(pk nostr.PubKey) bool { return !s.relay.members.Has(pk) })
	if stranger {
		s.end(expelled)
	}
	return stranger
}

// admit notes that a member has authenticated, or returns a reason that says that the key is no member's.
func (s *session) admit(pk nostr.PubKey) (reason string) {
	switch {
	case s.relay.members == nil:
		return ""
	case !s.relay.members.Has(pk):
		return noMember
	}
	s.mu.Lock()
	if !slices.Contains(s.shown, pk) {
		s.shown = append(s.shown, pk)
	}
	s.mu.Unlock()
	s.expelStranger() // Expel may have run in between
	return ""
}

// outside says why the client may neither read nor write anything yet; "" if they may. The session's reader calls outside.
func (s *session) outside() (reason string) {
	if s.relay.members == nil || len(s.who.keys) > 0 {
		return ""
	}
	return needsMember
}

// refuseOutside refuses a message of a client that has to authenticate first or gets no answer, with a reason; with the reason "" it refuses
// nothing. It refuses kinds of messages that it does not know too.
func refuseOutside(msg any, reason string) (reply []byte, refused bool) {
	if reason == "" {
		return nil, false
	}
	switch m := msg.(type) {
	case nostr.Req:
		return nostr.AppendClosed(nil, m.Sub, reason), true
	case nostr.Count:
		return nostr.AppendClosed(nil, m.Sub, reason), true
	case nostr.NegOpen:
		return nostr.AppendNegErr(nil, m.Sub, reason, 0), true
	case nostr.NegMsg:
		return nostr.AppendNegErr(nil, m.Sub, reason, 0), true
	case nostr.Auth, nostr.Close, nostr.NegClose:
		return nil, false
	}
	return nostr.AppendNotice(nil, reason), true
}
