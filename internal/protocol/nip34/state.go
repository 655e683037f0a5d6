package nip34

import (
	"fmt"
	"strings"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// State is a repository state (kind 30618): its author says where the branches and tags of a repository are. Package refs
// decides whose state counts, and what git would take of it.
type State struct {
	Address   Address // of kind 30618; the repository has the same d
	ID        nostr.ID
	CreatedAt int64 // seconds since 1970
	Refs      []Ref // branches and tags, each name once, in the order of the event; may be empty
	Head      string
}

// Ref is a branch or tag and the object to which it points, as the event has them. Perhaps git takes no such name, and
// perhaps the value is no object id.
type Ref struct {
	Name string // begins with "refs/heads/" or "refs/tags/"
	OID  string
}

// MaxRefs is how many branches and tags one state may name.
const MaxRefs = 10_000

// ErrRefs says that a state names more than MaxRefs branches and tags.
var ErrRefs = fmt.Errorf("more than %d branches and tags", MaxRefs)

// ParseState reads a kind 30618 event. A ref's name is the name of a tag, and the first tag of a name counts. ParseState
// skips peeled tags (^{}), symbolic refs and other namespaces, and values after the first. Head is the full name of the
// branch to which HEAD points, or ""; in the event "ref: " may stand before it. ParseState fails with ErrKind,
// ErrIdentifier and ErrRefs only: a state without refs is legal.
func ParseState(e *nostr.Event) (*State, error) {
	addr, err := ownAddress(e, KindState)
	if err != nil {
		return nil, fmt.Errorf("parse state: %w", err)
	}
	s := &State{Address: addr, ID: e.ID, CreatedAt: e.CreatedAt}
	seen := map[string]bool{}
	for _, t := range e.Tags { // all of them: a part of a state would say something else
		name, value := t.Name(), t.Value()
		if name == "HEAD" && s.Head == "" {
			s.Head = headBranch(value)
		}
		if !namesRef(name, value) || seen[name] {
			continue
		}
		if len(seen) == MaxRefs {
			return nil, fmt.Errorf("parse state: %w", ErrRefs)
		}
		seen[name] = true
		s.Refs = append(s.Refs, Ref{Name: name, OID: value})
	}
	return s, nil
}

// namesRef reports whether the entry is a branch or a tag, and neither a peeled tag nor a symbolic ref.
func namesRef(name, value string) bool {
	tag := strings.HasPrefix(name, "refs/tags/")
	if !tag && !strings.HasPrefix(name, branches) || tag && strings.HasSuffix(name, "^{}") {
		return false
	}
	return !strings.HasPrefix(value, "ref:")
}

const branches = "refs/heads/"

func headBranch(v string) string {
	v = strings.TrimSpace(strings.TrimPrefix(v, "ref:"))
	if strings.HasPrefix(v, branches) {
		return v
	}
	return ""
}
