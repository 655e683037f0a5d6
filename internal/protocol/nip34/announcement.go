package nip34

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Announcement is a repository announcement (kind 30617). Lists are in the order of the event; a tag that stands several
// times counts as one tag with all the values. ParseAnnouncement checks nothing but keys: URLs are as the author wrote them.
type Announcement struct {
	Address     Address
	ID          nostr.ID
	CreatedAt   int64 // seconds since 1970
	Name        string
	Description string
	Web         []string
	Clone       []string
	Relays      []string
	Maintainers []nostr.PubKey // as listed: without repeats, the author only where the list has them
	Roles       []Role
	EUC         string   // earliest unique commit, "" if none is marked as such
	Upstream    []string // u tags: what this is a subordinate fork of, an address or a git URL
	Fork        bool     // a subordinate fork: there is a u tag, or the older t tag "personal-fork"
	Private     bool     // GRASP-08
}

// ParseAnnouncement reads a kind 30617 event. A missing d tag is an empty identifier (NIP-01), and everything else is
// optional. It fails with ErrKind and ErrIdentifier only.
func ParseAnnouncement(e *nostr.Event) (*Announcement, error) {
	addr, err := ownAddress(e, KindRepository)
	if err != nil {
		return nil, fmt.Errorf("parse announcement: %w", err)
	}
	a := &Announcement{Address: addr, ID: e.ID, CreatedAt: e.CreatedAt}
	var maintainers []string
	for _, t := range tags(e) {
		switch t.Name() {
		case "name":
			first(&a.Name, t)
		case "description":
			first(&a.Description, t)
		case "web":
			merge(&a.Web, t)
		case "clone":
			merge(&a.Clone, t)
		case "relays":
			merge(&a.Relays, t)
		case "maintainers":
			merge(&maintainers, t)
		case "r":
			if len(t) > 2 && t[2] == "euc" {
				first(&a.EUC, t)
			}
		case "private":
			a.Private = a.Private || t.Value() == "true"
		default:
			a.role(t)
			a.fork(t)
		}
	}
	a.Maintainers = pubKeys(maintainers)
	return a, nil
}

func (a *Announcement) fork(t nostr.Tag) {
	switch {
	case t.Name() == "u" && t.Value() != "":
		merge(&a.Upstream, t[:2])
		a.Fork = true
	case t.Name() == "t" && t.Value() == "personal-fork":
		a.Fork = true
	}
}
