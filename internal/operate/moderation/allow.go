package moderation

import "github.com/graspd/graspd/internal/protocol/nostr"

// MaxAllowed is how many authors decisions may allow beside the settings.
const MaxAllowed = 10_000

// Allowed is an author whom an allow list takes in: by a decision, or by the settings, where nobody stands as the one who did it.
type Allowed struct {
	PubKey nostr.PubKey `json:"pubkey"`
	By     string       `json:"by,omitempty"`
	Why    string       `json:"why,omitempty"`
	Since  int64        `json:"since,omitempty"` // unix time
}
