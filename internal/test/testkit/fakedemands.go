package testkit

import (
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// AuthMode says how a fake relay demands NIP-42.
type AuthMode int

// The ways to demand AUTH for every REQ and NEG-OPEN.
const (
	AuthNone    AuthMode = iota
	AuthFirst            // the challenge comes when the connection opens
	AuthLate             // the challenge comes after the first refusal
	AuthNotice           // the relay refuses requests by NOTICE, without their id
	AuthRefused          // the relay answers AUTH with OK false
	AuthUseless          // the relay takes AUTH and refuses requests all the same
	AuthSilent           // the relay does not answer AUTH
)

// KindsMode says how a fake relay treats filters without kinds.
type KindsMode int

// The ways to treat a REQ with a filter that is not narrow enough.
const (
	KindsAny     KindsMode = iota
	KindsRefuses           // CLOSED where kinds are missing or contain 1, without authors
	KindsEmpties           // EOSE at once and nothing ever, where a filter has fewer than two of authors, kinds and tags, and no ids
	KindsFew               // as KindsRefuses, and CLOSED for more than ten kinds
)

// Texts of relays that demand AUTH or kinds.
const (
	AuthText  = "auth-required: all requests must be authenticated"
	KindsText = "blocked: an author must be specified to get their kind:1 notes"
)

const challenge = "a challenge of the fake relay"

// greet sends the challenge that some relays send when a connection opens.
func (c *fakeConn) greet() {
	if m := c.relay.Auth; m != AuthNone && m != AuthLate {
		c.send(nostr.AppendAuthChallenge(nil, challenge))
	}
}

// demands refuses a REQ for want of AUTH or kinds, or answers it with nothing. It reports whether it did either.
func (c *fakeConn) demands(m nostr.Req) bool {
	f := c.relay
	if c.barred(m.Sub, nostr.AppendClosed(nil, m.Sub, AuthText)) {
		return true
	}
	if text := f.unkind(m.Filters...); text != "" {
		c.refuse(m, Bound{How: ByClosed, Text: text})
		return true
	}
	if f.scrapes(m.Filters) {
		c.send(nostr.AppendEOSE(nil, m.Sub))
		return true
	}
	return false
}

// barred refuses a request for want of AUTH, with the frame closed, and reports whether it did.
func (c *fakeConn) barred(sub string, closed []byte) bool {
	f := c.relay
	c.mu.Lock()
	known := c.authed
	c.mu.Unlock()
	if f.Auth == AuthNone || known && f.Auth != AuthUseless {
		return false
	}
	if f.Auth == AuthNotice {
		closed = nostr.AppendNotice(nil, AuthText)
	}
	c.refused(sub)
	if f.Auth != AuthLate {
		c.send(nostr.AppendAuthChallenge(nil, challenge)) // some relays send it each time
	}
	c.send(closed)
	if f.Auth == AuthLate {
		c.send(nostr.AppendAuthChallenge(nil, challenge))
	}
	return true
}

// authenticate answers an AUTH.
func (c *fakeConn) authenticate(e *nostr.Event) {
	f := c.relay
	f.mu.Lock()
	f.auths = append(f.auths, e.PubKey)
	f.mu.Unlock()
	switch f.Auth {
	case AuthSilent:
	case AuthRefused:
		c.send(nostr.AppendOK(nil, e.ID, false, "restricted: not for you"))
	default:
		c.mu.Lock()
		c.authed = true
		c.mu.Unlock()
		c.send(nostr.AppendOK(nil, e.ID, true, ""))
	}
}

// auth judges an AUTH.
func (j *judge) auth(e *nostr.Event) {
	j.auths++
	switch {
	case j.relay.Auth == AuthNone:
		j.fail("AUTH, which nobody asked for")
	case j.auths > 1:
		j.fail("AUTH %d times on one connection", j.auths)
	case e.Kind != nostr.KindAuth, tagValue(e, "relay") != string(j.relay.URL), tagValue(e, "challenge") != challenge:
		j.fail("AUTH with kind %d and tags %q", e.Kind, e.Tags)
	case nostr.Check(e, Marks{}) != nil && nostr.Check(e, nostr.Schnorr{}) != nil:
		j.fail("AUTH that does not verify")
	}
}

func tagValue(e *nostr.Event, name string) string {
	for _, t := range e.Tags {
		if len(t) > 1 && t[0] == name {
			return t[1]
		}
	}
	return ""
}

// Authors returns who authenticated, in order.
func (f *FakeRelay) Authors() []nostr.PubKey {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.auths)
}

// unkind returns the reason to refuse filters for their kinds; "" is none.
func (f *FakeRelay) unkind(filters ...nostr.Filter) string {
	for _, x := range filters {
		switch {
		case f.Kinds != KindsRefuses && f.Kinds != KindsFew || len(x.Authors) > 0:
		case len(x.Kinds) == 0 || slices.Contains(x.Kinds, nostr.KindNote):
			return KindsText
		case f.Kinds == KindsFew && len(x.Kinds) > 10:
			return "error: too many kinds"
		}
	}
	return ""
}

// scrapes reports whether the relay silently answers a REQ with nothing.
func (f *FakeRelay) scrapes(filters []nostr.Filter) bool {
	return f.Kinds == KindsEmpties && slices.ContainsFunc(filters, func(x nostr.Filter) bool {
		parts := 0
		for _, has := range []bool{x.IDs != nil, x.IDs != nil, x.Authors != nil, x.Kinds != nil, x.Tags != nil} {
			if has {
				parts++
			}
		}
		return parts < 2
	})
}
