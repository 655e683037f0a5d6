package nip34

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// IsStatus reports whether events of this kind set the status of a root.
func IsStatus(k nostr.Kind) bool { return KindStatusOpen <= k && k <= KindStatusDraft }

// Status sets the state of a patch, pull request or issue (kinds 1630 to 1633).
type Status struct {
	ID           nostr.ID
	Author       nostr.PubKey
	Kind         nostr.Kind
	Root         nostr.ID   // what the status is of
	Revisions    []nostr.ID // revisions that were accepted with it
	Repositories []Address
	MergeCommit  string
	Applied      []string // object ids of applied-as-commits
	Text         string
}

// ParseStatus reads an event of kinds 1630 to 1633. The root is the e tag marked so, else the first without a marker.
// It fails with ErrKind, and with ErrIncomplete where there is no such id.
func ParseStatus(e *nostr.Event) (*Status, error) {
	if !IsStatus(e.Kind) {
		return nil, fmt.Errorf("parse status: %w %d", ErrKind, e.Kind)
	}
	s := &Status{ID: e.ID, Author: e.PubKey, Kind: e.Kind, Repositories: Repositories(e), Text: e.Content}
	var marked, plain []nostr.ID
	for _, t := range tags(e) {
		switch t.Name() {
		case "merge-commit":
			first(&s.MergeCommit, t)
		case "applied-as-commits":
			merge(&s.Applied, t)
		case "e":
			id, err := nostr.ParseID(t.Value())
			switch {
			case err != nil:
			case marker(t) == "root":
				marked = append(marked, id)
			case marker(t) == "reply":
				s.Revisions = append(s.Revisions, id)
			default:
				plain = append(plain, id)
			}
		}
	}
	for _, id := range append(marked, plain...) {
		s.Root = id
		return s, nil
	}
	return nil, fmt.Errorf("parse status: %w: no e tag with the id of a root", ErrIncomplete)
}
