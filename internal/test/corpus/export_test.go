package corpus

import "github.com/graspd/graspd/internal/protocol/nostr"

// NPub is the npub of a key.
func NPub(pk nostr.PubKey) string { return (&person{pk: pk}).npub() }

var whatNames = [...]string{"announcement", "maintainer", "state", "patch", "pull request", "pull request update", "issue", "comment",
	"reply", "status", "cover note", "label", "reaction", "quote", "deletion", "noise"}

// String is the part as a word.
func (w What) String() string { return name(whatNames[:], int(w)) }

var fateNames = [...]string{"held", "replaced", "deleted", "expired", "refused", "loose"}

// String is the fate as a word.
func (f Fate) String() string { return name(fateNames[:], int(f)) }

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}
