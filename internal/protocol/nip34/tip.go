package nip34

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Tip is the commit that a pull request (kind 1618) or an update of one (kind 1619) wants git servers to keep. An event
// without a clone URL has a Tip too: somebody can push the commit.
type Tip struct {
	Event        nostr.ID
	Commit       string    // the c tag as written; perhaps no object id; "" without one
	Repositories []Address // named in the a tags
	Clone        []string  // values of the clone tags as written: where the author has pushed the commit
	Updates      nostr.ID  // the pull request that a kind 1619 event updates; zero if it names none, and in kind 1618
}

// ParseTip reads a kind 1618 or 1619 event. It fails with ErrKind only.
func ParseTip(e *nostr.Event) (*Tip, error) {
	if e.Kind != KindPullRequest && e.Kind != KindPullRequestUpdate {
		return nil, fmt.Errorf("parse tip: %w %d", ErrKind, e.Kind)
	}
	t := &Tip{Event: e.ID, Repositories: Repositories(e)}
	for _, tag := range tags(e) {
		switch tag.Name() {
		case "c":
			first(&t.Commit, tag)
		case "clone":
			merge(&t.Clone, tag)
		case "E":
			t.update(e.Kind, tag.Value())
		}
	}
	return t, nil
}

// update sets Updates to the id, unless it has one already or the event is no update.
func (t *Tip) update(k nostr.Kind, hex string) {
	if k != KindPullRequestUpdate || t.Updates != (nostr.ID{}) {
		return
	}
	if id, err := nostr.ParseID(hex); err == nil {
		t.Updates = id
	}
}
