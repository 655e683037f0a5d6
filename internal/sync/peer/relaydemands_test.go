package peer_test

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// challenge asks for AUTH.
func (f *fakeRelay) challenge() {
	f.conn.asked = true
	f.send(nostr.AuthChallenge{Challenge: fmt.Sprint("challenge ", f.now())})
}

// unauthorized refuses a request for want of AUTH.
func (f *fakeRelay) unauthorized(sub string, byNotice bool) bool {
	const text = "auth-required: you must auth"
	if f.auth == "" || f.conn.authed {
		return false
	}
	if !f.conn.asked && f.auth != "late" {
		f.challenge()
	}
	if byNotice {
		f.send(nostr.Notice{Text: text})
	} else {
		f.send(nostr.Closed{Sub: sub, Reason: text})
	}
	if !f.conn.asked {
		f.challenge()
	}
	return true
}

// authenticate takes any AUTH, or fails as often as other things do.
func (f *fakeRelay) authenticate(challenge string) {
	ok := !f.chance(f.closed)
	f.conn.authed = f.conn.authed || ok
	f.conn.lossy = f.conn.lossy || !ok
	if !f.chance(f.silence) {
		f.send(nostr.OK{OK: ok})
	}
}

const kindlessText = "blocked: an author must be specified to get their kind:1 notes"

// wantsKinds says whether a filter lacks what the relay demands.
func wantsKinds(x nostr.Filter) bool {
	return len(x.Authors) == 0 && (len(x.Kinds) == 0 || slices.Contains(x.Kinds, nostr.KindNote))
}

// kindless refuses a REQ for a filter without kinds, or answers it with nothing.
func (f *fakeRelay) kindless(sub string, filters []nostr.Filter) bool {
	switch {
	case f.kinds == "refuses" && slices.ContainsFunc(filters, wantsKinds):
		f.send(nostr.Closed{Sub: sub, Reason: kindlessText})
	case f.kinds == "empties" && slices.ContainsFunc(filters, func(x nostr.Filter) bool {
		parts := 0
		for _, has := range []bool{x.IDs != nil, x.IDs != nil, x.Authors != nil, x.Kinds != nil, x.Tags != nil} {
			if has {
				parts++
			}
		}
		return parts < 2
	}):
		f.send(nostr.EOSE{Sub: sub})
	default:
		return false
	}
	return true
}
