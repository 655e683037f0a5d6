package refs

import (
	"strings"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// State is a repository state (kind 30618), read so that it can be compared with refs.
type State struct {
	nostr.Stamp
	Author nostr.PubKey
	D      string
	Refs   Set    // branches and tags that it names
	Head   string // the branch that HEAD is to be at, "" for none; perhaps none of Refs
	Flaw   string // why no repository can ever be as it says, as a clause; "" for most
}

// Address returns the address of the state.
func (s State) Address() nip34.Address {
	return nip34.Address{Kind: nip34.KindState, PubKey: s.Author, D: s.D}
}

// ReadState reads a kind 30618 event. The errors of ReadState are those of nip34.ParseState. ReadState leaves out of Refs the names and
// values that git does not know; Flaw tells the first of these.
func ReadState(e *nostr.Event) (State, error) {
	parsed, err := nip34.ParseState(e)
	if err != nil {
		return State{}, err
	}
	s := State{Stamp: e.Stamp(), Author: e.PubKey, D: parsed.Address.D, Head: parsed.Head}
	list := make([]Ref, 0, len(parsed.Refs))
	for _, r := range parsed.Refs {
		id, err := gitwire.ParseObjectID(r.OID)
		bad := gitwire.CheckRefName(r.Name)
		switch {
		case bad != nil:
			s.flaw(bad.Error())
		case err != nil || id.IsZero():
			s.flaw(flawValue(r.Name, r.OID))
		default:
			list = append(list, Ref{r.Name, id})
		}
	}
	s.Refs = NewSet(list)
	for _, r := range s.Refs {
		if outer := within(s.Refs, r.Name); outer != "" {
			s.flaw(flawWithin(r.Name, outer))
		}
	}
	return s, nil
}

// flaw notes why no repository can be as s says, unless a reason is noted already.
func (s *State) flaw(why string) {
	if s.Flaw == "" {
		s.Flaw = why
	}
}

// within returns a ref that would be a directory of name, "" if there is none. Git keeps refs as files, so the two exclude each other.
func within(refs Set, name string) string {
	for {
		i := strings.LastIndexByte(name, '/')
		if i < len(branches) {
			return "" // no directory above the namespace can be a ref
		}
		if name = name[:i]; !refs.Get(name).IsZero() {
			return name
		}
	}
}

// isBranchOrTag reports whether a ref is a branch or a tag: states name no others.
func isBranchOrTag(name string) bool { return isBranch(name) || IsTag(name) }

// IsTag reports whether name is that of a tag.
func IsTag(name string) bool { return strings.HasPrefix(name, tags) }

// IsTip reports whether a name is one of the tips of events: refs/nostr/<event id>.
func IsTip(name string) bool { return strings.HasPrefix(name, tips) }

func isBranch(name string) bool { return strings.HasPrefix(name, branches) }

// The namespaces that repositories have here.
const (
	branches = "refs/heads/"
	tags     = "refs/tags/"
	tips     = "refs/nostr/"
)
