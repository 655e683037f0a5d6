package unsolicited

import (
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer/demands"
)

// How many bytes a relay may write in a message that is no event. An answer may repeat a part of what it is about, but not much.
const (
	longestText = 4 << 10
	longestSub  = 64 // as NIP-01 allows; this relay's own ids are shorter
)

// Shorten cuts the text of a message that is no event, and reports whether the message was longer than the relay had reason for. Such a
// message counts against the relay, besides what it says. Shorten returns nil for a message that cannot be about anything this relay asked.
func Shorten(m nostr.RelayMessage) (short nostr.RelayMessage, long bool) {
	var sub string
	switch m := m.(type) {
	case nostr.Notice:
		m.Text, long = safetext.Cut(m.Text, longestText)
		return m, long
	case nostr.OK:
		m.Reason, long = safetext.Cut(m.Reason, longestText)
		return m, long
	case nostr.Closed:
		m.Reason, long = safetext.Cut(m.Reason, longestText)
		sub, short = m.Sub, m
	case nostr.NegErr:
		m.Reason, long = safetext.Cut(m.Reason, longestText)
		sub, short = m.Sub, m
	case nostr.AuthChallenge:
		if len(m.Challenge) > demands.LongestChallenge {
			return nil, true
		}
		return m, false
	case nostr.EOSE:
		sub, short = m.Sub, m
	case nostr.NegMsg:
		sub, short = m.Sub, m
	case nostr.NegClose:
		sub, short = m.Sub, m
	case nostr.CountResult:
		sub, short = m.Sub, m
	}
	if len(sub) > longestSub {
		return nil, true
	}
	return short, long
}
