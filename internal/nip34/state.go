package nip34

import (
	"fmt"
	"strings"

	"graspd/internal/nostr"
)

// State is a repository state (kind 30618): where its branches and tags are, by the word of its author. Which author's
// word counts is not known here.
type State struct {
	Address   Address // of kind 30618; the repository has the same d
	ID        nostr.ID
	CreatedAt int64 // seconds since 1970
	Refs      []Ref // branches and tags, each name once, in the order of the event; may be empty
	Head      string
}

// Ref is a branch or tag and the object that it points to.
type Ref struct {
	Name string // "refs/heads/…" or "refs/tags/…", a name that git takes
	OID  string // 40 or 64 lower-case hex digits
}

// ParseState reads a kind 30618 event. Refs stand in it by tag name; peeled tags (^{}), symbolic refs, other namespaces,
// names that git refuses and values that are no object id are skipped, as are values after the first. Head is the full
// name of the branch that HEAD points to, with or without "ref: " before it in the event, or "". It fails with ErrKind
// and ErrIdentifier only: no refs at all is a legal state.
func ParseState(e *nostr.Event) (*State, error) {
	addr, err := ownAddress(e, KindState)
	if err != nil {
		return nil, fmt.Errorf("parse state: %w", err)
	}
	s := &State{Address: addr, ID: e.ID, CreatedAt: e.CreatedAt}
	seen := map[string]bool{}
	for _, t := range tags(e) {
		name, value := t.Name(), t.Value()
		if name == "HEAD" && s.Head == "" {
			s.Head = headBranch(value)
		}
		if isBranchOrTag(name) && validOID(value) && !seen[name] {
			seen[name] = true
			s.Refs = append(s.Refs, Ref{Name: name, OID: value})
		}
	}
	return s, nil
}

func headBranch(v string) string {
	v = strings.TrimSpace(strings.TrimPrefix(v, "ref:"))
	if strings.HasPrefix(v, "refs/heads/") && isBranchOrTag(v) {
		return v
	}
	return ""
}

// isBranchOrTag follows git check-ref-format.
func isBranchOrTag(name string) bool {
	if !strings.HasPrefix(name, "refs/heads/") && !strings.HasPrefix(name, "refs/tags/") {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return false
		}
	}
	if len(name) > maxRefName || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// maxRefName is far above what a file system bears as a path component.
const maxRefName = 1024

// validOID reports whether s is a SHA-1 or SHA-256 object id.
func validOID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}
