package nip34

import (
	"fmt"
	"strings"

	"github.com/graspd/graspd/internal/nostr"
)

// State is a repository state (kind 30618): where its branches and tags are, by the word of its author. Which author's
// word counts is not known here, nor whether git would take it.
type State struct {
	Address   Address // of kind 30618; the repository has the same d
	ID        nostr.ID
	CreatedAt int64 // seconds since 1970
	Refs      []Ref // branches and tags, each name once, in the order of the event; may be empty
	Head      string
}

// Ref is a branch or tag and the object that it points to, both as the event has them: the name is perhaps none that git
// takes, and the value no object id.
type Ref struct {
	Name string // begins with "refs/heads/" or "refs/tags/"
	OID  string
}

// MaxRefs is how many branches and tags one state may name.
const MaxRefs = 10_000

// ErrRefs says that a state names more than MaxRefs.
var ErrRefs = fmt.Errorf("more than %d branches and tags", MaxRefs)

// ParseState reads a kind 30618 event. Refs stand in it by tag name, and the first entry of a name counts; peeled tags
// (^{}), symbolic refs and other namespaces are skipped, as are values after the first. Head is the full name of the branch
// that HEAD points to, with or without "ref: " before it in the event, or "". It fails with ErrKind, ErrIdentifier and
// ErrRefs only: no refs at all is a legal state.
func ParseState(e *nostr.Event) (*State, error) {
	addr, err := ownAddress(e, KindState)
	if err != nil {
		return nil, fmt.Errorf("parse state: %w", err)
	}
	s := &State{Address: addr, ID: e.ID, CreatedAt: e.CreatedAt}
	seen := map[string]bool{}
	for _, t := range e.Tags { // all of them: a state that is read in part says something else
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

// namesRef reports whether an entry is meant for a branch or a tag of its own.
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
