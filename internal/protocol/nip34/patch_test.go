package nip34

import (
	"errors"
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// ErrIncomplete says that an event lacks what nobody can use it without.
var ErrIncomplete = errors.New("incomplete")

// Patch is a git patch (kind 1617). One after the first of a series may name no repository, only the patch before it.
type Patch struct {
	ID           nostr.ID
	Author       nostr.PubKey
	Repositories []Address
	EUC          string // the first r value
	First        bool   // it begins a series, or a revision of one
	Revision     bool   // it begins a revision
	Previous     nostr.ID
	HasPrevious  bool // Previous is the patch or the series that this one follows
	Commit       string
	ParentCommit string
	Text         string // git format-patch output
}

// ParsePatch reads a kind 1617 event. It fails with ErrKind, and with ErrIncomplete where neither a repository nor an
// earlier patch is named.
func ParsePatch(e *nostr.Event) (*Patch, error) {
	if e.Kind != KindPatch {
		return nil, fmt.Errorf("parse patch: %w %d", ErrKind, e.Kind)
	}
	p := &Patch{ID: e.ID, Author: e.PubKey, Repositories: Repositories(e), Text: e.Content}
	var others []string
	for _, t := range tags(e) {
		switch t.Name() {
		case "t":
			revision := t.Value() == "root-revision" || t.Value() == "revision-root"
			p.Revision = p.Revision || revision
			p.First = p.First || revision || t.Value() == "root"
		case "commit":
			first(&p.Commit, t)
		case "parent-commit":
			first(&p.ParentCommit, t)
		case "r":
			first(&p.EUC, t)
		case "e":
			if marker(t) == "reply" {
				p.follow(t.Value())
			} else {
				merge(&others, t[:min(len(t), 2)])
			}
		}
	}
	for _, id := range others {
		p.follow(id)
	}
	if len(p.Repositories) == 0 && !p.HasPrevious {
		return nil, fmt.Errorf("parse patch: %w: no a tag of a repository", ErrIncomplete)
	}
	return p, nil
}

// follow sets Previous once, if hex is an id.
func (p *Patch) follow(hex string) {
	if id, err := nostr.ParseID(hex); err == nil && !p.HasPrevious {
		p.Previous, p.HasPrevious = id, true
	}
}

// marker is the NIP-10 marker of an e tag. NIP-01 has the author there in newer events, so only known words count.
func marker(t nostr.Tag) string {
	if len(t) > 3 && (t[3] == "root" || t[3] == "reply") {
		return t[3]
	}
	return ""
}
