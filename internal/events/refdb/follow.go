package refdb

import (
	"fmt"

	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
)

// followersAtOnce is how many repositories follow another one in one turn, for which all events wait. The rest follows with the next change
// of one of the repositories.
const followersAtOnce = 32

// Followers returns the hosted repositories that the state which rules this one would rule too, if they had the state's objects.
func (l *Ledger) Followers(t Turn, of nip34.Address) (from Repository, others []Repository, err error) {
	from, err = Read(t, of)
	if err != nil || !from.Refs.Ruled || from.Dir.IsZero() {
		return from, nil, err
	}
	f, err := l.events.family(t, of.D)
	if err != nil {
		return from, nil, fmt.Errorf("who follows %s: %w", of, err)
	}
	if s, err := f.state(from.Refs.Author, false); err != nil || s == nil || s.ID != from.Refs.ID {
		return from, nil, err // the state is gone, and will rule no other repository
	}
	for _, a := range f.served {
		members := f.servedCouncils.Of(a.Author)
		if a.Author == of.PubKey || !members.Has(from.Refs.Author) || len(others) == followersAtOnce {
			continue
		}
		to, err := Read(t, f.repository(a.Author))
		if err != nil {
			return from, nil, err
		}
		p := to.Refs
		if p.Ruled && (p.ID == from.Refs.ID || members.Has(p.Author) && !from.Refs.Newer(p.Stamp)) {
			continue
		}
		if serves, err := serves(t, to.Of); err != nil {
			return from, nil, err
		} else if serves {
			others = append(others, to)
		}
	}
	return from, others, nil
}

// Kept returns the objects that a repository keeps beside those to which its refs lead: the objects named by served and waiting states of
// those who decide for the repository, as these states may still come to rule.
func (l *Ledger) Kept(t Turn, of nip34.Address) (Repository, []gitwire.ObjectID, error) {
	r, err := Read(t, of)
	if err != nil || r.Dir.IsZero() || grasp.IsContributed(of) {
		return r, nil, err
	}
	f, err := l.events.family(t, of.D)
	if err != nil {
		return r, nil, err
	}
	var ids []gitwire.ObjectID
	for _, pk := range f.allCouncils.Of(of.PubKey).Members {
		for _, waiting := range []bool{false, true} {
			s, err := f.state(pk, waiting)
			if err != nil {
				return r, nil, err
			}
			if s != nil {
				ids = append(ids, objectsOf(s)...)
			}
		}
	}
	return r, ids, nil
}
