package unasked

import (
	"github.com/graspd/graspd/internal/demands"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/words"
)

// What a relay may write in a message that is no event. Bytes. An answer may repeat what it is about, but not much of it.
const (
	longestText = 4 << 10
	longestSub  = 64 // as NIP-01 allows; those of this relay are shorter
)

// Shorten cuts the text of a message that is no event, and reports whether the message is longer than there is reason for: it counts as
// one that nobody asked for besides what it says. One that can be about nothing that this relay asked becomes nil.
func Shorten(m nostr.RelayMessage) (short nostr.RelayMessage, long bool) {
	var sub string
	switch m := m.(type) {
	case nostr.Notice:
		m.Text, long = words.Cut(m.Text, longestText)
		return m, long
	case nostr.OK:
		m.Reason, long = words.Cut(m.Reason, longestText)
		return m, long
	case nostr.Closed:
		m.Reason, long = words.Cut(m.Reason, longestText)
		sub, short = m.Sub, m
	case nostr.NegErr:
		m.Reason, long = words.Cut(m.Reason, longestText)
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
