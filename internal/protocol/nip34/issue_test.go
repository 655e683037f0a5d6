package nip34

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Issue is an issue (kind 1621).
type Issue struct {
	ID           nostr.ID
	Author       nostr.PubKey
	Repositories []Address
	Subject      string
	Labels       []string // t tags
	Text         string   // markdown
}

// ParseIssue reads a kind 1621 event. It fails with ErrKind, and with ErrIncomplete where no repository is named.
func ParseIssue(e *nostr.Event) (*Issue, error) {
	if e.Kind != KindIssue {
		return nil, fmt.Errorf("parse issue: %w %d", ErrKind, e.Kind)
	}
	i := &Issue{ID: e.ID, Author: e.PubKey, Repositories: Repositories(e), Text: e.Content}
	for _, t := range tags(e) {
		switch t.Name() {
		case "subject":
			first(&i.Subject, t)
		case "t":
			merge(&i.Labels, t[:min(len(t), 2)])
		}
	}
	if len(i.Repositories) == 0 {
		return nil, fmt.Errorf("parse issue: %w: no a tag of a repository", ErrIncomplete)
	}
	return i, nil
}
