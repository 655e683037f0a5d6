package nip34

import (
	"fmt"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// PullRequest is a pull request (kind 1618) or a newer tip of one (kind 1619).
type PullRequest struct {
	ID           nostr.ID
	Author       nostr.PubKey
	Repositories []Address
	EUC          string // the first r value
	Subject      string
	Branch       string // branch-name
	Tip          string // object id, 40 or 64 lower-case hex digits
	MergeBase    string
	Clone        []string // where the tip can be fetched
	Updates      nostr.ID // the pull request that a kind 1619 event updates; zero in kind 1618
	Text         string
}

// ParsePullRequest reads a kind 1618 event. It fails with ErrKind, and with ErrIncomplete where there is no repository,
// no tip (c) or no clone URL.
func ParsePullRequest(e *nostr.Event) (*PullRequest, error) {
	if e.Kind != KindPullRequest {
		return nil, fmt.Errorf("parse pull request: %w %d", ErrKind, e.Kind)
	}
	p, err := parseTip(e)
	if err == nil && len(p.Repositories) == 0 {
		err = fmt.Errorf("%w: no a tag of a repository", ErrIncomplete)
	}
	if err != nil {
		return nil, fmt.Errorf("parse pull request: %w", err)
	}
	return p, nil
}

// ParseUpdate reads a kind 1619 event, which may leave the repository to the pull request that its E tag names. It fails
// with ErrKind, and with ErrIncomplete where there is no such id, no tip (c) or no clone URL.
func ParseUpdate(e *nostr.Event) (*PullRequest, error) {
	if e.Kind != KindPullRequestUpdate {
		return nil, fmt.Errorf("parse pull request update: %w %d", ErrKind, e.Kind)
	}
	p, err := parseTip(e)
	if err != nil {
		return nil, fmt.Errorf("parse pull request update: %w", err)
	}
	for _, t := range tags(e) {
		if id, err := nostr.ParseID(t.Value()); err == nil && t.Name() == "E" {
			p.Updates = id
			return p, nil
		}
	}
	return nil, fmt.Errorf("parse pull request update: %w: no E tag with an id", ErrIncomplete)
}

func parseTip(e *nostr.Event) (*PullRequest, error) {
	p := &PullRequest{ID: e.ID, Author: e.PubKey, Repositories: Repositories(e), Text: e.Content}
	for _, t := range tags(e) {
		switch t.Name() {
		case "r":
			first(&p.EUC, t)
		case "subject":
			first(&p.Subject, t)
		case "branch-name":
			first(&p.Branch, t)
		case "c":
			first(&p.Tip, t)
		case "merge-base":
			first(&p.MergeBase, t)
		case "clone":
			merge(&p.Clone, t)
		}
	}
	if !validOID(p.Tip) {
		return nil, fmt.Errorf("%w: no c tag with an object id", ErrIncomplete)
	}
	if len(p.Clone) == 0 {
		return nil, fmt.Errorf("%w: no clone URL", ErrIncomplete)
	}
	return p, nil
}

// validOID reports whether s is a SHA-1 or SHA-256 object id.
func validOID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}
