package nip34

import (
	"strconv"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Role is one role tag of an announcement: somebody's standing in the project over time. Where an announcement has role
// tags for a key, these tags decide for the key, and not the maintainers tag.
type Role struct {
	Letter byte // 'M' lead, 'm' co-maintainer, 'o' moderator
	PubKey nostr.PubKey
	Valid  bool // validTimes takes the times; an invalid role gives no authority
	Active bool // valid, and the last of the times is a start, or there are no times
}

// Maintains reports whether the role lets its holder decide for the repository now. The role of a moderator does not.
func (r Role) Maintains() bool { return r.Active && r.Letter != 'o' }

func (a *Announcement) role(t nostr.Tag) {
	if n := t.Name(); n != "M" && n != "m" && n != "o" || len(a.Roles) == MaxValues {
		return
	}
	pk, err := nostr.ParsePubKey(t.Value())
	if err != nil {
		return
	}
	r := Role{Letter: t[0][0], PubKey: pk, Valid: validTimes(t[2:])}
	r.Active = r.Valid && (len(t) == 2 || len(t[2:])%2 == 1)
	a.Roles = append(a.Roles, r)
}

// validTimes reports whether values are starts and ends in turn, as unix seconds that do not go backwards. If the last
// value is an end, it may be the word "defer".
func validTimes(values []string) bool {
	last := int64(0)
	for i, v := range values {
		if v == "defer" && i%2 == 1 && i == len(values)-1 {
			continue
		}
		t, err := strconv.ParseInt(v, 10, 64)
		if err != nil || t < last {
			return false
		}
		last = t
	}
	return true
}
